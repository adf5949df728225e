"""The Python half of plugins that ``dselements build-plugin`` makes.

The C half calls :func:`load` with a dict: ``protocol``, ``name`` and ``filename`` of the plugin,
``modules`` (name, whether it is a package, source file's name), and the functions ``create``,
``execute``, ``bytecode`` and ``add_element``.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..errors import RegistrationError
from .registry import forget_declared, register_hosted

__all__ = ["PROTOCOL", "load"]

PROTOCOL = 1
"""What the dict holds; the C half of a plugin that was built long ago may be of another."""


class _Modules(MetaPathFinder, Loader):
    """Finds and loads the modules inside one plugin."""

    def __init__(self, host: Mapping[str, Any]) -> None:
        self.host = host
        self.filename = str(host["filename"])
        self.packages = {name: package for name, package, _ in host["modules"]}
        self.sources = {name: source for name, _, source in host["modules"]}
        # A single module lives in a package named after the plugin, so that two plugins made of
        # files with one name can be in one process.
        self.parents = {name.rpartition(".")[0] for name in self.packages} - {"", *self.packages}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.packages and name not in self.parents:
            return None
        package = self.packages.get(name, True)
        spec = ModuleSpec(name, self, origin=self.filename, is_package=package)
        spec.has_location = True
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if spec.name in self.parents:
            return None
        made: ModuleType | None = self.host["create"](spec.name, spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name in self.parents:
            return
        code = self.host["bytecode"](name)
        if code is None:
            self.host["execute"](module)
        else:
            exec(marshal.loads(code), module.__dict__)  # noqa: S102 -- the user's own module

    def refuse_taken_names(self) -> None:
        for name in {n.partition(".")[0] for n in (*self.packages, *self.parents)}:
            there = sys.modules.get(name)
            if there is not None and getattr(there, "__file__", None) != self.filename:
                raise RegistrationError(
                    f"the plugin {self.host['name']} brings a Python module {name!r}, but "
                    f"{getattr(there, '__file__', 'a built-in one')} is in this process already",
                    hint="give the file or package another name and build it again",
                )


def load(host: Mapping[str, Any]) -> None:
    """Import the plugin's modules and register every element that they declare.

    :raises RegistrationError: if there is none, or a name is taken; what the modules raise
        passes through.
    """
    if host["protocol"] != PROTOCOL:
        raise RegistrationError(
            f"{host['filename']} speaks protocol {host['protocol']}, this dselements {PROTOCOL}",
            hint="build the plugin again with the installed dselements",
        )
    modules = _Modules(host)
    known = [f for f in sys.meta_path if not _is_same(f, modules)]
    modules.refuse_taken_names()
    # First: what is compiled into the plugin belongs to it, whatever else is installed.
    sys.meta_path[:] = [modules, *known]
    names = frozenset(modules.packages)
    try:
        for name in modules.packages:
            import_module(name)
        register_hosted(str(host["name"]), names, host["add_element"])
    except BaseException:
        forget_declared(names)
        raise


def _is_same(finder: object, modules: _Modules) -> bool:
    """True for the finder of an earlier attempt to load the same file."""
    return isinstance(finder, _Modules) and finder.filename == modules.filename
