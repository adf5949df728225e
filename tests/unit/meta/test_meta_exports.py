"""The package's front door."""

from __future__ import annotations

import ast
import contextlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import dselements as ds

SOURCE = Path(ds.__file__)


def test_importing_loads_neither_gi_nor_the_native_core() -> None:
    code = (
        "import sys, dselements as ds; ds.errors; dir(ds);"
        "bad = {'gi', 'numpy', 'dselements._core', 'dselements.meta'} & set(sys.modules);"
        "assert not bad, bad;"
        "ds.Batch; assert 'gi' not in sys.modules;"
        "assert not any('libnvds' in l for l in open('/proc/self/maps'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there() -> None:
    from dselements import meta

    pytest.importorskip("gi")
    for name in ds.__all__:
        assert getattr(ds, name) is not None, name
    assert ds.Batch is meta.Batch
    assert ds.UNTRACKED == 2**64 - 1
    assert set(ds.__all__) <= set(dir(ds))
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = ds.nope  # type: ignore[attr-defined]


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(SOURCE.read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {a.name for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert seen | {"__version__"} == set(ds.__all__)


def test_the_version_is_the_projects() -> None:
    text = (SOURCE.parents[2] / "pyproject.toml").read_text()
    assert f'version = "{ds.__version__}"' in text
    with contextlib.suppress(metadata.PackageNotFoundError):
        assert metadata.version("dselements") == ds.__version__
