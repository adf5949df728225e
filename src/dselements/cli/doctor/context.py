"""What several checks need to know, looked up once and only if asked for."""

from __future__ import annotations

import os
import platform
import re
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

from ...entry_group import installed
from ..env import env_values
from .probe import Outcome, each, run, script

__all__ = ["LOADER_FILE", "Context", "paths"]

LOADER_FILE = "libgstpython.so"
NVIDIA_ELEMENTS = ("nvstreammux", "nvinfer", "nvvideoconvert", "nvdsosd", "nvtracker")


def paths(value: str | None) -> list[Path]:
    """The folders of a value like PATH's."""
    return [Path(part).expanduser() for part in (value or "").split(os.pathsep) if part]


class Context:
    """One run of the doctor.

    :param scratch: a folder of this run. GStreamer works there on a copy of the registry cache,
        so that looking changes nothing.
    """

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.environ = dict(os.environ)

    @property
    def registry(self) -> Path:
        """GStreamer's registry cache, which need not exist."""
        chosen = self.environ.get("GST_REGISTRY_1_0") or self.environ.get("GST_REGISTRY")
        if chosen:
            return Path(chosen)
        base = self.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(base) / "gstreamer-1.0" / f"registry.{platform.machine()}.bin"

    @cached_property
    def wanted_env(self) -> dict[str, str]:
        """The environment as ``dselements env`` sets it, with a copy of the registry cache."""
        copy = self.scratch / "registry.bin"
        if self.registry.is_file() and not copy.exists():
            shutil.copyfile(self.registry, copy)
        rest = {k: v for k, v in self.environ.items() if k != "GST_REGISTRY_1_0"}
        return {**rest, **env_values(self.environ), "GST_REGISTRY": str(copy)}

    def inspect(self, *arguments: str) -> Outcome:
        """gst-inspect-1.0 in the wanted environment."""
        return run(["gst-inspect-1.0", *arguments], self.wanted_env)

    @cached_property
    def has_inspect(self) -> bool:
        """gst-inspect-1.0 is on PATH."""
        return shutil.which("gst-inspect-1.0") is not None

    @cached_property
    def features(self) -> frozenset[str]:
        """Names of all elements that GStreamer knows."""
        if not self.has_inspect:
            return frozenset()
        lines = self.inspect().out.splitlines()
        found = (re.match(r"^\s*\S+:\s+(\S+):\s", line) for line in lines)
        return frozenset(match[1] for match in found if match)

    @cached_property
    def blacklist(self) -> list[str]:
        """File names of blacklisted plugins."""
        lines = self.inspect("-b").out.splitlines() if self.has_inspect else []
        return [line.strip() for line in lines if line.startswith(" ") and ".so" in line]

    def plugin_file(self, name: str) -> Path | None:
        """The file of a plugin that GStreamer knows."""
        if not self.has_inspect:
            return None
        done = self.inspect(name)
        match = re.search(r"^\s*Filename\s+(\S.*?)\s*$", done.out, re.MULTILINE)
        return Path(match[1]) if done.code == 0 and match and match[1] != "(null)" else None

    @cached_property
    def loader(self) -> Path | None:
        """The loader that GStreamer knows."""
        return self.plugin_file("python")

    @cached_property
    def plugin_folders(self) -> list[Path]:
        """Where GStreamer searches plugins, in its order."""
        env = self.environ
        found = paths(env.get("GST_PLUGIN_PATH_1_0") or env.get("GST_PLUGIN_PATH"))
        system = env.get("GST_PLUGIN_SYSTEM_PATH_1_0") or env.get("GST_PLUGIN_SYSTEM_PATH")
        if system:
            return found + paths(system)
        found.append(Path.home() / ".local/share/gstreamer-1.0/plugins")
        core = self.plugin_file("coreelements")
        return [*found, *([core.parent] if core else [])]

    @cached_property
    def loader_on_disk(self) -> Path | None:
        """The loader's file, whether GStreamer could load it or not."""
        there = (folder / LOADER_FILE for folder in self.plugin_folders)
        return self.loader or next((path for path in there if path.exists()), None)

    @cached_property
    def gi(self) -> dict[str, Any]:
        """What ``probe_gi`` found: gi, GStreamer, overrides; or ``error``."""
        probed = script("probe_gi", env=self.wanted_env)
        return probed.records[0] if probed.records else {"error": probed.failure or "no answer"}

    @cached_property
    def elements(self) -> dict[str, dict[str, Any]]:
        """What ``probe_elements`` found for each entry point."""
        keys = [f"{entry.name} = {entry.value}" for entry in installed()]
        return each("probe_elements", list(dict.fromkeys(keys)), self.wanted_env)

    @cached_property
    def nvds(self) -> dict[str, Any]:
        """What ``probe_nvds`` found; ``failure`` says how it ended if not well."""
        probed = script("probe_nvds", *NVIDIA_ELEMENTS, env=self.wanted_env)
        found: dict[str, Any] = {"failure": probed.failure}
        for record in probed.records:
            found.update(record)
        return found
