"""Reads the code blocks of a Markdown document and runs them as a reader would.

A block's language says how it runs:

- ``python``: a script in a fresh process; a file named ``test_….py`` runs under pytest
- ``sh``: bash, stopping at the first command that fails
- ``yaml``, ``json``, ``ini``, ``toml``: parsed
- ``text``: prose; with ``title="output"`` it is what the block before it printed, where ``...``
  stands for anything

``title="name"`` writes the block to a file of that name, in the folder that the document's blocks
share. What cannot run here is in a list of the caller's, and checked for its syntax only.
"""

from __future__ import annotations

import ast
import configparser
import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]*)"')
TIMEOUT_S = 240
OUTPUT = "output"
SAME = doctest.OutputChecker()
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """One fenced block."""

    document: Path
    line: int
    language: str
    info: str
    code: str

    @property
    def title(self) -> str:
        """Name of its file; empty if it has none."""
        found = TITLE.search(self.info)
        return found[1] if found else ""

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.document}:{self.line}"

    @property
    def key(self) -> str:
        """What the list of blocks that cannot run names it by."""
        return self.title or self.code.splitlines()[0]


def blocks_of(document: Path) -> list[Block]:
    """The fenced blocks, in order."""
    text = document.read_text(encoding="utf-8")
    return [
        Block(document, text[: m.start()].count("\n") + 1, m[1], m[2].strip(), m[3])
        for m in FENCE.finditer(text)
    ]


class Runner:
    """Runs blocks in a folder.

    :param folder: where their files lie; made for one document, or for pages that go together.
    :param registry: GStreamer's registry; scanned once if documents share it.
    :param skipped_lines: beginnings of shell lines that are left out.
    """

    def __init__(
        self, folder: Path, registry: Path | None = None, skipped_lines: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self.skipped_lines = skipped_lines
        self.printed: str | None = None
        """What the block before printed; None if it printed nothing that can be compared."""
        self.env = dict(os.environ)
        self.env["PATH"] = f"{Path(sys.executable).parent}:{self.env['PATH']}"
        self.env["GST_REGISTRY"] = str(registry or folder / "registry.bin")
        self.env.setdefault("DSELEMENTS_CACHE", str(ROOT / ".cache"))

    def run(self, block: Block) -> None:
        """Run one block. :raises AssertionError: with what was wrong and where."""
        if block.language == "text" and block.title == OUTPUT:
            self._compare(block)
            return
        path = self._written(block)
        match block.language:
            case "python":
                assert path is not None
                tests = path.name.startswith("test_")
                self._execute(
                    block, [sys.executable, *(["-m", "pytest", "-q"] if tests else []), str(path)]
                )
            case "sh":
                lines = [x for x in block.code.splitlines() if not x.startswith(self.skipped_lines)]
                self._execute(block, ["bash", "-euo", "pipefail", "-c", "\n".join(lines)])
            case "text":
                self.printed = None
            case _:
                self.printed = None
                parse(block)

    def check(self, block: Block) -> None:
        """Look at the syntax of a block that cannot run here."""
        self._written(block)
        self.printed = None
        if block.language == "python":
            ast.parse(block.code, block.where)
        elif block.language == "sh":
            done = subprocess.run(
                ["bash", "-n", "-c", block.code], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{block.where}\n{done.stderr}"
        else:
            parse(block)

    def _written(self, block: Block) -> Path | None:
        name = block.title or ("block.py" if block.language == "python" else "")
        if not name or block.language == "sh":
            return None
        path = (self.folder / name).resolve()
        assert path.is_relative_to(self.folder.resolve()), (
            f"{block.where}: {name} leaves its folder"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code, encoding="utf-8")
        return path

    def _execute(self, block: Block, command: list[str]) -> None:
        done = subprocess.run(
            command,
            cwd=ROOT if "./script/" in block.code else self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{block.where}\n{done.stdout}\n{done.stderr}"
        self.printed = done.stdout

    def _compare(self, block: Block) -> None:
        assert self.printed is not None, f"{block.where}: no block before it has run"
        assert SAME.check_output(block.code, self.printed, LOOSE), (
            f"{block.where}: the document says\n{block.code}\nprinted was\n{self.printed}"
        )


def parse(block: Block) -> None:
    """Parse a data block. :raises Exception: the parser's, if it is malformed."""
    match block.language:
        case "yaml":
            assert yaml.safe_load(block.code) is not None, block.where
        case "json":
            by_line = block.info == "lines" or block.title.endswith(".jsonl")
            for line in block.code.splitlines() if by_line else [block.code]:
                json.loads(line)
        case "ini":
            parser = configparser.ConfigParser(strict=True, interpolation=None)
            parser.read_string(block.code)
            assert parser.sections(), block.where
        case "toml":
            tomllib.loads(block.code)
        case other:
            raise AssertionError(
                f"{block.where}: a block in {other or 'no language'!r} cannot be run"
            )
