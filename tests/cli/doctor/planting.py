"""Runs ``dselements doctor`` in its own process, in environments with planted faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from dselements.cli.env import env_values

ROOT = Path(__file__).parents[3]
SITE = next(Path(p) for p in sys.path if p.startswith(sys.prefix) and p.endswith("site-packages"))
SYSTEM = Path("/usr/lib/python3/dist-packages")


class Run:
    """The findings of one run."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode in (0, 1), (done.returncode, done.stdout, done.stderr)
        self.code = done.returncode
        self.document: dict[str, Any] = json.loads(done.stdout)
        self.findings: list[dict[str, str]] = self.document["findings"]

    def all(self, id: str) -> list[dict[str, str]]:
        return [finding for finding in self.findings if finding["id"] == id]

    def one(self, id: str, subject: str = "") -> dict[str, str]:
        (found,) = [f for f in self.all(id) if not subject or f["subject"] == subject]
        return found


def base_env(registry: Path) -> dict[str, str]:
    """A shell after ``eval "$(dselements env)"``."""
    drop = ("GST_PLUGIN_SYSTEM_PATH", "DSELEMENTS_NVDS_LIB_DIR", "LD_", "PYTHONPATH", "GST_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    return {**clean, **env_values(clean), "GST_REGISTRY": str(registry)}


def doctor(
    *ids: str, env: dict[str, str], python: str = sys.executable, options: tuple[str, ...] = ()
) -> Run:
    command = [python, "-m", "dselements", "doctor", "--json", *options]
    if ids:
        command += ["--only", ",".join(ids)]
    return Run(
        subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)
    )


def package(folder: Path, name: str, code: str, entry: str = "", version: str = "0.2.0") -> None:
    """An installed package of one module, for PYTHONPATH."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: planted\n"
    )
    (info / "top_level.txt").write_text(f"{name}\n")
    if entry:
        (info / "entry_points.txt").write_text(f"[dselements.elements]\n{name} = {entry}\n")


def without(folder: Path, *hidden: str) -> str:
    """PYTHONPATH on which the test environment's packages are, but for some."""
    folder.mkdir()
    for entry in SITE.iterdir():
        if not entry.name.lower().startswith(hidden):
            (folder / entry.name).symlink_to(entry)
    return f"{folder}{os.pathsep}{ROOT / 'src'}"


def bare_venv(folder: Path, *options: str) -> Path:
    """An environment without packages; returns its interpreter."""
    command = ["/usr/bin/python3", "-m", "venv", "--without-pip", *options, str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "bin" / "python3"


def compile_library(source: str, target: Path, *options: str) -> Path:
    """A shared library from C."""
    file = target.with_suffix(".c")
    file.write_text(source)
    command = ["gcc", "-shared", "-fPIC", "-o", str(target), str(file), *options]
    subprocess.run(command, check=True, capture_output=True)
    return target
