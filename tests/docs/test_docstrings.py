"""How docstrings become Markdown for the site."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

griffe = pytest.importorskip("griffe")
sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "site"))
from docstrings import Docstrings

HEAD = '"""Package."""\n__all__ = ["Gate", "TABLE"]\n'
GATE = '''
from .columns import scalar

TABLE = ()
"""Rows."""

class Gate:
    """See :meth:`open`, :class:`~dselements.Gate` and :mod:`.other`::

        gate.open()

    Then close it.
    """

    row: int = scalar(OBJECT_COLUMNS["class_id"])
    """Own text."""
    number: int = scalar(OBJECT_COLUMNS["class_id"])
    limit = Property(5, help="most of them")

    def open(self):
        """Open it. :raises ValueError: if it is open."""

    def shut(self):
        """Shut :meth:`oben`, see :class:`Hidden`."""

class Hidden:
    """Not public."""
'''
FIELDS = '_columns(_native.OBJECT, ("class_id", "i4", 1, "index", "class of the object"))\n'


@pytest.fixture
def package(tmp_path: Path) -> Any:
    root = tmp_path / "dselements"
    for name, text in {
        "__init__.py": f"{HEAD}from .gate import TABLE, Gate\n",
        "gate.py": GATE,
        "meta/__init__.py": "__all__ = []\n",
        "meta/fields.py": FIELDS,
        "element/__init__.py": "__all__ = []\n",
        "surface/__init__.py": "__all__ = []\n",
        "errors.py": "__all__ = []\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    loader = griffe.GriffeLoader(
        search_paths=[str(tmp_path)],
        allow_inspection=False,
        extensions=griffe.load_extensions(Docstrings()),
    )
    return loader.load("dselements")


def text(package: Any, name: str) -> str:
    value: str = package[f"gate.{name}"].docstring.value
    return value


def test_roles_become_links_and_literal_blocks_fences(package: Any) -> None:
    assert text(package, "Gate") == (
        "See [`open`][dselements.gate.Gate.open], [`Gate`][dselements.gate.Gate] and `other`:\n\n"
        "```python\ngate.open()\n```\n\nThen close it."
    )


def test_a_field_in_the_first_line_gets_its_own(package: Any) -> None:
    assert text(package, "Gate.open") == "Open it.\n\n:raises ValueError: if it is open."


def test_texts_of_tables_and_declarations_are_taken(package: Any) -> None:
    assert text(package, "Gate.row") == "Own text."
    assert text(package, "Gate.number") == "Class of the object (index)"
    assert text(package, "Gate.limit") == "Most of them"


def test_a_wrong_name_is_a_warning_which_ends_a_strict_build(
    package: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert text(package, "Gate.shut") == "Shut `oben`, see `Hidden`."
    warnings = [r for r in caplog.get_records("setup") if r.levelno == logging.WARNING]
    assert [r.name.partition(".")[0] for r in warnings] == ["mkdocs"]
    assert "Gate.shut: nothing is named 'oben'" in warnings[0].getMessage()
