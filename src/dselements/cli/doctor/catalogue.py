"""Every id that a finding can have. ``docs/doctor.md`` has the same table; a test compares them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CATALOGUE", "Entry", "markdown"]

APT = "sudo apt install -y"


class Entry(NamedTuple):
    """What a finding id stands for."""

    group: str
    meaning: str
    mend: str
    """What to do when it is not well; the finding itself has the exact command."""


CATALOGUE: dict[str, Entry] = {
    "python": Entry("Python", "Which interpreter this is; 3.10 to 3.13 are tested", ""),
    "numpy": Entry("Python", "numpy can be imported and is new enough", "pip install"),
    "msgspec": Entry("Python", "msgspec can be imported and is new enough", "pip install"),
    "native-module": Entry(
        "Python",
        "The compiled module of dselements can be imported by this interpreter",
        "install dselements again",
    ),
    "extra": Entry(
        "Python",
        "The libraries of an optional extra are installed, new enough and can be imported",
        "pip install 'dselements[NAME]'",
    ),
    "pyds": Entry(
        "Python",
        "`import pyds` is NVIDIA's module or nothing, not the unrelated package of that name",
        "pip uninstall pyds",
    ),
    "gstreamer-tools": Entry(
        "GStreamer", "gst-launch-1.0 and gst-inspect-1.0 are on PATH", f"{APT} gstreamer1.0-tools"
    ),
    "gstreamer-version": Entry(
        "GStreamer", "GStreamer is one of 1.20 to 1.28", "use a supported distribution"
    ),
    "gi": Entry(
        "GStreamer",
        "PyGObject and GStreamer's typelibs can be imported by this interpreter",
        f"{APT} python3-gi gir1.2-gst-plugins-base-1.0; an environment with system packages",
    ),
    "gst-overrides": Entry(
        "GStreamer",
        "GStreamer's Python overrides (buffer.map() as context, structures) are there",
        f"{APT} python3-gst-1.0",
    ),
    "gst-plugins": Entry(
        "GStreamer",
        "Decoders, encoders and converters that the demo and most pipelines use are installed",
        f"{APT} gstreamer1.0-libav and others",
    ),
    "osd": Entry("GStreamer", "pycairo and a font are there for dsosd", f"{APT} python3-cairo"),
    "loader-plugin": Entry(
        "Loader",
        "GStreamer finds the gst-python loader, which finds elements for gst-launch-1.0",
        f"{APT} gstreamer1.0-python3-plugin-loader",
    ),
    "loader-starts": Entry(
        "Loader",
        "The loader starts its Python, and PyGObject in it",
        f"{APT} libpython3-dev (Debian 13), or the package that the message names",
    ),
    "loader-libpython": Entry(
        "Loader",
        "The Python that the loader embeds has the version of this interpreter",
        "make the environment anew from /usr/bin/python3",
    ),
    "loader-python": Entry(
        "Loader",
        "The environment that `python3` on PATH belongs to, which the loader takes, is this one",
        'eval "$(dselements env)"',
    ),
    "plugin-path": Entry(
        "Loader", "GST_PLUGIN_PATH has the folder of dselements", 'eval "$(dselements env)"'
    ),
    "registry-file": Entry(
        "Registry", "The registry cache can be written, its path and age", "mend its permissions"
    ),
    "registry-stale": Entry(
        "Registry",
        "GStreamer knows every installed element, with what its cache holds",
        'eval "$(dselements env --refresh)"',
    ),
    "registry-blacklist": Entry(
        "Registry",
        "No plugin file is blacklisted (it crashed or could not be loaded when scanned)",
        "delete the registry cache after mending the plugin",
    ),
    "element": Entry(
        "Elements",
        "What an installed package offers in the group dselements.elements can be loaded",
        "mend, update or uninstall that package",
    ),
    "nvds-library": Entry(
        "NVIDIA metadata",
        "libnvds_meta and libnvdsgst_meta are found and can be opened; from where",
        "pip install --no-deps nvidia-deepstream-videodecode-cu13",
    ),
    "nvds-layout": Entry(
        "NVIDIA metadata",
        "The library's structures are of a known SDK family",
        "use a library of DeepStream 6.x to 9.x; report the sizes",
    ),
    "nvds-copies": Entry(
        "NVIDIA metadata",
        "No other copy of libnvds_meta is where the linker or GStreamer's plugins find it",
        "let DSELEMENTS_NVDS_LIB_DIR name the one folder",
    ),
    "nvds-process": Entry(
        "NVIDIA metadata",
        "With all elements loaded, one copy of libnvds_meta is in the process",
        "let all packages use one folder",
    ),
    "gpu": Entry("GPU", "An NVIDIA GPU and its driver", "install NVIDIA's driver"),
    "cuda": Entry("GPU", "CUDA's driver library can be loaded and started", "see NVIDIA's driver"),
    "deepstream": Entry("GPU", "The DeepStream SDK in /opt/nvidia, and its version", ""),
    "nvmm-elements": Entry(
        "GPU", "DeepStream's elements nvvideoconvert, nvv4l2decoder and nvstreammux", ""
    ),
    "cache-space": Entry(
        "Machine", "Free space for the demo's detector and clips", "set DSELEMENTS_CACHE"
    ),
    "shared-memory": Entry(
        "Machine", "The size of /dev/shm, which worker processes use", "docker run --shm-size=1g"
    ),
    "check": Entry(
        "Doctor", "A check could not be made: a fault of this command", "please report it"
    ),
}


def markdown() -> str:
    """The table of ``docs/doctor.md``."""
    lines = ["| id | what is checked | mend |", "|---|---|---|"]
    lines += [f"| `{id}` | {e.meaning} | {e.mend} |" for id, e in CATALOGUE.items()]
    return "\n".join(lines)
