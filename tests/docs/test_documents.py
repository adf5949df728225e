"""Every command and code block of README.md and docs/ runs here.

A block's language says how: ``python`` runs as a script, ``sh`` runs in bash,
``yaml``, ``ini``, ``json`` and ``toml`` blocks are parsed. ``text`` is prose or output.
Blocks of one document share a folder and run in order.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# This very test runs inside the first; the second is how a reader gets the tree.
NOT_AGAIN = ("./script/test", "git clone ", "./script/soak", "./script/bootstrap --dev")
TIMEOUT_S = 240


class Block(NamedTuple):
    document: Path
    line: int
    language: str
    info: str
    code: str


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(document, text[: m.start()].count("\n") + 1, m[1], m[2].strip(), m[3])
        for m in FENCE.finditer(text)
    ]


def documents() -> list[Path]:
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]
    # Notes are part of the elements' pages.
    found += sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "notes")
    return [path for path in found if blocks(path)]


def environment(folder: Path) -> dict[str, str]:
    env = dict(os.environ)
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    env["GST_REGISTRY"] = str(folder / "registry.bin")
    env.setdefault("DSELEMENTS_CACHE", str(ROOT / ".cache"))
    return env


def run(block: Block, folder: Path) -> None:
    where = f"{block.document.relative_to(ROOT)}:{block.line}"
    match block.language:
        case "python":
            name = block.info.removeprefix("title=").strip('"') or "block.py"
            script = folder / name
            script.write_text(block.code)
            command = [sys.executable, str(script)]
        case "sh":
            lines = [x for x in block.code.splitlines() if not x.startswith(NOT_AGAIN)]
            command = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
        case "yaml":
            assert yaml.safe_load(block.code) is not None, where
            return
        case "json":
            for line in block.code.splitlines() if block.info == "lines" else [block.code]:
                json.loads(line)
            return
        case "ini":
            parser = configparser.ConfigParser(strict=True, interpolation=None)
            parser.read_string(block.code)
            assert parser.sections(), where
            return
        case "toml":
            tomllib.loads(block.code)
            return
        case "text":
            return
        case other:
            pytest.fail(f"{where}: a block in {other or 'no language'!r} cannot be run")
    cwd = ROOT if "./script/" in block.code else folder
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, f"{where}\n{done.stdout}\n{done.stderr}"


@pytest.mark.timeout(TIMEOUT_S + 30)
@pytest.mark.parametrize("document", documents(), ids=lambda p: str(p.relative_to(ROOT)))
def test_blocks_run(document: Path, tmp_path: Path) -> None:
    for block in blocks(document):
        run(block, tmp_path)


def test_a_failing_block_is_found(tmp_path: Path) -> None:
    document = tmp_path / "x.md"
    document.write_text("text\n\n```python\nraise SystemExit(3)\n```\n")
    block = blocks(document)[0]
    assert (block.language, block.line) == ("python", 3)
    with pytest.raises(AssertionError):
        run(block._replace(document=ROOT / "README.md"), tmp_path)


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        broken += [
            f"{document.relative_to(ROOT)}: {target}"
            for target in re.findall(r"\]\(([^)#\s]+)", document.read_text())
            if "://" not in target and not (document.parent / target).exists()
        ]
    assert broken == []
