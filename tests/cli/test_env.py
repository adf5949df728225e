"""``dselements env``, ``version`` and the help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dselements.cli.env import env_lines, plugin_dir, refresh


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dselements", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_paths_come_first_and_once() -> None:
    bin_dir = str(Path(sys.prefix) / "bin")
    lines = env_lines({"PATH": f"/usr/bin:{bin_dir}:/bin", "GST_PLUGIN_PATH": "/x"})
    assert lines == [
        f"export GST_PLUGIN_PATH={plugin_dir()}:/x",
        f"export PATH={bin_dir}:/usr/bin:/bin",
    ]
    assert env_lines({})[0] == f"export GST_PLUGIN_PATH={plugin_dir()}"


def test_paths_with_spaces_are_quoted() -> None:
    assert env_lines({"GST_PLUGIN_PATH": "/a b;c"})[0].endswith(":/a b;c'")


def test_the_plugin_folder_has_the_one_file() -> None:
    assert [p.name for p in (plugin_dir() / "python").glob("*.py")] == ["dselements_plugin.py"]


def test_a_shell_gets_the_elements(tmp_path: Path) -> None:
    script = (
        f'eval "$({sys.executable} -m dselements env)"; '
        "gst-inspect-1.0 dsinfer && gst-inspect-1.0 dsmux && gst-inspect-1.0 dsosd"
    )
    environ = {k: v for k, v in os.environ.items() if k != "GST_PLUGIN_PATH"}
    environ["GST_REGISTRY"] = str(tmp_path / "r.bin")
    done = subprocess.run(
        ["bash", "-c", script], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for text in ("config-file-path", "batched-push-timeout", "display-bbox"):
        assert text in done.stdout


def test_refresh_touches_the_folder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = plugin_dir() / "python"
    os.utime(folder, (1, 1))
    assert refresh() is True
    assert folder.stat().st_mtime > 1000
    assert refresh() is False
    assert refresh(force=True) is True


def test_version_names_what_is_used() -> None:
    done = command("version")
    assert done.returncode == 0
    for text in ("dselements 0.", "Python 3.", "GStreamer 1.", "libnvds_meta /"):
        assert text in done.stdout


def test_help_lists_the_commands() -> None:
    done = command("--help")
    for text in ("demo", "env", "version"):
        assert text in done.stdout
