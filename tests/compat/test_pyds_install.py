"""``import pyds``: ours where NVIDIA's is absent, and what else may have that name."""

from __future__ import annotations

import importlib.machinery
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import dselements.compat.pyds as ours
from dselements.compat import find_pyds, install, uninstall
from dselements.errors import NotSupportedError

SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = sys.modules.pop("pyds", None)
    yield
    uninstall()
    sys.modules.pop("pyds", None)
    if before is not None:
        sys.modules["pyds"] = before


def test_ours_where_none_is() -> None:
    assert find_pyds() == ("absent", "")
    assert install() is ours
    import pyds

    assert pyds is ours
    assert find_pyds()[0] == "dselements"
    assert install() is ours
    uninstall()
    assert find_pyds() == ("absent", "")


def test_the_unrelated_package_is_passed_over_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "pyds.py").write_text("class Reader: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_pyds() == ("unrelated", str(tmp_path / "pyds.py"))
    with caplog.at_level(logging.WARNING, "dselements.compat"):
        assert install() is ours
    assert "pip uninstall pyds" in caplog.text
    assert str(tmp_path) in caplog.text


def test_the_unrelated_package_that_was_imported_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyds", ModuleType("pyds"))
    assert find_pyds()[0] == "unrelated"
    assert install() is ours


def test_nvidias_is_recognised_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"pyds{SUFFIX}").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_pyds() == ("nvidia", str(tmp_path / f"pyds{SUFFIX}"))


def test_nvidias_is_kept_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = ModuleType("pyds")
    theirs.gst_buffer_get_nvds_batch_meta = print  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyds", theirs)
    assert find_pyds()[0] == "nvidia"
    assert install() is theirs
    assert sys.modules["pyds"] is theirs
    assert install(replace=True) is ours
    assert sys.modules["pyds"] is ours


def test_a_fresh_process() -> None:
    code = (
        "import dselements.compat\n"
        "dselements.compat.install()\n"
        "import pyds\n"
        "print(pyds.__name__, pyds.NVDS_EVENT_MSG_META.value, pyds.NvOSD_Mode.MODE_GPU.value)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "dselements.compat.pyds 9 1\n", done.stderr


def test_an_unknown_name_has_a_hint() -> None:
    with pytest.raises(AttributeError, match="did you mean nvds_remove_obj_meta_from_frame"):
        _ = ours.nvds_remove_obj_meta_from_fram
    with pytest.raises(AttributeError, match="has no 'qqqqqq'"):
        _ = ours.qqqqqq


def test_a_known_name_that_is_not_served_says_why() -> None:
    for use in (
        lambda: ours.NvBufSurfaceMap(1, 2),
        lambda: ours.NvBufSurface.cast(3),
        lambda: ours.nvds_obj_enc_create_context(0),
        lambda: ours.NvDsAnalyticsFrameMeta.cast(object()),
        lambda: ours.NvDsAnalyticsObjInfo(),
    ):
        with pytest.raises(NotSupportedError) as caught:
            use()
        assert len(str(caught.value)) > 60


def test_enumerations_have_the_numbers_of_the_library() -> None:
    from dselements._core.layouts import META_TYPES
    from dselements._core.loader import load

    table = META_TYPES[load().family]
    for name, number in table.items():
        if name != "NVDS_BATCH_GST_META":
            assert ours.NvDsMetaType[name] == number == getattr(ours, name)
    assert (ours.NVDS_BATCH_GST_META, ours.GstNvDsMetaType.NVDS_BATCH_GST_META) == (4097, 4097)
    assert ours.NvDsObjectType.NVDS_OBJECT_TYPE_UNKNOWN == 0x102
    assert ours.NvBufSurfaceColorFormat.NVBUF_COLOR_FORMAT_RGBA == 19
    assert ours.NvDsInferNetworkType.OTHER == 100
    assert ours.NvDsMetaType(9) is ours.NVDS_EVENT_MSG_META
