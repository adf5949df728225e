"""Writes the files of a new package from the templates."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ... import __version__
from ...errors import ScaffoldError
from .names import Names

__all__ = ["FILES", "write"]

FILES = {
    "pyproject.toml": "pyproject.toml.in",
    "README.md": "README.md.in",
    ".gitignore": "gitignore.in",
    ".github/workflows/ci.yml": "ci.yml.in",
    "src/{package}/__init__.py": "init.py.in",
    "src/{package}/settings.py": "settings.py.in",
    "src/{package}/logic.py": "logic.py.in",
    "src/{package}/element.py": "element.py.in",
    "src/{package}/py.typed": "py.typed.in",
    "tests/test_logic.py": "test_logic.py.in",
    "tests/test_element.py": "test_element.py.in",
    "tests/test_launch.py": "test_launch.py.in",
}
"""Files of a package, and the templates that they are made from."""


def _values(names: Names) -> dict[str, str]:
    return {
        "@@DISTRIBUTION@@": names.distribution,
        "@@PACKAGE@@": names.package,
        "@@ELEMENT@@": names.element,
        "@@CLASS@@": names.cls,
        "@@DSELEMENTS@@": __version__,
    }


def write(names: Names, folder: Path, force: bool = False) -> list[Path]:
    """Write the package into a folder, which is made.

    :param force: write into a folder that has something in it. Files of the package are
        replaced, others stay.
    :returns: what was written.
    :raises ScaffoldError: if the folder is not empty and ``force`` is off, or cannot be written.
    """
    values = _values(names)
    templates = files(__package__) / "template"
    written = []
    try:
        if not force and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ScaffoldError(
                f"{folder} exists already",
                hint="--force writes into it and replaces the files of the same names",
            )
        for target, template in FILES.items():
            text = (templates / template).read_text(encoding="utf-8")
            for mark, value in values.items():
                text = text.replace(mark, value)
            path = folder / target.format(package=names.package)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    except OSError as error:
        raise ScaffoldError(f"{folder} cannot be written: {error.strerror}") from error
    return written
