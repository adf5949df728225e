"""Every public name of pyds 1.2.0 is there, and the documentation says what it does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dselements.compat.pyds as pyds
from dselements.compat.pyds.differences import DIFFERENCES
from dselements.compat.pyds.enums import ENUMS
from dselements.compat.pyds.unsupported import REASONS
from dselements.errors import NotSupportedError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "migrating-from-pyds.md"

sys.path.insert(0, str(ROOT / "tools"))
import pyds_table

NAMES = pyds_table.names()
CLASSES = {
    name: members
    for name, members in NAMES.items()
    if members and name not in ENUMS and name not in REASONS and "Analytics" not in name
}


def test_the_list_is_whole() -> None:
    assert len(NAMES) == 185
    assert len(CLASSES) > 40


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there_or_says_why_not(name: str) -> None:
    found = getattr(pyds, name)
    assert name in dir(pyds)
    if name in REASONS:
        with pytest.raises(NotSupportedError, match=name):
            found()
    if name in ENUMS:
        for member in NAMES[name]:
            if not member.endswith("FORMAT_LAST"):  # counts the formats of one SDK
                assert getattr(pyds, member) == found[member], member


@pytest.mark.parametrize("name", CLASSES)
def test_each_member_of_a_class_is_there(name: str) -> None:
    lacking = [m for m in CLASSES[name] if not hasattr(getattr(pyds, name), m)]
    pools = {"empty_list", "full_list"} if name == "NvDsMetaPool" else set()
    assert set(lacking) == pools | ({"meta_mutex"} if name == "NvDsBatchMeta" else set())


def test_the_documented_table_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "pyds_table.py"), "--check"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, f"run tools/pyds_table.py\n{done.stderr}"
    text = PAGE.read_text()
    for name in NAMES:
        assert f"| `{name}` |" in text


def test_an_outdated_table_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text().replace("| `memdup` | works with", "| `memdup` | breaks with"))
    monkeypatch.setattr(pyds_table, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["pyds_table.py", "--check"])
    assert pyds_table.main() == 1
    monkeypatch.setattr(sys, "argv", ["pyds_table.py"])
    assert pyds_table.main() == 0
    assert page.read_text() == PAGE.read_text()


def test_reasons_are_of_names_that_pyds_has() -> None:
    assert set(DIFFERENCES) <= set(NAMES)
    assert set(REASONS) <= set(NAMES)
    assert not set(REASONS) & set(DIFFERENCES)
