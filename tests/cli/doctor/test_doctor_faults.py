"""Each fault is really planted, and ``dselements doctor`` run in its own process must find it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from planting import ROOT, SYSTEM, bare_venv, compile_library, doctor, package, without

from dselements._core import LibraryInfo, loader
from dselements.cli.env import plugin_dir

ELEMENT = """
import dselements as ds
@ds.element("plantedgate", description="x")
class Gate(ds.MetaTransform):
    def process(self, batch): pass
"""
Env = dict[str, str]


def system_plugins(env: Env, folder: Path, *names: str) -> None:
    """GStreamer sees only these of the system's plugins."""
    folder.mkdir()
    out = subprocess.run(
        ["gst-inspect-1.0", "coreelements"], env=env, capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"Filename\s+(\S+)", out)
    assert match
    for name in names:
        (folder / name).symlink_to(Path(match[1]).parent / name)
    env["GST_PLUGIN_SYSTEM_PATH_1_0"] = str(folder)


def loader_file(env: Env) -> Path:
    out = subprocess.run(
        ["gst-inspect-1.0", "python"], env=env, capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"Filename\s+(\S+)", out)
    assert match
    return Path(match[1]).resolve()


def test_no_loader_package(env: Env, tmp_path: Path) -> None:
    system_plugins(env, tmp_path / "sys", "libgstcoreelements.so")
    found = doctor("loader-plugin", "loader-starts", "registry-stale", env=env)
    assert found.code == 1
    (finding,) = found.findings
    assert finding["level"] == "error"
    assert "not installed" in finding["text"]
    assert str(tmp_path / "sys") in finding["text"]
    assert finding["mend"].endswith("install -y gstreamer1.0-python3-plugin-loader")


def test_another_environment_on_path(env: Env, tmp_path: Path) -> None:
    bare_venv(tmp_path / "other", "--system-site-packages")
    env["PATH"] = f"{tmp_path / 'other' / 'bin'}:{env['PATH']}"
    found = doctor("loader-python", "loader-starts", env=env)
    finding = found.one("loader-python")
    assert (found.code, finding["level"]) == (1, "error")
    assert f"{tmp_path}/other/bin/python3, which has no dselements" in finding["text"]
    assert finding["mend"] == f'eval "$({sys.executable} -m dselements env)"'
    # With the environment that the command sets the loader does start.
    assert found.one("loader-starts")["level"] == "ok"
    # A shell that was not meant for gst-launch.
    del env["GST_PLUGIN_PATH"]
    found = doctor("loader-python", "plugin-path", env=env)
    assert [f["level"] for f in found.findings] == ["warning", "warning"]
    assert found.code == 0


def test_loader_of_another_python_version(env: Env, tmp_path: Path) -> None:
    own = f"libpython3.{sys.version_info[1]}".encode()
    data = loader_file(env).read_bytes()
    system_plugins(env, tmp_path / "sys", "libgstcoreelements.so")
    patched = tmp_path / "sys" / "libgstpython.so"
    patched.write_bytes(data.replace(own, b"libpython3.88"[: len(own)]))
    found = doctor("loader-libpython", "loader-starts", env=env)
    finding = found.one("loader-libpython")
    assert finding["level"] == "error"
    assert f"for 3.{sys.version_info[1]} ({sys.executable})" in finding["text"]
    assert re.search(r"embeds Python 3\.8", finding["text"])
    assert "--system-site-packages" in finding["mend"]
    # Its libpython is nowhere, as on Debian 13 without libpython3-dev.
    assert found.one("loader-starts")["level"] == "error"
    assert "libpython3-dev" in found.one("loader-starts")["mend"]


def test_a_loader_that_is_no_library(env: Env, tmp_path: Path) -> None:
    whole = loader_file(env).read_bytes()
    system_plugins(env, tmp_path / "sys", "libgstcoreelements.so")
    broken = tmp_path / "sys" / "libgstpython.so"
    broken.write_bytes(whole[:3000])
    finding = doctor("loader-plugin", env=env).one("loader-plugin")
    assert finding["level"] == "error"
    assert f"does not load {broken}" in finding["text"]
    assert finding["mend"].startswith(f"rm -f {env['GST_REGISTRY']}\n")


def test_stale_registry_and_its_refresh(env: Env, scanned: Path, tmp_path: Path) -> None:
    registry = tmp_path / "registry.bin"
    shutil.copy(scanned, registry)
    env["GST_REGISTRY"], env["XDG_CACHE_HOME"] = str(registry), str(tmp_path / "cache")
    before = registry.read_bytes()
    package(tmp_path / "site", "plantedpkg", ELEMENT, "plantedpkg:Gate")
    env["PYTHONPATH"] = str(tmp_path / "site")
    found = doctor("registry-stale", env=env)
    finding = found.one("registry-stale")
    assert (found.code, finding["level"]) == (1, "error")
    assert f"{registry} does not know plantedgate:" in finding["text"]
    assert finding["mend"] == f'eval "$({sys.executable} -m dselements env --refresh)"'
    assert registry.read_bytes() == before  # looking changes nothing
    folder = plugin_dir() / "python"
    os.utime(folder, (time.time() - 1000, time.time() - 1000))
    assert doctor("registry-stale", env=env, options=("--refresh",)).code == 0


def test_a_blacklisted_plugin(env: Env, tmp_path: Path) -> None:
    compile_library(
        "#include <stdlib.h>\n__attribute__((constructor)) void f(void) { abort(); }",
        tmp_path / "libgstcrasher.so",
    )
    env["GST_PLUGIN_PATH"] += f":{tmp_path}"
    finding = doctor("registry-blacklist", env=env).one("registry-blacklist")
    assert finding["level"] == "warning"
    assert "libgstcrasher.so" in finding["text"]
    assert finding["mend"].startswith(f"rm -f {env['GST_REGISTRY']}\n")


@pytest.fixture
def copy(nvds: LibraryInfo, tmp_path: Path) -> Path:
    """A folder with another copy of the libraries."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for name in (nvds.meta_path, nvds.gst_meta_path):
        shutil.copy(name, folder)
    return folder


NVDS = ("nvds-library", "nvds-layout", "nvds-copies", "nvds-process")


def test_two_copies_from_the_start(env: Env, copy: Path, nvds: LibraryInfo) -> None:
    env["LD_PRELOAD"] = f"{nvds.meta_path} {copy / loader.META}"
    found = doctor(*NVDS, env=env)
    finding = found.one("nvds-process")
    assert (found.code, finding["level"], finding["mend"]) == (1, "error", "unset LD_PRELOAD")
    assert "when Python starts" in finding["text"]
    assert nvds.meta_path in finding["text"]
    assert str(copy / loader.META) in finding["text"]


def test_a_package_that_brings_its_own_copy(env: Env, copy: Path, tmp_path: Path) -> None:
    code = f"import ctypes; ctypes.CDLL({str(copy / loader.META)!r})\n{ELEMENT}"
    package(tmp_path / "site", "plantedpkg", code, "plantedpkg:Gate")
    env["PYTHONPATH"] = str(tmp_path / "site")
    found = doctor(*NVDS, env=env)
    finding = found.one("nvds-process")
    assert (found.code, finding["level"]) == (1, "error")
    assert finding["text"].startswith("2 copies of libnvds_meta are in the process once all")
    assert finding["mend"] == f"export {loader.ENV}={copy}"
    # And with what it says, it is well.
    env[loader.ENV] = str(copy)
    assert doctor("nvds-process", env=env).one("nvds-process")["level"] == "ok"


def test_another_copy_where_the_linker_looks(env: Env, copy: Path) -> None:
    env["LD_LIBRARY_PATH"] = str(copy)
    found = doctor(*NVDS, env=env)
    finding = found.one("nvds-copies")
    assert (found.code, finding["level"]) == (0, "warning")
    assert f"{copy / loader.META} (LD_LIBRARY_PATH)" in finding["text"]
    assert finding["mend"] == f"export {loader.ENV}={copy}"
    env[loader.ENV] = str(copy)
    finding = doctor(*NVDS, env=env).one("nvds-copies")
    assert (finding["level"], finding["mend"]) == ("info", "")  # the wheel is not used


FAKE = """
#include <stdint.h>
#include <string.h>
static uint8_t batch[192], pools[6][56];
static uint32_t sizes[6] = {232, 560, 64, 7040, 48, 200};
void *nvds_create_batch_meta(unsigned n) {
  memset(batch, 0, sizeof batch);
  for (int k = 0; k < 6; k++) {
    uint8_t *pool = pools[k];
    memcpy(pool + 8, &sizes[k], 4);
    memcpy(batch + 48 + 8 * k, &pool, 8);
  }
  return batch;
}
int nvds_destroy_batch_meta(void *b) { return 1; }
int nvds_get_user_meta_type(const char *name) { return 4097; }
"""


def test_unknown_layout(env: Env, copy: Path, nvds: LibraryInfo) -> None:
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", nvds.meta_path], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in listing.splitlines() if " T " in line}
    rest = sorted(n for n in names if n.startswith("nvds_") and f" *{n}(" not in FAKE)
    rest = [n for n in rest if f"int {n}(" not in FAKE]
    source = FAKE + "\n".join(f"void *{n}(void) {{ return 0; }}" for n in rest)
    compile_library(source, copy / loader.META, f"-Wl,-soname,{loader.META}")
    env[loader.ENV] = str(copy)
    found = doctor(*NVDS, env=env)
    finding = found.one("nvds-layout")
    assert (found.code, finding["level"]) == (1, "error")
    assert str(copy / loader.META) in finding["text"]
    assert "560" in finding["text"]
    assert finding["mend"].startswith(f"unset {loader.ENV}")


def test_no_metadata_library(env: Env, tmp_path: Path) -> None:
    env[loader.ENV] = str(tmp_path)
    finding = doctor(*NVDS, env=env).one("nvds-library")
    assert finding["level"] == "error"
    assert f"{tmp_path} has no {loader.META}" in finding["text"]
    assert finding["mend"].splitlines()[0] == f"unset {loader.ENV}"


def test_the_unrelated_pyds(env: Env, tmp_path: Path) -> None:
    package(tmp_path / "site", "pyds", "class Label(dict): pass\n")
    env["PYTHONPATH"] = str(tmp_path / "site")
    finding = doctor("pyds", env=env).one("pyds")
    assert finding["level"] == "warning"
    for text in (
        "pyds 0.2.0 (planted)",
        "not NVIDIA's",
        "reads PDS labels",
        "`pip install pyds` brings that",
    ):
        assert text in finding["text"]
    assert finding["mend"] == f"{sys.executable} -m pip uninstall -y pyds"


def test_a_pyds_of_another_package(env: Env, tmp_path: Path) -> None:
    package(tmp_path / "site", "py_dempster_shafer", "")
    info = tmp_path / "site" / "py_dempster_shafer-0.2.0.dist-info"
    (info / "top_level.txt").write_text("pyds\n")
    (tmp_path / "site" / "pyds.py").write_text("class MassFunction(dict): pass\n")
    env["PYTHONPATH"] = str(tmp_path / "site")
    finding = doctor("pyds", env=env).one("pyds")
    assert finding["level"] == "warning"
    assert "of the package py_dempster_shafer 0.2.0" in finding["text"]
    assert finding["mend"].endswith("pip uninstall -y py_dempster_shafer")


def test_nvidias_pyds_is_well(env: Env, tmp_path: Path) -> None:
    package(tmp_path / "site", "pyds", "class NvDsObjectMeta: pass\n", version="1.2.0")
    env["PYTHONPATH"] = str(tmp_path / "site")
    finding = doctor("pyds", env=env).one("pyds")
    assert (finding["level"], finding["text"][:13]) == ("ok", "NVIDIA's pyds")


def test_a_missing_extra(env: Env, tmp_path: Path) -> None:
    env["PYTHONPATH"] = without(tmp_path / "site", "onnxruntime", "opencv", "cv2", "pyarrow")
    python = str(bare_venv(tmp_path / "venv", "--system-site-packages"))
    found = doctor("extra", env=env, python=python)
    infer, arrow = found.one("extra", "infer"), found.one("extra", "arrow")
    assert (infer["level"], arrow["level"], found.code) == ("warning", "info", 0)
    assert "not installed: onnxruntime, opencv-python-headless; needed by the" in infer["text"]
    assert arrow["text"] == "the extra arrow: not installed: pyarrow"
    assert infer["mend"] == f"{python} -m pip install 'dselements[infer]'"
    assert arrow["mend"] == f"{python} -m pip install 'dselements[arrow]'"


def test_an_extra_that_cannot_be_imported_or_is_old(env: Env, tmp_path: Path) -> None:
    package(tmp_path / "a", "onnx", "raise ImportError('libGL.so.1: cannot open')", version="1.2")
    package(tmp_path / "a", "pyarrow", "", version="3.0")
    env["PYTHONPATH"] = str(tmp_path / "a")
    found = doctor("extra", env=env)
    assert "onnx: ImportError: libGL.so.1" in found.one("extra", "models")["text"]
    assert "too old: pyarrow 3.0 is not >=14" in found.one("extra", "arrow")["text"]


def test_broken_packages_of_others(env: Env, tmp_path: Path) -> None:
    site = tmp_path / "site"
    package(site, "plantedbad", "import a_module_that_is_nowhere\n", "plantedbad:Gate")
    package(site, "plantedcrash", "import os; os.abort()\n", "plantedcrash:Gate")
    package(site, "plantedgood", ELEMENT, "plantedgood:Gate")
    env["PYTHONPATH"] = str(site)
    found = doctor("element", env=env)
    assert found.code == 1
    bad = found.one("element", "plantedbad = plantedbad:Gate")
    assert bad["level"] == "error"
    assert "of plantedbad 0.2.0, cannot be loaded: ModuleNotFoundError" in bad["text"]
    assert f"({site}/plantedbad.py:1)" in bad["text"]
    assert bad["mend"].endswith("pip uninstall plantedbad")
    crash = found.one("element", "plantedcrash = plantedcrash:Gate")
    assert (crash["level"], "SIGABRT" in crash["text"]) == ("error", True)
    good = found.one("element", "plantedgood = plantedgood:Gate")
    assert (good["level"], good["text"]) == ("ok", "plantedgood 0.2.0: plantedgate")
    assert found.one("element", "dselements = dselements.elements")["level"] == "ok"


def gi_without_overrides(folder: Path) -> None:
    """The system's PyGObject, but for what python3-gst-1.0 adds."""
    (folder / "gi" / "overrides").mkdir(parents=True)
    for entry in SYSTEM.iterdir():
        if entry.name in ("cairo",) or entry.name.startswith("pycairo"):
            (folder / entry.name).symlink_to(entry)
    for entry in (SYSTEM / "gi").iterdir():
        if entry.name not in ("overrides", "__pycache__"):
            (folder / "gi" / entry.name).symlink_to(entry)
    for entry in (SYSTEM / "gi" / "overrides").iterdir():
        if not entry.name.startswith(("Gst", "_gi_gst", "__pycache__")):
            (folder / "gi" / "overrides" / entry.name).symlink_to(entry)


def test_missing_overrides(env: Env, tmp_path: Path) -> None:
    gi_without_overrides(tmp_path / "gi")
    path = without(tmp_path / "site", "nothing")
    env["PYTHONPATH"] = f"{tmp_path / 'gi'}:{path}"
    found = doctor("gi", "gst-overrides", env=env, python=str(bare_venv(tmp_path / "venv")))
    assert found.one("gi")["level"] == "ok"
    finding = found.one("gst-overrides")
    assert (found.code, finding["level"]) == (1, "error")
    assert finding["mend"] == "sudo apt install -y python3-gst-1.0"


def test_it_runs_without_gi_numpy_and_the_native_module(env: Env, tmp_path: Path) -> None:
    without(tmp_path / "site", "numpy", "__editable__")
    tree = tmp_path / "tree" / "dselements"
    shutil.copytree(ROOT / "src" / "dselements", tree, ignore=shutil.ignore_patterns("*.so"))
    env["PYTHONPATH"] = f"{tmp_path / 'tree'}:{tmp_path / 'site'}"
    python = str(bare_venv(tmp_path / "venv"))
    found = doctor(env=env, python=python, options=("--skip", "extra"))
    assert found.code == 1
    assert found.all("check") == []
    for id in ("numpy", "native-module", "gi", "element", "nvds-library"):
        assert found.one(id)["level"] == "error", id
        assert found.one(id)["mend"], id
    assert found.one("numpy")["mend"].endswith("-m pip install -U 'numpy>=1.24'")
    assert "/usr/bin/python3 can" in found.one("gi")["text"]
    assert found.one("gstreamer-version")["level"] == "ok"  # by gst-inspect-1.0
