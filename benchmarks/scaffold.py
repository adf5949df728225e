"""Seconds from ``dselements new`` to passed tests, and of ``dselements build-plugin``.

Needs setuptools and, to compile, Cython in this environment; nothing is installed into it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAME = "acme-speedgate"


def timed(what: str, arguments: list[str], folder: Path, **env: str) -> float:
    """Run this Python with arguments; prints and returns the seconds."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    taken = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{what} failed:\n{done.stdout}{done.stderr}")
    print(f"{what:<44} {taken:6.2f} s")
    return taken


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="dselements-scaffold-") as text:
        folder = Path(text)
        package, site = folder / NAME, str(folder / "site")
        fresh = {"PYTHONPATH": site, "GST_REGISTRY": str(folder / "registry.bin")}
        pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index"]
        total = timed("dselements new", ["-m", "dselements", "new", NAME], folder)
        total += timed(
            "pip install",
            [*pip, "--no-deps", "--no-build-isolation", "--target", site, str(package)],
            folder,
        )
        total += timed("pytest", ["-m", "pytest", "-q"], package, **fresh)
        print(f"{'new to passed tests':<44} {total:6.2f} s\n")
        source = f"{NAME}/src/acme_speedgate"
        for option in ("--cython", "--no-cython"):
            output = f"libgstacme{option.removeprefix('--').replace('-', '')}.so"
            timed(
                f"dselements build-plugin {option}, checked",
                ["-m", "dselements", "build-plugin", source, "-o", output, option],
                folder,
            )


if __name__ == "__main__":
    main()
