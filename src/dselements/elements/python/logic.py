"""Loads a user's code, and loads it again when its file was saved. No GStreamer here."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import itertools
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ...errors import ConfigError

__all__ = ["Code", "Loaded", "find_target"]

SETTLE_NS = 20_000_000
"""How long a file must have been left alone."""
_versions = itertools.count()


@dataclass
class Loaded:
    """Code that is ready to run."""

    process: Callable[[Any], object]
    target: Any
    """The object whose method ``process`` is; the function itself if it is one."""
    module: ModuleType
    private: bool
    """True if the module was made for this element alone."""


def find_target(module: ModuleType, class_name: str, function: str) -> Any:
    """The class or function that is meant.

    :raises ConfigError: if there is none, or more than one and none was named.
    """
    name = class_name or function
    if name:
        found = getattr(module, name, None)
        if class_name and not isinstance(found, type):
            raise ConfigError(_missing(module, "class", name, _classes(module)))
        if function and (not callable(found) or isinstance(found, type)):
            raise ConfigError(_missing(module, "function", name, _functions(module)))
        return found
    classes = _classes(module)
    if len(classes) == 1:
        return getattr(module, classes[0])
    if not classes and callable(getattr(module, "process", None)):
        return module.process
    raise ConfigError(
        f"{module.__name__}: "
        + (f"which of {', '.join(classes)}?" if classes else "no class with process(), and no "
           "function process"),
        hint="set class or function",
    )  # fmt: skip


def _own(target: Any, name: str) -> Callable[..., Any] | None:
    """A method that the user has written: GStreamer elements have others of these names."""
    method = getattr(target, name, None)
    return method if inspect.ismethod(method) else None


def _classes(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and callable(getattr(value, "process", None))
    ]


def _functions(module: ModuleType) -> list[str]:
    return [n for n, v in vars(module).items()
            if inspect.isfunction(v) and v.__module__ == module.__name__]  # fmt: skip


def _missing(module: ModuleType, kind: str, name: str, known: list[str]) -> str:
    there = f": it has {', '.join(known)}" if known else ""
    return f"{module.__name__} has no {kind} {name!r}{there}"


class Code:
    """A user's module and what is taken of it.

    :param module: path of a ``.py`` file, or a dotted name.
    :param class_name: class in it; empty if it is a function or to be found.
    :param function: function in it; empty likewise.
    :param args: keyword arguments.
    :param make: makes an object of a class and the arguments; calls it when omitted.
    """

    def __init__(
        self,
        module: str,
        class_name: str = "",
        function: str = "",
        args: Mapping[str, Any] | None = None,
        make: Callable[[type[Any], Mapping[str, Any]], Any] | None = None,
    ) -> None:
        self._module, self._class, self._function = module, class_name, function
        self._args = dict(args or {})
        self._make = make or (lambda cls, args: cls(**args))
        self._is_file = module.endswith(".py") or "/" in module
        self.path: Path | None = Path(module).expanduser().resolve() if self._is_file else None
        """The file; known after :meth:`load` for a dotted name."""
        self._stamp: tuple[int, int, int] | None = None

    def load(self) -> Loaded:
        """Import and make it.

        :raises ConfigError: if there is no such module, class or function.
        :raises Exception: whatever the user's code raises while it is imported or made.
        """
        if self._is_file:
            return self._adopt(self._import_file(), private=True)
        try:
            module = importlib.import_module(self._module)
        except ModuleNotFoundError as error:
            if error.name and (self._module + ".").startswith(error.name + "."):
                raise ConfigError(
                    f"there is no module {self._module!r}",
                    hint="check PYTHONPATH, or name a file: module=path/file.py",
                ) from None
            raise
        source = getattr(module, "__file__", None)
        self.path = Path(source) if source else None
        self._stamp = self._look()
        return self._adopt(module, private=False)

    def saved(self) -> bool:
        """True once for each time the file was saved since it was loaded or looked at."""
        stamp = self._look()
        if stamp is None or stamp == self._stamp:
            return False
        if 0 <= time.time_ns() - stamp[0] < SETTLE_NS:
            return False  # it may be half written
        self._stamp = stamp
        return True

    def reload(self, old: Loaded) -> Loaded:
        """Load the file anew, and hand the state over.

        :raises Exception: whatever went wrong; the old one is as it was.
        """
        new = self._adopt(self._import_file(), private=True)
        give, take = _own(old.target, "get_state"), _own(new.target, "set_state")
        if give is not None and take is not None:
            take(give())
        return new

    def _look(self) -> tuple[int, int, int] | None:
        if self.path is None:
            return None
        try:
            found = os.stat(self.path)
        except OSError:
            return None  # being replaced by an editor
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _import_file(self) -> ModuleType:
        path = self.path
        if path is None or not path.is_file():
            raise ConfigError(f"{path or self._module}: no such file", hint="check module")
        self._stamp = self._look()
        # A name of its own: two elements share no globals, and a reload leaves the old one alone.
        name = f"{path.stem}__dspython{next(_versions)}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        module.__dict__["__dspython__"] = True
        sys.modules[name] = module  # dataclasses and pickle look the module up by its name
        folder = str(path.parent)
        added = folder not in sys.path
        if added:
            sys.path.insert(0, folder)  # for what it imports from beside it
        try:
            # Not from the bytecode cache, whose time stamp has whole seconds.
            exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102
        except BaseException:
            sys.modules.pop(name, None)
            raise
        finally:
            if added:
                sys.path.remove(folder)
        return module

    def _adopt(self, module: ModuleType, *, private: bool) -> Loaded:
        try:
            found = find_target(module, self._class, self._function)
            if isinstance(found, type):
                if not callable(getattr(found, "process", None)):
                    raise ConfigError(f"{found.__qualname__} has no method process(batch)")
                target = self._make(found, self._args)
                process: Callable[[Any], object] = target.process
            else:
                target, args = found, self._args

                def process(batch: Any) -> object:
                    return target(batch, **args)

            theirs = getattr(target, "process", target)
            if inspect.iscoroutinefunction(theirs) or inspect.isgeneratorfunction(theirs):
                raise ConfigError(
                    f"{getattr(found, '__qualname__', found)} is a coroutine or generator, which "
                    "nobody runs",
                    hint="write a plain def",
                )
        except BaseException:
            if private:
                sys.modules.pop(module.__name__, None)
            raise
        return Loaded(process, target, module, private)

    @staticmethod
    def forget(loaded: Loaded) -> None:
        """Let go of a module that was made for one element."""
        if loaded.private:
            sys.modules.pop(loaded.module.__name__, None)
