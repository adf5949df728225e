"""Rules about the repository's files."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dselements"
HARD_CAP = 800


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.stdout.decode().split("\0") if name]


def test_no_headers_binaries_models_or_clips_are_committed() -> None:
    banned = {".h", ".hpp", ".so", ".a", ".o", ".onnx", ".engine", ".whl", ".deb", ".avi", ".mp4"}
    assert [p for p in tracked() if p.suffix in banned or ".so." in p.name] == []


def test_files_stay_small() -> None:
    code = [p for p in tracked() if p.suffix in {".py", ".pyx", ".pxi", ".pxd"} and p.exists()]
    assert len(code) > 40
    long = {str(p): n for p in code if (n := len(p.read_text().splitlines())) > HARD_CAP}
    assert long == {}


def test_no_two_test_files_share_a_name() -> None:
    # pytest imports them as top-level modules: it stops at the second one.
    names = [p.name for p in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) > 40
    assert {name for name in names if names.count(name) > 1} == set()


def element_folders() -> list[Path]:
    folders = [p.parent for p in sorted((PACKAGE / "elements").glob("*/element.py"))]
    assert folders, "no element found"
    return folders


@pytest.mark.parametrize("folder", element_folders(), ids=lambda p: p.name)
def test_an_element_is_one_whole_folder(folder: Path) -> None:
    for name in ("__init__.py", "settings.py", "logic.py", "element.py"):
        assert (folder / name).is_file(), f"{folder.name} lacks {name}"
    doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    assert "gst-launch-1.0" in doc, "the element's doc needs a runnable pipeline"
    assert "Since" in doc
    assert (ROOT / "tests" / "elements" / f"test_{folder.name}.py").is_file()
    assert (ROOT / "docs" / "elements" / f"ds{folder.name}.md").is_file()


def test_importing_the_package_loads_neither_gi_nor_nvidias_library() -> None:
    code = (
        "import sys, dselements; "
        "maps = open('/proc/self/maps').read(); "
        "assert 'gi' not in sys.modules, 'gi'; "
        "assert 'libnvds_meta' not in maps, 'library'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def swallowed(path: Path) -> list[int]:
    """Lines of handlers that catch everything and do nothing."""
    lines = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ExceptHandler):
            continue
        broad = node.type is None or (
            isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}
        )
        if broad and all(isinstance(part, ast.Pass) for part in node.body):
            lines.append(node.lineno)
    return lines


def test_no_exception_is_swallowed(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("try:\n    f()\nexcept Exception:\n    pass\n")
    assert swallowed(planted) == [3]
    found = {str(p): lines for p in PACKAGE.rglob("*.py") if (lines := swallowed(p))}
    assert found == {}
