"""Names of pyds that are known and not served, each with its reason."""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import NotSupportedError

__all__ = ["REASONS", "refuse"]

_SURFACE = (
    "surfaces are reached through frame.surface() of dselements.meta (NumPy in system memory, "
    "PyTorch and CuPy in GPU memory)"
)
_ENCODE = "it needs NVIDIA's libnvds_batch_jpegenc; take frame.surface().crop() and an encoder"
_EVENT = "it needs NVIDIA's event library, which is only there with a full DeepStream"
_COPY = (
    "the library's list copies reverse the order and lose parents; copy a whole batch with "
    "nvds_batch_meta_copy_func()"
)
_FRAME_LISTS = "it drives NVIDIA's drawing library directly; hang a NvDsDisplayMeta on the frame"
_360 = "it belongs to the 360-degree sample of early SDKs"

REASONS: dict[str, str] = {
    **dict.fromkeys(
        (
            "NvBufSurface", "NvBufSurfaceCreateParams", "NvBufSurfaceMappedAddr",
            "NvBufSurfaceParams", "NvBufSurfacePlaneParams", "NvBufSurfaceCopy",
            "NvBufSurfaceCreate", "NvBufSurfaceDestroy", "NvBufSurfaceFromFd", "NvBufSurfaceMap",
            "NvBufSurfaceMapEglImage", "NvBufSurfaceMemSet", "NvBufSurfaceSyncForCpu",
            "NvBufSurfaceSyncForDevice", "NvBufSurfaceUnMap", "glist_get_nvds_Surface_Params",
        ),
        _SURFACE,
    ),
    **dict.fromkeys(
        (
            "NvDsObjEncOutParams", "NvDsObjEncUsrArgs", "nvds_obj_enc_create_context",
            "nvds_obj_enc_destroy_context", "nvds_obj_enc_finish", "nvds_obj_enc_process",
        ),
        _ENCODE,
    ),
    **dict.fromkeys(
        (
            "gst_element_send_nvevent_interval_update",
            "gst_element_send_nvevent_new_stream_reset", "configure_source_for_ntp_sync",
        ),
        _EVENT,
    ),
    **dict.fromkeys(
        (
            "nvds_copy_batch_user_meta_list", "nvds_copy_display_meta_list",
            "nvds_copy_frame_meta_list", "nvds_copy_frame_user_meta_list",
            "nvds_copy_obj_meta_list",
        ),
        _COPY,
    ),
    **dict.fromkeys(
        (
            "NvOSD_FrameArrowParams", "NvOSD_FrameCircleParams", "NvOSD_FrameLineParams",
            "NvOSD_FrameRectParams", "NvOSD_FrameTextParams",
        ),
        _FRAME_LISTS,
    ),
    "RectDim": _360,
    "NvDsMeta": "a batch is reached with gst_buffer_get_nvds_batch_meta(); other GstMetas through "
    "Gst.Buffer",
    "gst_buffer_add_nvds_meta": "its C functions cannot come from Python; hang a user meta on the "
    "batch",
    "nvds_clear_meta_list": "it works on the batch's inside; use the other nvds_clear_ functions",
    "nvds_measure_buffer_latency": "it needs NVIDIA's latency library; every dselements element "
    "has a stats property with its times",
    "NvDsOpticalFlowMeta": "no element without NVIDIA's optical flow hardware makes it",
    "NvOFFlowVector": "no element without NVIDIA's optical flow hardware makes it",
    "get_optical_flow_vectors": "no element without NVIDIA's optical flow hardware makes it",
}  # fmt: skip


class _Refused:
    """Stands for a name that is not served; says so when it is used."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def _refuse(self) -> NoReturn:
        raise NotSupportedError(f"pyds.{self.__name__} is not supported: {REASONS[self.__name__]}")

    def __call__(self, *args: Any, **named: Any) -> NoReturn:
        self._refuse()

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        self._refuse()

    def __repr__(self) -> str:
        return f"<pyds.{self.__name__}, not supported>"


def refuse(name: str) -> Any:
    """What ``pyds.name`` gives: using it raises NotSupportedError with the reason."""
    return _Refused(name)
