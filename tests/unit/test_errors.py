"""The error table, its classes, and their twins for type checkers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dselements import errors

TREE = ast.parse(Path(errors.__file__).read_text())


def twins() -> dict[str, list[str]]:
    """Class name and bases in the TYPE_CHECKING block."""
    block = next(
        n for n in TREE.body
        if isinstance(n, ast.If) and isinstance(n.test, ast.Name) and n.test.id == "TYPE_CHECKING"
    )  # fmt: skip
    return {
        n.name: [b.id for b in n.bases if isinstance(b, ast.Name)]
        for n in block.body
        if isinstance(n, ast.ClassDef)
    }


def test_type_checkers_see_the_table() -> None:
    assert twins() == {row.name: ["DselementsError", row.builtin.__name__] for row in errors.TABLE}


@pytest.mark.parametrize("row", errors.TABLE, ids=lambda row: row.name)
def test_a_row_makes_a_class(row: errors.ErrorRow) -> None:
    cls = getattr(errors, row.name)
    assert issubclass(cls, errors.DselementsError)
    assert issubclass(cls, row.builtin)
    assert cls.__module__ == "dselements.errors"
    assert cls.__doc__ == row.doc
    assert row.doc.endswith(".")
    assert row.name.endswith("Error")
    assert row.name in errors.__all__
    assert cls.gst_domain in {"core", "library", "resource", "stream"}
    assert cls.gst_code.isupper()
    error = cls("what is wrong")
    assert isinstance(error, row.builtin)
    assert error.hint == row.hint
    assert str(error) == (f"what is wrong ({row.hint})" if row.hint else "what is wrong")
    assert str(cls("x", hint="mend")) == "x (mend)"
    assert str(cls("x", hint="")) == "x"
    with pytest.raises(row.builtin, match="x"):
        raise cls("x")


def test_names_are_unique() -> None:
    names = [row.name for row in errors.TABLE]
    assert len(set(names)) == len(names)
    assert sorted(errors.__all__) == sorted([*names, "TABLE", "DselementsError", "ErrorRow"])


def test_gst_codes_exist_in_gstreamer() -> None:
    gi = pytest.importorskip("gi")
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst

    for row in errors.TABLE:
        enum = getattr(Gst, f"{row.gst_domain.title()}Error")
        assert hasattr(enum, row.gst_code), row.name
