"""Reads GKeyFile (INI) and YAML files into groups of keys that know their line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ...errors import ConfigError


@dataclass(frozen=True)
class Entry:
    """One value as it was written."""

    value: str | tuple[str, ...]
    """Text (INI, YAML scalar), or the items of a YAML list."""
    line: int
    """1-based."""


@dataclass
class Group:
    """``[name]`` and its keys."""

    line: int
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass
class Document:
    """A whole file."""

    path: Path
    groups: dict[str, Group] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def error(self, line: int, message: str, hint: str = "") -> ConfigError:
        """An error that starts with file and line."""
        return ConfigError(f"{self.path}:{line}: {message}", hint=hint)

    def add(self, group: str, key: str, entry: Entry) -> None:
        """Set a key; a second time counts, as in GKeyFile, but is warned about."""
        entries = self.groups[group].entries
        if key in entries:
            self.warnings.append(
                f"{self.path}:{entry.line}: {key} was already set in line "
                f"{entries[key].line}; this line counts"
            )
        entries[key] = entry


def read_document(path: Path) -> Document:
    """Read a file; ``.yml`` and ``.yaml`` are YAML, all else is GKeyFile.

    :raises ConfigError: missing, unreadable or malformed file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such configuration file", hint="check config-file-path"
        ) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text", hint="is it a text file?") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if path.suffix.lower() in (".yml", ".yaml"):
        return _read_yaml(path, text)
    return _read_key_file(path, text)


def _read_key_file(path: Path, text: str) -> Document:
    document = Document(path)
    current: str | None = None
    # Only \n ends a line; str.splitlines would also cut at form feeds and the like.
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            current = line[1:-1].strip()
            if not line.endswith("]") or not current:
                raise document.error(number, f"malformed group header {line!r}", "write [name]")
            document.groups.setdefault(current, Group(number))
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if not equals or not key:
            raise document.error(number, f"neither a group nor key=value: {line!r}")
        if current is None:
            raise document.error(number, f"{key} stands before any group", "start with [property]")
        document.add(current, key, Entry(value.strip(), number))
    return document


def _read_yaml(path: Path, text: str) -> Document:
    document = Document(path)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise document.error(mark.line + 1 if mark else 1, f"not YAML: {problem}") from error
    if root is None:
        return document
    if not isinstance(root, yaml.MappingNode):
        raise document.error(_line(root), "the file must be a mapping of groups")
    for name_node, group_node in root.value:
        name = str(name_node.value)
        document.groups.setdefault(name, Group(_line(name_node)))
        if isinstance(group_node, yaml.ScalarNode) and group_node.value in ("", "null", "~"):
            continue
        if not isinstance(group_node, yaml.MappingNode):
            raise document.error(_line(group_node), f"group {name} must be a mapping of keys")
        for key_node, value_node in group_node.value:
            key = str(key_node.value)
            document.add(name, key, _yaml_entry(document, key, value_node))
    return document


def _yaml_entry(document: Document, key: str, node: Any) -> Entry:
    if isinstance(node, yaml.ScalarNode):
        return Entry(str(node.value).strip(), _line(node))
    if isinstance(node, yaml.SequenceNode) and all(
        isinstance(item, yaml.ScalarNode) for item in node.value
    ):
        return Entry(tuple(str(item.value).strip() for item in node.value), _line(node))
    raise document.error(_line(node), f"{key} must be a value or a list of values")


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1
