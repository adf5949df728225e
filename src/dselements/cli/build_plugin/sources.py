"""From files and folders to the modules of a plugin."""

from __future__ import annotations

import ast
import keyword
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import BuildError

__all__ = ["SourceModule", "collect", "first_line"]


@dataclass(frozen=True)
class SourceModule:
    """One Python file and the name it is imported by."""

    name: str
    path: Path
    shown: str
    """File name in tracebacks."""

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def init_name(self) -> str:
        """The last part of the name, as in the C function ``PyInit_…``."""
        return self.name.rpartition(".")[2]

    @property
    def identifier(self) -> str:
        """The name as a part of a C identifier, another one for each module."""
        return self.name.replace("_", "_1").replace(".", "_2")


def collect(sources: tuple[Path, ...], plugin: str) -> list[SourceModule]:
    """The modules of a plugin, packages before what is in them.

    One file becomes a module inside a package named after the plugin, so that files of one name
    in two plugins do not clash. Several files and packages keep their names: they import each
    other by them.

    :raises BuildError: for what is missing, no Python, cannot be imported, or is named twice.
    """
    modules: list[SourceModule] = []
    for source in sources:
        source = Path(source).absolute()
        if source.is_dir():
            modules += _package(source)
        elif source.is_file() and source.suffix == ".py":
            if source.name == "__init__.py":
                raise BuildError(f"{source} is part of a package", hint=f"build {source.parent}")
            modules.append(SourceModule(source.stem, source, source.name))
        else:
            raise BuildError(f"{source} is neither a .py file nor the folder of a package")
    if len(modules) == 1 and not modules[0].is_package:
        only = modules[0]
        home = f"libgst{plugin}".replace("-", "_")
        modules = [SourceModule(f"{home}.{only.name}", only.path, only.shown)]
    seen: dict[str, Path] = {}
    for module in modules:
        _check_name(module)
        if seen.setdefault(module.name, module.path) is not module.path:
            raise BuildError(
                f"{seen[module.name]} and {module.path} are both the module {module.name}"
            )
        _check_syntax(module)
    return modules


def _package(folder: Path) -> Iterator[SourceModule]:
    if not (folder / "__init__.py").is_file():
        raise BuildError(f"{folder} is no package: it has no __init__.py")
    files = sorted(folder.rglob("*.py"), key=lambda p: (len(p.parts), p.name != "__init__.py", p))
    for path in files:
        parts = list(path.relative_to(folder.parent).with_suffix("").parts)
        shown = str(path.relative_to(folder.parent))
        if parts[-1] == "__main__":
            continue  # it is there to be run, not imported
        if not all(
            (folder.parent / Path(*parts[:i]) / "__init__.py").is_file()
            for i in range(1, len(parts))
        ):
            raise BuildError(f"{path} lies in a folder without __init__.py")
        yield SourceModule(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path, shown)


def _check_name(module: SourceModule) -> None:
    for part in module.name.split("."):
        if not part.isidentifier() or keyword.iskeyword(part) or not part.isascii():
            raise BuildError(
                f"{module.path}: {part!r} cannot name a module", hint="rename the file"
            )
    top = module.name.partition(".")[0]
    if top in sys.stdlib_module_names or top in ("dselements", "gi"):
        raise BuildError(
            f"{module.path}: a module {top!r} would take the place of Python's or dselements' own",
            hint="rename the file",
        )


def _check_syntax(module: SourceModule) -> None:
    try:
        ast.parse(module.path.read_bytes(), str(module.path))
    except (SyntaxError, ValueError) as error:
        raise BuildError(f"{module.path} is no Python: {error}") from error
    except OSError as error:
        raise BuildError(f"{module.path} cannot be read: {error.strerror}") from error


def first_line(modules: list[SourceModule]) -> str:
    """First line of the first docstring among the modules; empty if there is none."""
    for module in modules:
        doc = ast.get_docstring(ast.parse(module.path.read_bytes()))
        if doc:
            return doc.splitlines()[0].strip()
    return ""
