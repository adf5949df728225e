"""The documentation site: one strict build, without network and without gi, and what is in it."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

pytest.importorskip("mkdocs")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "site"))

PUBLIC = ("dselements.element", "dselements.meta", "dselements.surface", "dselements.testing")
# The build must read source code only, and must fetch nothing.
BUILD = """
import socket, sys
sys.modules["gi"] = None
def refuse(*args):
    raise AssertionError(f"the build opens a connection: {args}")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(["build", "--strict", "--site-dir", sys.argv[1]])
"""
HREF = re.compile(r"""\s(?:href|src|srcset)=["']?([^"'\s>]+)""")
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|link\b(?=[^>]*rel=["']?(?:stylesheet|preconnect|icon)))"""
    r"""\b[^>]*\s(?:href|src)=["']?((?:https?:)?//[^"'\s>]+)"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def pages(site: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(site.rglob("*.html")):
        yield path, path.read_text(encoding="utf-8")


def anchors(html: str) -> set[str]:
    return set(re.findall(r"""\s(?:id|name)=["']?([^"'\s>]+)""", html))


def test_every_document_is_a_page(site: Path) -> None:
    documents = [
        p.relative_to(ROOT / "docs").with_suffix("")
        for p in (ROOT / "docs").rglob("*.md")
        if p.parent.name != "notes"
    ]
    assert len(documents) > 40
    for path in documents:
        page = path.parent if path.name == "index" else path
        assert (site / page / "index.html").is_file(), path
    for page in ("index.html", "architecture/index.html", "changelog/index.html"):
        assert (site / page).is_file()


def test_links_and_anchors_lead_somewhere(site: Path) -> None:
    known = {path: anchors(html) for path, html in pages(site)}
    broken = []
    checked = 0
    for path, html in pages(site):
        if path.name == "404.html":
            continue  # its links begin at the site's root, wherever that is
        for raw in HREF.findall(html):
            target, anchor = urldefrag(unquote(raw))
            if "://" in target or target.startswith(("mailto:", "data:", "//")):
                continue
            there = (path.parent / target).resolve() if target else path
            there = there / "index.html" if there.is_dir() else there
            checked += 1
            if not there.exists() or (anchor and there.suffix == ".html"
                                      and anchor not in known[there]):  # fmt: skip
                broken.append(f"{path.relative_to(site)}: {raw}")
    assert checked > 1000
    assert broken == []


def test_the_reader_fetches_nothing_from_elsewhere(site: Path) -> None:
    found = {url for _, html in pages(site) for url in FETCHED.findall(html)}
    assert found == set()
    styles = [p.read_text(encoding="utf-8") for p in site.rglob("*.css")]
    assert styles
    assert not [u for s in styles for u in re.findall(r"url\(['\"]?(https?:[^)]+)", s)]


def test_the_check_finds_what_is_fetched() -> None:
    assert FETCHED.findall('<link rel="stylesheet" href="https://fonts.example/x.css">')
    assert FETCHED.findall('<script async src="//cdn.example/x.js"></script>')
    assert not FETCHED.findall('<link rel="canonical" href="https://here.example/">')
    assert not FETCHED.findall('<a href="https://there.example/">x</a>')


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    there = {a for p, html in pages(site) if "reference" in p.parts for a in anchors(html)}
    import dselements

    names = [f"{m}.{n}" for m in PUBLIC for n in importlib.import_module(m).__all__]
    names.append("dselements.errors.DselementsError")
    assert len(names) > 30
    assert [name for name in names if name not in there] == []
    rows = {row.name for row in dselements.errors.TABLE}
    assert rows - there == set()
    index = (ROOT / "docs" / "reference" / "index.md").read_text()
    assert [n for n in dselements.__all__ if f"`ds.{n}`" not in index] == []


def test_docstrings_reach_the_reference(site: Path) -> None:
    text = (site / "reference" / "meta" / "index.html").read_text(encoding="utf-8")
    assert "Where its head is: 0 at the start" in text  # docstring of a field
    assert "Tracker's id; UNTRACKED if none" in text  # table of columns
    assert ":meth:" not in text
    assert ":raises" not in text
    assert '<a href="../errors/#StaleMetadataError">' in text


def test_every_public_member_has_a_docstring() -> None:
    import griffe
    from docstrings import Docstrings, public_paths

    loader = griffe.GriffeLoader(
        search_paths=[str(ROOT / "src")],
        allow_inspection=False,
        extensions=griffe.load_extensions(Docstrings()),
    )
    package = loader.load("dselements")
    checked, bare = 0, []
    for path in sorted(public_paths(package)):
        obj = package[path.removeprefix("dselements.")] if "." in path else package
        members = [obj]
        if obj.is_class and not path.startswith("dselements.errors."):
            members += [m for m in obj.members.values() if not m.is_alias and m.is_public]
        for member in members:
            checked += 1
            special = member.name.startswith("__") or member.name.startswith("do_")
            if not special and not member.has_docstring and not member.is_module:
                bare.append(member.path)
    assert checked > 150
    assert bare == [], "\n".join(bare)
