"""From a GstBuffer to its metadata and pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core import _native, load
from ...errors import MetadataValueError, NoBatchMetaError, SurfaceError
from .metas import NvDsBatchMeta, NvDsFrameMeta

__all__ = [
    "get_nvds_buf_surface",
    "get_nvds_buf_surface_gpu",
    "gst_buffer_get_nvds_batch_meta",
    "unmap_nvds_buf_surface",
]

NVMM_SIZES = (64, 72)  # of NvBufSurface itself, which is what an NVMM buffer holds


def _address(buffer: Any) -> int:
    """``hash(buffer)``, or a Gst.Buffer itself."""
    return buffer if isinstance(buffer, int) else hash(buffer)


def gst_buffer_get_nvds_batch_meta(buffer: int) -> Any:
    """The batch metadata of a buffer; None if it has none.

    :param buffer: ``hash(gst_buffer)``.
    :raises MetadataValueError: if that is no GstBuffer.
    """
    load()
    live = _native.buffer_live_batch(_address(buffer))
    return None if live is None else _native.batch_struct(NvDsBatchMeta, live)


def _frame(address: int, batch_id: int) -> Any:
    batch = gst_buffer_get_nvds_batch_meta(address)
    if batch is None:
        raise NoBatchMetaError("the buffer carries no NvDsBatchMeta")
    node = batch.frame_meta_list
    while node is not None:
        frame = NvDsFrameMeta.cast(node.data)
        if frame.batch_id == batch_id:
            return frame
        node = node.next
    raise MetadataValueError(
        f"no frame of the batch has batch_id {batch_id}", hint="pass frame_meta.batch_id"
    )


def _shape(frame: Any, size: int, frames: int) -> tuple[int, int, int, int]:
    """Height, width, channels and row stride of each of ``frames`` frames in ``size`` bytes."""
    for width, height in (
        (frame.pipeline_width, frame.pipeline_height),
        (frame.source_frame_width, frame.source_frame_height),
    ):
        for channels in (4, 3):
            stride = (channels * width + 3) // 4 * 4  # GStreamer's rows end at 4 bytes
            one = stride * height
            # More room than frames: some were removed from the metadata.
            if one and size % one == 0 and (size == one if frames == 1 else size // one >= frames):
                return height, width, channels, stride
    raise SurfaceError(
        f"the frame's {size // frames} bytes are not RGBA or RGB of the stream's size",
        hint="put videoconvert ! video/x-raw,format=RGBA before the batch is made",
    )


def get_nvds_buf_surface(gst_buffer: int, batchID: int) -> npt.NDArray[np.uint8]:
    """View of a frame's pixels in system memory, uint8 (height, width, 4) RGBA, or 3 for RGB.

    The channels are in the order of the caps: BGRx frames look like RGBA here. Writable where
    the buffer is this element's alone, else read-only: make a copy to draw on. The memory
    stays mapped for as long as the view lives.

    :raises SurfaceError: for NVMM, and for pixels that are neither RGBA nor RGB.
    :raises MetadataValueError: if no frame has this batch_id.
    """
    address = _address(gst_buffer)
    frame = _frame(address, batchID)
    *_times, size, memories = _native.buffer_info(address)
    if memories == 1 and size in NVMM_SIZES:
        raise SurfaceError(
            "this buffer holds NVMM (GPU) memory, which has no NumPy view here",
            hint="put nvvideoconvert ! video/x-raw,format=RGBA before it, or use "
            "frame.surface().rgba() or .torch() in a MetaTransform",
        )
    alone = memories > 1
    memory = _native.MemoryMap(
        address, batchID if alone else 0, _native.buffer_is_writable(address)
    )
    frames = 1 if alone else max(len(_frames(address)), batchID + 1)
    height, width, channels, stride = _shape(frame, memory.size, frames)
    pixels: npt.NDArray[np.uint8] = np.asarray(_Pixels(memory))
    start = 0 if alone else height * stride * batchID
    rows = pixels[start : start + height * stride].reshape(height, stride)
    return rows[:, : width * channels].reshape(height, width, channels)


def _frames(address: int) -> list[int]:
    return _native.list_addresses(gst_buffer_get_nvds_batch_meta(address).frame_meta_list)


class _Pixels:
    """Keeps the memory mapped for NumPy."""

    def __init__(self, memory: _native.MemoryMap) -> None:
        self.memory = memory
        self.__array_interface__ = {
            "shape": (memory.size,),
            "typestr": "|u1",
            "data": (memory.address, not memory.writable),
            "version": 3,
        }


def unmap_nvds_buf_surface(gst_buffer: int, batchID: int) -> None:
    """Does nothing but check its arguments: the view itself unmaps, when it is gone."""
    _frame(_address(gst_buffer), batchID)


def get_nvds_buf_surface_gpu(gst_buffer: int, batchID: int) -> Any:
    """:raises SurfaceError: always, naming what gives GPU memory to PyTorch and CuPy."""
    _frame(_address(gst_buffer), batchID)
    raise SurfaceError(
        "get_nvds_buf_surface_gpu gives a raw GPU address, which nothing here can guard",
        hint="use frame.surface().array in a MetaTransform, which takes part in "
        "__cuda_array_interface__ and DLPack",
    )
