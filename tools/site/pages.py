"""MkDocs hooks of the site: pages of the repository's root, elements in the menu, plain fences.

README.md and its neighbours are read on a git host from the root, where their links begin with
``docs/``. Here they become pages of the site, and links are made to fit.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""File of the root to page of the site."""

ERRORS = "reference/errors.md"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE_WORDS = re.compile(r"^(```\w+)[ \t]+(?![\w-]+=).*$", re.MULTILINE)


def pages_of(folder: Path, docs: Path) -> list[str]:
    """Pages of a folder in the order in which its index.md links to them.

    :raises ValueError: if it leaves one out.
    """
    index = (folder / "index.md").read_text(encoding="utf-8")
    order = {
        name: at for at, name in reversed(list(enumerate(re.findall(r"\]\(([\w-]+\.md)", index))))
    }
    names = {path.name for path in folder.glob("*.md")} - {"index.md"}
    if missing := names - order.keys():
        raise ValueError(f"{folder / 'index.md'} has no link to {', '.join(sorted(missing))}")
    return [(folder / name).relative_to(docs).as_posix() for name in sorted(names, key=order.get)]


def on_config(config: Any) -> Any:
    """A menu entry that ends in ``*`` stands for all pages of that folder."""
    config.nav = expand(config.nav, Path(config.docs_dir))
    return config


def expand(nav: Any, docs: Path) -> Any:
    """The menu with its patterns replaced."""
    if isinstance(nav, list):
        out: list[Any] = []
        for item in nav:
            if isinstance(item, str) and item.endswith("/*"):
                out += pages_of(docs / posixpath.dirname(item), docs)
            else:
                out.append(expand(item, docs))
        return out
    if isinstance(nav, dict):
        return {title: expand(item, docs) for title, item in nav.items()}
    return nav


def on_files(files: Any, config: Any) -> Any:
    """Add the root's pages."""
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as they are meant from the page's place in the site."""
    uri = page.file.src_uri
    home = {v: k for k, v in ROOT_PAGES.items()}.get(uri, f"docs/{uri}")
    markdown = FENCE_WORDS.sub(r"\1", markdown)
    return LINK.sub(lambda m: m[1] + moved(m[2], home, uri) + m[3], markdown)


def moved(target: str, home: str, uri: str) -> str:
    """A link of the file ``home`` in the repository, for the page ``uri`` of the site."""
    path, mark, anchor = target.partition("#")
    if not path or "://" in path or path.startswith(("mailto:", "/")):
        return target
    there = posixpath.normpath(posixpath.join(posixpath.dirname(home), path))
    there = ROOT_PAGES.get(there, there.removeprefix("docs/"))
    return posixpath.relpath(there, posixpath.dirname(uri) or ".") + mark + anchor


def on_page_content(html: str, page: Any, config: Any, **_: Any) -> str:
    """Errors that are named anywhere lead to their row in the table of errors."""
    if page.file.src_uri == ERRORS:
        return html
    table = (Path(config.docs_dir) / ERRORS).read_text(encoding="utf-8")
    there = get_relative_url("reference/errors/", page.url)
    names = "|".join(re.findall(r'<a id="(\w+)"', table))
    return re.sub(
        rf'(?<!">)<code>({names})</code>', rf'<a href="{there}#\1"><code>\1</code></a>', html
    )
