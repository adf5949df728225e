"""Every command and code block of README.md and docs/ runs here; document_blocks.py says how.

Blocks of one document share a folder and run in order. The tutorial's pages go on from one another
and share one folder too.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from document_blocks import ROOT, TIMEOUT_S, Block, Runner, blocks_of

TUTORIAL = ROOT / "docs" / "tutorial"
# This very test runs inside the first; the second is how a reader gets the tree.
NOT_AGAIN = (
    "./script/test", "git clone ", "./script/soak", "./script/bootstrap --dev", "./script/docs",
)  # fmt: skip

NOT_RUN: dict[tuple[str, str], str] = {
    ("docs/howto/rtsp.md", "Two cameras"): "there are no cameras, and no RTSP server",
    ("docs/howto/pixels.md", "gpubrightness.py"): "needs a GPU; tests/gpu runs the same calls",
    ("docs/howto/deepstream.md", "With DeepStream installed"): "needs a GPU and DeepStream",
    ("docs/migrating-from-gvapython.md", "gva_filter.py"): "needs DL Streamer",
    ("docs/migrating-from-gvapython.md", "With DL Streamer"): "needs DL Streamer",
    ("docs/migrating-from-pyservicemaker.md", "counter_probe.py"): "needs DeepStream",
    ("docs/howto/ci.md", "CI image"): "for the reader's CI: its own repository, a fresh machine",
}
"""Document, and title or first line of a block that cannot run here: the reason."""


def documents() -> list[list[Path]]:
    """Documents that go together, with blocks in at least one."""
    single = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]
    tutorial = sorted(TUTORIAL.glob("*.md"))
    assert tutorial
    # Notes are part of the elements' pages.
    single += sorted(
        p
        for p in (ROOT / "docs").rglob("*.md")
        if p.parent.name != "notes" and p.parent != TUTORIAL
    )
    return [[path] for path in single if blocks_of(path)] + [tutorial]


def name_of(group: list[Path]) -> str:
    """For the test's name."""
    path = group[0] if len(group) == 1 else group[0].parent
    return path.relative_to(ROOT).as_posix()


def entry_of(block: Block) -> tuple[str, str]:
    """The block as NOT_RUN names it."""
    return block.document.relative_to(ROOT).as_posix(), block.key


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all documents, so that GStreamer scans its plugins once."""
    return tmp_path_factory.mktemp("documents") / "registry.bin"


@pytest.mark.timeout(TIMEOUT_S + 30)
@pytest.mark.parametrize("group", documents(), ids=name_of)
def test_blocks_run(group: list[Path], tmp_path: Path, registry: Path) -> None:
    runner = Runner(tmp_path, registry, NOT_AGAIN)
    for document in group:
        for block in blocks_of(document):
            if entry_of(block) in NOT_RUN:
                runner.check(block)
            else:
                runner.run(block)


def test_every_block_that_is_not_run_exists() -> None:
    there = {entry_of(b) for group in documents() for path in group for b in blocks_of(path)}
    assert [entry for entry in NOT_RUN if entry not in there] == []
    assert all(NOT_RUN.values())


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        broken += [
            f"{document.relative_to(ROOT)}: {target}"
            for target in re.findall(r"\]\(([^)#\s]+)", document.read_text())
            if "://" not in target and not (document.parent / target).exists()
        ]
    assert broken == []
