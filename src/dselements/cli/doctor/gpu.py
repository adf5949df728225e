"""Checks of the GPU, its driver, and DeepStream. Without a GPU all of them are informative."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from .context import Context
from .finding import Finding, info, ok, warning
from .probe import run, script

__all__ = ["cuda", "deepstream", "driver", "nvmm"]

DEVICE = Path("/dev/nvidiactl")
SDK = Path("/opt/nvidia/deepstream/deepstream")
NVMM = ("nvvideoconvert", "nvv4l2decoder", "nvstreammux")


def _gpu() -> bool:
    return DEVICE.exists()


def driver(_: Context) -> Iterator[Finding]:
    """nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        if _gpu():
            text = f"{DEVICE} is there, but not nvidia-smi: the driver's tools are not installed"
            yield warning("gpu", text, "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all")
        else:
            yield info("gpu", "no NVIDIA GPU: elements work on system memory")
        return
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = run(query, timeout_s=30)
    lines = [line.strip() for line in done.out.splitlines() if line.strip()]
    if done.code == 0 and lines:
        yield ok("gpu", "; ".join(f"GPU {n}: {line}" for n, line in enumerate(lines)))
    else:
        why = " ".join(lines) or done.failure()
        yield warning("gpu", f"nvidia-smi finds no GPU: {why}", "nvidia-smi")


def cuda(_: Context) -> Iterator[Finding]:
    """libcuda."""
    probed = script("probe_cuda")
    found = probed.records[0] if probed.records else {"error": probed.failure}
    if "error" in found:
        text = f"CUDA's driver cannot be loaded: {found['error']}"
        if _gpu():
            yield warning("cuda", text, "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all")
        else:
            yield info("cuda", text)
    elif found["cuInit"] != 0 or found["devices"] == 0:
        text = (
            f"CUDA {found['version']}: cuInit gives {found['cuInit']}, {found['devices']} devices"
        )
        yield warning("cuda", text, "nvidia-smi") if _gpu() else info("cuda", text)
    else:
        yield ok("cuda", f"CUDA {found['version']}, {found['devices']} device(s)")


def sdk_version(root: Path) -> str:
    """Version of the SDK in a folder, from its file ``version`` or the folder's name."""
    file = root / "version"
    text = file.read_text(errors="replace") if file.is_file() else root.resolve().name
    match = re.search(r"\d+\.\d+(?:\.\d+)?", text)
    return match[0] if match else ""


def deepstream(_: Context) -> Iterator[Finding]:
    """The SDK."""
    if SDK.is_dir():
        yield ok("deepstream", f"DeepStream {sdk_version(SDK) or 'of unknown version'} in {SDK}")
    else:
        yield info("deepstream", f"no DeepStream SDK in {SDK}: metadata works without it")


def nvmm(ctx: Context) -> Iterator[Finding]:
    """Elements that make and convert frames in NVMM."""
    if not ctx.has_inspect:
        return
    lacking = [name for name in NVMM if name not in ctx.features]
    if not lacking:
        yield ok("nvmm-elements", ", ".join(NVMM))
    elif SDK.is_dir() and _gpu():
        text = f"DeepStream is installed, but GStreamer does not know {', '.join(lacking)}"
        mend = f"rm -f {ctx.registry}\ngst-inspect-1.0 {lacking[0]}"
        yield warning("nvmm-elements", text, mend)
    else:
        yield info("nvmm-elements", f"no {', no '.join(lacking)}: frames are in system memory")
