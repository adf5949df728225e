"""A layer imports only from the layers above it in the list of ARCHITECTURE.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dselements"

# From the top (knows nobody) to the bottom (may know all before it).
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "entry_group"}),
    frozenset({"_core"}),
    frozenset({"meta"}),
    frozenset({"surface"}),
    frozenset({"geometry", "tracking", "brokers", "backends", "workers", "recording"}),
    frozenset({"element"}),
    frozenset({"elements"}),
    frozenset({"compat", "testing", "assets"}),
    frozenset({"cli", "__main__", "__init__"}),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
NO_GI = {name for names in LAYERS[:5] for name in names} - {"surface"} | {"compat"}
# Other APIs over the metadata: they know no element.
COMPAT_MAY = {"errors", "_core", "meta", "compat"}


def module_name(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything a file imports, lazily or not."""
    package = list(path.relative_to(PACKAGE.parent).with_suffix("").parts)[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # What only type checkers import binds nothing at run time.
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{name}.{alias.name}"


def layer(name: str) -> str | None:
    parts = name.split(".")
    if parts[0] != "dselements":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in RANK else "__init__"


def files() -> list[Path]:
    found = [p for p in sorted(PACKAGE.rglob("*.py")) if "_plugin_dir" not in p.parts]
    assert len(found) > 20, "the package was not found"
    return found


def violations(path: Path) -> list[str]:
    own = layer(module_name(path)) or "__init__"
    bad = []
    for line, name in imports(path):
        other = layer(name)
        if other is None:
            if name.split(".")[0] == "gi" and (own in NO_GI or path.name == "logic.py"):
                bad.append(f"{path}:{line}: {own} must not import gi")
            continue
        if own == "__init__":
            continue  # lazy exports of everything
        peers = other != own and RANK[other] == RANK[own]
        if RANK[other] > RANK[own] or (peers and own not in ("cli", "__main__")):
            bad.append(f"{path}:{line}: {own} must not import {other}")
        if own == "compat" and other not in COMPAT_MAY:
            bad.append(f"{path}:{line}: compat must not import {other}")
        if own == other == "elements":
            mine = module_name(path).split(".")[2:3]
            theirs = name.split(".")[2:3]
            if mine and theirs and mine != theirs and not theirs[0].isupper():
                bad.append(f"{path}:{line}: element {mine[0]} must not import {theirs[0]}")
    return bad


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    assert violations(path) == []


def test_the_check_finds_a_planted_violation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "dselements"
    (package / "meta").mkdir(parents=True)
    (package / "elements" / "osd").mkdir(parents=True)
    monkeypatch.setattr("test_layers.PACKAGE", package, raising=False)
    monkeypatch.setitem(globals(), "PACKAGE", package)
    up = package / "meta" / "x.py"
    up.write_text("def f():\n    from ..elements.osd import logic\n    import gi\n")
    assert len(violations(up)) == 2
    (package / "compat" / "pyds").mkdir(parents=True)
    other = package / "compat" / "pyds" / "x.py"
    other.write_text(
        "from ...elements import osd\nfrom ...surface import nvmm\nfrom ... import meta\n"
    )
    assert len(violations(other)) == 2
    side = package / "elements" / "osd" / "logic.py"
    side.write_text("from ..infer import settings\nfrom gi.repository import Gst\n")
    assert len(violations(side)) == 2
