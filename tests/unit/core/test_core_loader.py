"""Finding the libraries: order, causes, and never two copies. Each case is a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dselements._core import LibraryInfo, library_info, load, loader
from dselements.errors import LibraryNotFoundError

REPORT = """
import sys
from dselements._core import load
from dselements.errors import DselementsError
try:
    info = load()
except DselementsError as error:
    print(type(error).__name__, error)
else:
    print(info.source, info.family, info.meta_path)
    assert load() is info
"""


def run(code: str = REPORT, *, before: str = "", **env: str) -> str:
    clean = {k: v for k, v in os.environ.items() if k != loader.ENV}
    done = subprocess.run(
        [sys.executable, "-c", before + code],
        env=clean | env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def copy(nvds: LibraryInfo, tmp_path: Path) -> Path:
    """A folder with a copy of the libraries."""
    for name in (nvds.meta_path, nvds.gst_meta_path):
        shutil.copy(name, tmp_path)
    return tmp_path


def test_the_folder_of_the_environment_goes_before_the_wheel(copy: Path) -> None:
    assert run(DSELEMENTS_NVDS_LIB_DIR=str(copy)) == f"environment ds9 {copy}/{loader.META}\n"


def test_a_wrong_folder_in_the_environment_is_an_error_that_names_it(tmp_path: Path) -> None:
    out = run(DSELEMENTS_NVDS_LIB_DIR=str(tmp_path / "nowhere"))
    assert out.startswith("LibraryNotFoundError")
    assert f"{tmp_path}/nowhere has no {loader.META} and no {loader.GST_META}" in out
    assert "wheel" not in out.split("(")[0]


def test_a_folder_with_one_of_the_two_is_wrong_too(copy: Path) -> None:
    (copy / loader.GST_META).unlink()
    out = run(DSELEMENTS_NVDS_LIB_DIR=str(copy))
    assert out.startswith("LibraryNotFoundError")
    assert f"environment: {copy} has no {loader.GST_META} " in out


def test_a_file_that_is_no_library_is_an_error_that_names_it(copy: Path) -> None:
    (copy / loader.META).write_bytes(b"not a library")
    out = run(DSELEMENTS_NVDS_LIB_DIR=str(copy))
    assert out.startswith(f"LibraryNotFoundError {copy}/{loader.META} is no 64-bit ELF library")


def test_a_library_without_the_functions_is_refused(copy: Path) -> None:
    shutil.copy(copy / loader.GST_META, copy / loader.META)
    out = run(DSELEMENTS_NVDS_LIB_DIR=str(copy))
    assert out.startswith("LibraryNotFoundError")


def test_what_the_process_holds_already_is_used(copy: Path) -> None:
    before = f"import ctypes; ctypes.CDLL({str(copy / loader.META)!r})\n"
    assert run(before=before) == f"process ds9 {copy}/{loader.META}\n"
    # The environment cannot bring a second copy in.
    other = library_info().meta_path
    out = run(before=before, DSELEMENTS_NVDS_LIB_DIR=str(Path(other).parent))
    assert out == f"process ds9 {copy}/{loader.META}\n"


def test_two_copies_are_refused(copy: Path) -> None:
    paths = [str(copy / loader.META), library_info().meta_path]
    out = run(before=f"import ctypes\nfor p in {paths!r}: ctypes.CDLL(p)\n")
    assert out.startswith(f"LibraryNotFoundError two copies of {loader.META} are in this process")
    assert all(path in out for path in paths)


def test_each_place_tried_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(loader, "mapped", lambda name, maps=None: [])
    monkeypatch.delenv(loader.ENV, raising=False)
    monkeypatch.setattr(loader, "SYSTEM_DIR", tmp_path / "none")
    monkeypatch.setattr(loader, "wheel_dir", lambda: None)
    with pytest.raises(LibraryNotFoundError) as caught:
        loader.find()
    text = str(caught.value)
    for place in ("process: ", "environment: ", "system: ", "wheel: "):
        assert place in text
    assert f"no DeepStream in {tmp_path}/none" in text
    assert "pip install --no-deps nvidia-deepstream-videodecode-cu13" in text


def test_an_sdk_goes_before_the_wheel(monkeypatch: pytest.MonkeyPatch, copy: Path) -> None:
    monkeypatch.setattr(loader, "mapped", lambda name, maps=None: [])
    monkeypatch.delenv(loader.ENV, raising=False)
    monkeypatch.setattr(loader, "SYSTEM_DIR", copy)
    assert loader.find()[:3] == (str(copy / loader.META), str(copy / loader.GST_META), "system")


def test_the_maps_are_read_by_name() -> None:
    maps = (
        "7f00-7f01 r-xp 00000000 08:01 1   /a b/libnvds_meta.so\n"
        "7f01-7f02 r--p 00000000 08:01 1   /a b/libnvds_meta.so\n"
        "7f02-7f03 r-xp 00000000 08:01 2   /c/libnvds_meta.so.1.0.0\n"
        "7f03-7f04 r-xp 00000000 08:01 3   /d/libnvds_metadata.so\n"
        "7f04-7f05 rw-p 00000000 00:00 0   [heap]\n"
        "7f05-7f06 rw-p 00000000 00:00 0\n"
    )
    found = ["/a b/libnvds_meta.so", "/c/libnvds_meta.so.1.0.0"]
    assert loader.mapped("libnvds_meta.so", maps) == found


def test_loading_keeps_symbols_local_and_the_wheels_package_out() -> None:
    code = """
import ctypes, sys
from dselements._core import load
load()
assert not [m for m in sys.modules if m.startswith("nvidia")], "package imported"
try:
    ctypes.CDLL(None).nvds_create_batch_meta
except AttributeError:
    print("local")
"""
    assert run(code) == "local\n"


def test_threads_load_once() -> None:
    code = """
import threading
from dselements._core import load
found, start = [], threading.Barrier(8)
def go():
    start.wait()
    found.append(load())
threads = [threading.Thread(target=go) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(len(found), len({id(info) for info in found}))
"""
    assert run(code) == "8 1\n"


def test_nothing_works_before_the_library_is_loaded() -> None:
    code = """
from dselements._core import _native
from dselements.errors import LibraryNotFoundError
calls = [
    lambda: _native.create_batch(1), lambda: _native.Snapshot(4096), lambda: _native.copy_batch(8),
    lambda: _native.layout_of(8), lambda: _native.buffer_batch_meta(8),
    lambda: _native.make_batched_buffer([8]), lambda: _native.MemoryMap(8, 0, False),
    lambda: _native.payload_meta_type(), lambda: _native.read_payload(8),
    lambda: _native.library_family(), lambda: _native.debug_category("x", "y"),
]
for n, call in enumerate(calls):
    try:
        call()
    except LibraryNotFoundError as error:
        assert "not loaded" in str(error), error
    else:
        raise SystemExit(f"call {n} went through")
print(len(calls))
"""
    assert run(code) == "11\n"


def test_load_is_idempotent(nvds: LibraryInfo) -> None:
    assert load() is nvds
    assert library_info() is nvds
    assert nvds.family == "ds9"


def test_a_library_that_is_cut_short_is_an_error_not_a_crash(tmp_path: Path) -> None:
    from dselements._core import library_info
    from dselements._core.loader import _check_whole

    whole = Path(library_info().meta_path)
    _check_whole(whole)
    data = whole.read_bytes()
    for size, told in ((0, "no 64-bit ELF"), (40, "no 64-bit ELF"), (20000, "is cut short: 20000")):
        cut = tmp_path / "libnvds_meta.so"
        cut.write_bytes(data[:size])
        with pytest.raises(LibraryNotFoundError, match=told):
            _check_whole(cut)
