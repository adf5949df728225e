"""``dselements doctor`` where all is well, its output and its parts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest
from planting import ROOT, doctor

from dselements import __version__
from dselements._core import loader
from dselements.assets.store import default_cache
from dselements.cli.doctor import checks, machine, nvds, probe
from dselements.cli.doctor import loader as loader_checks
from dselements.cli.doctor.catalogue import CATALOGUE, markdown
from dselements.cli.doctor.context import Context
from dselements.cli.doctor.finding import Finding
from dselements.cli.doctor.gpu import sdk_version
from dselements.cli.doctor.python import fits, requirements


def test_a_healthy_machine(env: dict[str, str]) -> None:
    found = doctor(env=env)
    assert [f for f in found.findings if f["level"] == "error"] == []
    assert found.code == 0
    assert {f["id"] for f in found.findings} == set(checks.CHECKS)
    for id in ("native-module", "loader-python", "plugin-path", "registry-stale", "nvds-process"):
        assert found.one(id)["level"] == "ok", found.one(id)
    assert "ds9" in found.one("nvds-layout")["text"]
    assert found.one("gpu")["level"] in ("ok", "info")
    document = found.document
    assert (document["schema"], document["dselements"]) == (1, __version__)
    assert sum(document["counts"].values()) == len(found.findings)
    for finding in found.findings:
        assert list(finding) == ["id", "group", "subject", "level", "text", "mend"]
        assert finding["level"] != "ok" or finding["mend"] == ""


def plain(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dselements", "doctor", *options]
    return subprocess.run(
        command, env=os.environ | env, capture_output=True, text=True, check=False
    )


def test_text_output_and_its_exit_code(tmp_path: Path) -> None:
    done = plain("--only", "python,nvds-library", DSELEMENTS_NVDS_LIB_DIR=str(tmp_path))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "Python"
    assert lines[1].split()[:2] == ["ok", "python"]
    assert lines[3].split()[:2] == ["error", "nvds-library"]
    assert f"          $ unset {loader.ENV}" in lines
    assert lines[-1] == "1 ok, 0 info, 0 warnings, 1 error"


def test_unknown_ids_are_a_usage_error() -> None:
    for option in ("--only", "--skip"):
        done = plain(option, "python,nonsense")
        assert done.returncode == 2
        assert "nonsense" in done.stderr


def test_a_skipped_error_is_no_error(tmp_path: Path) -> None:
    done = plain(
        "--only", "python,nvds-library", "--skip", "nvds-library", DSELEMENTS_NVDS_LIB_DIR="/x"
    )
    assert (done.returncode, "nvds-library" in done.stdout) == (0, False)


def test_nothing_that_may_be_broken_is_imported() -> None:
    code = (
        "import sys, pkgutil, importlib\n"
        "package = importlib.import_module('dselements.cli.doctor')\n"
        "for found in pkgutil.iter_modules(package.__path__, 'dselements.cli.doctor.'):\n"
        "    importlib.import_module(found.name)\n"
        "assert 'dselements.cli.doctor.checks' in sys.modules\n"
        "print([m for m in ('gi', 'numpy', 'msgspec', 'dselements._core') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_page_has_every_id() -> None:
    assert markdown() in (ROOT / "docs" / "doctor.md").read_text()
    assert set(CATALOGUE) == {*checks.CHECKS, "check"}


def test_a_check_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(ctx: Context) -> Iterator[Finding]:
        yield Finding("python", "ok", "first")
        raise RuntimeError("planted")

    monkeypatch.setattr(checks, "CHECKS", {"python": broken, "gpu": checks.CHECKS["gpu"]})
    first, fault, last = checks.examine({"python", "gpu"})
    assert (first.text, last.id) == ("first", "gpu")
    assert (fault.id, fault.level, fault.subject) == ("check", "error", "python")
    assert "RuntimeError: planted" in fault.text


def test_places_are_those_of_the_loader() -> None:
    assert (nvds.ENV, nvds.META) == (loader.ENV, loader.META)
    assert nvds.SYSTEM_DIR == loader.SYSTEM_DIR


def test_the_cache_is_that_of_the_assets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("DSELEMENTS_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")):
        assert machine.cache_folder(dict(os.environ)) == default_cache()
        monkeypatch.setenv(name, value)
        assert machine.cache_folder(dict(os.environ)) == default_cache()
        monkeypatch.delenv(name)


def test_a_full_disk_and_a_small_shm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Usage:
        total, used, free = 64 * 2**20, 1, 60 * 2**20

    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: (Usage.total, 1, Usage.free))
    (shm,) = machine.shared_memory(Context(tmp_path))
    assert (shm.level, shm.mend) == ("warning", "docker run --shm-size=1g")
    assert "64 MiB, 60 MiB free" in shm.text
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: Usage)
    (space,) = machine.cache_space(Context(tmp_path))
    assert (space.level, "500 MiB are needed" in space.text) == ("warning", True)


@pytest.mark.parametrize(
    ("have", "specifier", "expected"),
    [
        ("1.24", ">=1.24", True),
        ("1.23.9", ">=1.24", False),
        ("2.0.0rc1", ">=1.24", True),
        ("3.1", ">=3.1,<4", True),
        ("4.0", ">=3.1,<4", False),
        ("10", ">=9.2", True),
        ("1.0", "", True),
    ],
)
def test_versions_are_compared_by_number(have: str, specifier: str, expected: bool) -> None:
    assert fits(have, specifier) is expected


def test_every_requirement_of_ours_is_understood() -> None:
    found = requirements()
    assert len(found) == len(requires("dselements") or ())
    for name, specifier, _extra in found:
        for part in specifier.split(","):
            assert part.strip().startswith((">=", "<=", "<", ">")), (name, part)


def test_a_command_that_hangs_or_is_missing_is_told() -> None:
    hung = probe.run(["sleep", "60"], timeout_s=0.2)
    assert (hung.code, hung.failure()) == (None, "sleep did not end within 0 s")
    assert "cannot be started" in probe.run(["/nowhere/x"]).failure()
    killed = probe.run(["sh", "-c", "echo why >&2; kill -SEGV $$"])
    assert killed.failure() == "the process crashed (SIGSEGV): why"


def test_the_libpython_of_a_loader(tmp_path: Path) -> None:
    file = tmp_path / "libgstpython.so"
    file.write_bytes(b"\0libpython3.13.so.1.0\0x\0libpython3.13.so\0libpython\0")
    assert loader_checks._libpythons(file) == [(3, 13)]
    assert loader_checks._named(file) == "libpython3.13.so"
    file.write_bytes(b"\0libpython3.11.so.1.0\0x\0")
    assert loader_checks._named(file) == "libpython3.11.so.1.0"


def test_the_version_of_an_sdk(tmp_path: Path) -> None:
    root = tmp_path / "deepstream-7.1"
    root.mkdir()
    assert sdk_version(root) == "7.1"
    (root / "version").write_text("Version: 8.0.0\nGPU Version: 8.0.0\n")
    assert sdk_version(root) == "8.0.0"
