"""Builds a plugin: modules to C, C to objects, objects to one shared library."""

from __future__ import annotations

import marshal
import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ...errors import BuildError
from .settings import LICENSES, BuildSettings
from .sources import SourceModule, collect, first_line
from .toolchain import PYTHON_VERSION, TIMEOUT_S, Toolchain, find_toolchain, need_cython

__all__ = ["Result", "build"]

FLAGS = ("-fPIC", "-fvisibility=hidden", "-g0", "-fno-strict-overflow", "-fwrapv", "-w")


@dataclass(frozen=True)
class Result:
    """What was built."""

    output: Path
    name: str
    modules: tuple[str, ...]
    python: str
    """Version of CPython that it is for, as ``3.11``."""


def build(settings: BuildSettings, check: Callable[[Path], object] | None = None) -> Result:
    """Build a plugin for the Python that runs this.

    A file that is there already is replaced in one step, so that GStreamer sees the old or the
    new one.

    :param check: called with the new file before it takes its place; it stays away if that raises.
    :raises BuildError: if a source, the compiler or a library is not as needed.
    :raises MissingExtraError: if Cython is needed and not installed.
    """
    modules = collect(settings.sources, settings.name)
    if settings.cython:
        need_cython()
    tools = find_toolchain()
    with tempfile.TemporaryDirectory(prefix="dselements-build-") as text:
        folder = Path(text)
        objects = []
        level = f"-O{settings.optimize}"
        if settings.cython:
            for module, c_file in zip(modules, _to_c(modules, folder), strict=True):
                objects.append(c_file.with_suffix(".o"))
                rename = f"-DPyInit_{module.init_name}={_init_function(module)}"
                package = "-DPyInit___init__=PyInit_package_" + module.identifier
                tools.compile(c_file, objects[-1], level, *FLAGS, rename, package)
        shim = folder / "plugin.c"
        shim.write_text(_head(settings, modules, tools) + _shim(), encoding="utf-8")
        objects.append(folder / "plugin.o")
        tools.compile(shim, objects[-1], level, *FLAGS)
        made = folder / settings.output.name
        tools.link(objects, made)
        if check is not None:
            check(made)
        _put(made, settings.output)
    return Result(settings.output, settings.name, tuple(m.name for m in modules), PYTHON_VERSION)


def _put(made: Path, output: Path) -> None:
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=output.parent, prefix=f".{output.name}.", delete=False
        ) as near:
            pass
        try:
            shutil.copyfile(made, near.name)
            os.chmod(near.name, 0o755)
            os.replace(near.name, output)
        except OSError:
            os.unlink(near.name)
            raise
    except OSError as error:
        raise BuildError(f"{output} cannot be written: {error.strerror}") from error


def _init_function(module: SourceModule) -> str:
    return f"PyInit_of_{module.identifier}"


def _shim() -> str:
    return (files(__package__) / "shim.c").read_text(encoding="utf-8")


_CYTHON = """
import sys
from Cython.Compiler.Main import CompilationOptions, compile_single, default_options

directives = {"binding": True, "annotation_typing": False, "always_allow_keywords": True}
for source, target, name in zip(*[iter(sys.argv[1:])] * 3):
    options = CompilationOptions(
        default_options, output_file=target, language_level=3, compiler_directives=directives
    )
    if compile_single(source, options, full_module_name=name).num_errors:
        sys.exit(1)
"""
"""Annotations stay what Python makes of them: hints, not C types."""


def _to_c(modules: list[SourceModule], folder: Path) -> list[Path]:
    """Run Cython in a process of its own, where nothing else is imported."""
    # The path that it is given is the file name in tracebacks, and is also looked at.
    copies = folder / "sources"
    targets = []
    arguments = []
    for number, module in enumerate(modules):
        copy = copies / module.shown
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module.path, copy)
        targets.append(folder / f"m{number}.c")
        arguments += [module.shown, str(targets[-1]), module.name]
    done = subprocess.run(
        [sys.executable, "-c", _CYTHON, *arguments],
        cwd=copies,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(
            f"Cython failed:\n{(done.stderr + done.stdout).strip()[-4000:]}",
            hint="--no-cython embeds the bytecode instead",
        )
    return targets


def _quoted(text: str) -> str:
    """A C string of UTF-8 bytes; no trigraph, no escape that swallows the next character."""
    safe = {
        ord(c)
        for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 "
        "!#$%&'()*+,-./:;<=>@[]^_{|}~"
    }
    return '"' + "".join(chr(b) if b in safe else f"\\{b:03o}" for b in text.encode()) + '"'


def _sites() -> list[str]:
    folders = [*site.getsitepackages(), *filter(None, [site.getusersitepackages()])]
    return [f for f in dict.fromkeys(folders) if Path(f).is_dir()]


def _head(settings: BuildSettings, modules: list[SourceModule], tools: Toolchain) -> str:
    description = settings.description or first_line(modules)
    description = description or f"Elements of {', '.join(m.shown for m in modules[:3])}"
    about = {
        "PLUGIN_NAME": settings.name,
        # Where gst-inspect-1.0 shows it: it is the one thing that ties the file to a machine.
        "DESCRIPTION": f"{description} [CPython {PYTHON_VERSION}]",
        "VERSION": settings.version,
        "LICENSE": LICENSES[settings.license],
        "PACKAGE": settings.package or settings.name,
        "ORIGIN": settings.origin,
        "PYTHON_VERSION": PYTHON_VERSION,
        "LIBPYTHON": tools.libpython.name,
        "EXECUTABLE": sys.executable,
    }
    lines = [f"#define {name} {_quoted(text)}" for name, text in about.items()]
    lines.append(f"#define GET_DESC {settings.symbol}")
    lines.append(f"#define MODULES {' '.join(_table(settings, modules))}")
    return "\n".join(lines) + "\n\n"


def _table(settings: BuildSettings, modules: list[SourceModule]) -> list[str]:
    parts, rows = [], []
    for number, module in enumerate(modules):
        row = f"{_quoted(module.name)}, {int(module.is_package)}, {_quoted(module.shown)}"
        if settings.cython:
            parts.append(f"extern PyObject *{_init_function(module)}(void);")
            rows.append(f"{{{row}, {_init_function(module)}, NULL, 0}},")
            continue
        code = marshal.dumps(
            compile(module.path.read_bytes(), module.shown, "exec", dont_inherit=True)
        )
        parts.append(
            f"static const unsigned char code_{number}[] = {{{','.join(map(str, code))}}};"
        )
        rows.append(f"{{{row}, NULL, code_{number}, {len(code)}}},")
    sites = "".join(f"{_quoted(path)}, " for path in _sites())
    return [
        *parts,
        f"static const char *const sites[] = {{{sites}NULL}};",
        f"static const Module modules[] = {{{' '.join(rows)} {{NULL, 0, NULL, NULL, NULL, 0}}}};",
    ]
