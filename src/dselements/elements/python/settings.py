"""What the user set for dspython, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigError

__all__ = ["PythonSettings"]


@dataclass(frozen=True)
class PythonSettings:
    """Which code is meant, and its arguments."""

    module: str
    """Path of a file, or a dotted name."""
    class_name: str
    function: str
    """One of both at most; empty leaves it to be found."""
    args: Mapping[str, Any]

    @classmethod
    def parse(cls, module: str, class_name: str, function: str, args: Any) -> PythonSettings:
        """Check them together.

        :param args: what the property holds: None or a JSON value.
        :raises ConfigError: naming the property.
        """
        if not module:
            raise ConfigError("module is not set", hint="module=file.py or module=package.module")
        if class_name and function:
            raise ConfigError("class and function are both set", hint="set one of them")
        args = {} if args is None else args
        if not isinstance(args, Mapping):
            raise ConfigError(f"args is {args!r}, not a JSON object", hint="args='{\"a\": 1}'")
        return cls(module, class_name, function, args)
