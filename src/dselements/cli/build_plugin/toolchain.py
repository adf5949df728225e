"""The C compiler, Python's headers and the two libraries that a plugin is linked to."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from ...errors import BuildError, MissingExtraError

__all__ = ["Toolchain", "find_toolchain", "need_cython"]

GSTREAMER = "libgstreamer-1.0.so.0"
PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
DEFAULT_FOLDERS = ("/lib", "/usr/lib", "/usr/local/lib")
TIMEOUT_S = 600


@dataclass(frozen=True)
class Toolchain:
    """What compiles and links a plugin for the running Python."""

    compiler: tuple[str, ...]
    include: Path
    libpython: Path
    gstreamer: Path

    @property
    def run_path(self) -> str | None:
        """Folder of libpython where the dynamic linker does not look by itself."""
        folder = self.libpython.parent
        if str(folder.resolve()).startswith(DEFAULT_FOLDERS):
            return None
        return str(folder)

    def compile(self, source: Path, target: Path, *flags: str) -> None:
        """Compile one C file to an object file; raises BuildError with the compiler's words."""
        self._run("-c", *flags, f"-I{self.include}", "-o", str(target), str(source))

    def link(self, objects: list[Path], target: Path) -> None:
        """Link to a plugin, which is never unloaded: Python keeps pointers into it."""
        run_path = [f"-Wl,-rpath,{self.run_path}"] if self.run_path else []
        self._run(
            "-shared", "-Wl,-z,nodelete", "-Wl,-z,defs", "-Wl,--as-needed", *run_path,
            "-o", str(target), *map(str, objects),
            str(self.gstreamer), str(self.libpython), "-ldl", "-lm", "-lpthread",
        )  # fmt: skip

    def _run(self, *arguments: str) -> None:
        command = [*self.compiler, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        if done.returncode != 0:
            raise BuildError(
                f"the C compiler failed: {shlex.join(command)}\n{done.stderr.strip()[-4000:]}"
            )


def find_toolchain() -> Toolchain:
    """What this machine has for the Python that runs.

    ``CC`` names another compiler.

    :raises BuildError: for what is missing, with the command that installs it.
    """
    compiler = _compiler()
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").is_file():
        raise BuildError(
            f"there is no {include / 'Python.h'}",
            hint=f"sudo apt install python{PYTHON_VERSION}-dev",
        )
    return Toolchain(compiler, include, _libpython(compiler), _gstreamer(compiler))


def _compiler() -> tuple[str, ...]:
    wanted = tuple(shlex.split(os.environ.get("CC", ""))) or ("gcc",)
    if shutil.which(wanted[0]) is None:
        raise BuildError(
            f"there is no C compiler {wanted[0]!r}", hint="sudo apt install gcc libc6-dev"
        )
    return wanted


def _asked(compiler: tuple[str, ...], name: str) -> Path | None:
    """Where the compiler finds a library of this exact file name."""
    done = subprocess.run(
        [*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    )
    path = Path(done.stdout.strip())
    return path if path.is_absolute() and path.is_file() else None


def _libpython(compiler: tuple[str, ...]) -> Path:
    name = sysconfig.get_config_var("INSTSONAME") or ""
    folder = Path(sysconfig.get_config_var("LIBDIR") or "/usr/lib")
    # A Debian python is linked statically, while its libpython is a package of its own.
    if not name.startswith("libpython") or ".so" not in name:
        name = f"libpython{PYTHON_VERSION}.so.1.0"
    for path in (folder / (sysconfig.get_config_var("MULTIARCH") or "") / name, folder / name):
        if path.is_file():
            return path
    found = _asked(compiler, name) if sys.prefix.startswith("/usr") else None
    if found is None and sys.base_prefix == "/usr":
        found = _asked(compiler, name)
    if found is None:
        raise BuildError(
            f"there is no {name}, which a C program needs to run this Python ({sys.base_prefix})",
            hint=f"sudo apt install libpython{PYTHON_VERSION}; a Python built by hand or by pyenv "
            "needs ./configure --enable-shared",
        )
    return found


def _gstreamer(compiler: tuple[str, ...]) -> Path:
    found = _asked(compiler, GSTREAMER)
    if found is None:
        raise BuildError(
            f"the compiler finds no {GSTREAMER}", hint="sudo apt install libgstreamer1.0-0"
        )
    return found


def need_cython() -> None:
    """Raise MissingExtraError unless Cython is installed."""
    try:
        import Cython  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "build-plugin compiles with Cython, which is not installed",
            hint="pip install 'dselements[build]', or --no-cython to embed the bytecode",
        ) from error
