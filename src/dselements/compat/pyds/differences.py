"""What works otherwise than in pyds 1.2.0, by name; the documentation's table is made of it."""

from __future__ import annotations

__all__ = ["DIFFERENCES"]

_REMOVE = "a second removal raises StaleMetadataError; a meta of another holder is refused"
_ADD = "a second addition, and a meta of another batch, are refused"
_FREED = "the structure is freed if it is given to no meta"
_POINTER = "takes what pyds takes; an address that cannot be read is refused"
_COPY = "keeps the order and the parents of objects"

DIFFERENCES: dict[str, str] = {
    "GList": "read once when the list is asked for: next passes over what was removed meanwhile",
    "gst_buffer_get_nvds_batch_meta": "an address that is no GstBuffer raises MetadataValueError; "
    "a Gst.Buffer may be passed itself",
    "get_nvds_buf_surface": "system memory only, for NVMM it raises SurfaceError; read-only where "
    "the buffer is shared, as in a pad probe",
    "get_nvds_buf_surface_gpu": "raises SurfaceError, naming what gives GPU memory to PyTorch and "
    "CuPy",
    "unmap_nvds_buf_surface": "does nothing: the view unmaps itself when it is gone",
    "get_string": "gives the text that was there when the pointer was read; an address that "
    "cannot be read is refused",
    "memdup": "copies a structure whole, with its texts, whatever the size says",
    "free_buffer": "a second call, and an address of nobody, are refused",
    "free_gbuffer": "the same as free_buffer",
    "generate_ts_rfc3339": "refuses memory that is smaller than said",
    "nvds_acquire_meta_lock": "waits without stopping other Python threads",
    "nvds_release_meta_lock": "refused in a thread that does not hold the lock",
    "nvds_create_batch_meta": "max_frames_in_batch is set; free it with nvds_destroy_batch_meta()",
    "nvds_destroy_batch_meta": "refused for the batch of a buffer",
    "nvds_batch_meta_copy_func": _COPY,
    "nvds_batch_meta_release_func": "refused for the batch of a buffer",
    "nvds_get_current_metadata_info": "prints the pools' counts",
    "user_copyfunc": "each meta has its own function; it may return a structure",
    "user_releasefunc": "each meta has its own function; what it leaves is freed after it",
    "set_user_copyfunc": "the same as user_copyfunc",
    "set_user_releasefunc": "the same as user_releasefunc",
    "unset_callback_funcs": "not needed: done when Python ends",
    "alloc_nvds_event_msg_meta": _FREED + "; not for DeepStream 6, whose layout is not known",
    "alloc_custom_struct": _FREED,
    "alloc_nvds_vehicle_object": _FREED,
    "alloc_nvds_person_object": _FREED,
    "alloc_nvds_face_object": _FREED,
    "alloc_nvds_event": _FREED,
    "alloc_nvds_payload": _FREED,
    "get_ptr": "raises StaleMetadataError for what is gone",
    "get_detections": _POINTER,
    "get_segmentation_masks": "gives a copy",
    "NvDsBatchMeta": "counts cannot be written, meta_mutex is not shown; misc_batch_info is "
    "int64 [4]; only made by a buffer or nvds_create_batch_meta()",
    "NvDsFrameMeta": "num_obj_meta cannot be written; misc_frame_info is int64 [4]",
    "NvDsObjectMeta": "labels are cut at 127 bytes; NaN is refused; parent is set when added; "
    "misc_obj_info is int64 [4]",
    "NvDsClassifierMeta": "num_labels cannot be written",
    "NvDsDisplayMeta": "more than 16 shapes of a kind are refused; misc_osd_data is int64 [4]",
    "NvDsLabelInfo": "labels are cut at 127 bytes; pResult_label reads as display_text does",
    "NvDsUserMeta": "user_meta_data owns the structure that is assigned to it",
    "NvDsMetaPool": "its lists are not shown, its counts cannot be written",
    "NvDsObjectSignature": "its memory is freed with it",
    "NvOSD_TextParams": "display_text is an int that prints as its text, 0 for none",
    "NvOSD_FontParams": "font_name is an int that prints as its text",
    "NvOSD_MaskParams": "get_mask_array() gives a copy; alloc_mask_array() an array that writes "
    "through",
    "NvOSD_RectParams": "NaN and infinity are refused; rotation_angle of DeepStream 9 is there",
    "NvDsEventMsgMeta": "texts are freed with it; ts takes an address of alloc_buffer()",
    "NvDsVehicleObject": "texts are freed with it",
    "NvDsPersonObject": "texts are freed with it",
    "NvDsFaceObject": "texts are freed with it",
    "NvDsVehicleObjectExt": "texts are freed with it and read as addresses that know their text",
    "NvDsPersonObjectExt": "texts are freed with it and read as addresses that know their text",
    "NvDsFaceObjectWithExt": "texts are freed with it and read as addresses that know their text",
    "CustomDataStruct": "message is freed with it",
    "NvDsTargetMiscDataFrame": "not for DeepStream 6, whose layout is not known",
    "NvDsInferTensorMeta": "a layer that does not exist is refused",
    "get_nvds_LayerInfo": "a layer that does not exist is refused",
    "NvDsObjReid": "the vector is a copy",
    "NvDsMetaType": "an IntEnum with the numbers of the library in use",
    "NvBufSurfaceColorFormat": "an IntEnum without NVBUF_COLOR_FORMAT_LAST, which each SDK "
    "counts anew",
    "NvDsAnalyticsFrameMeta": "cast() raises NotSupportedError: it holds C++ containers",
    "NvDsAnalyticsObjInfo": "cast() raises NotSupportedError: it holds C++ containers",
    **{
        f"nvds_remove_{name}": _REMOVE
        for name in (
            "frame_meta_from_batch", "obj_meta_from_frame", "classifier_meta_from_obj",
            "display_meta_from_frame", "label_info_meta_from_classifier",
            "user_meta_from_batch", "user_meta_from_frame", "user_meta_from_object",
        )
    },
    **{
        f"nvds_add_{name}": _ADD
        for name in (
            "frame_meta_to_batch", "obj_meta_to_frame", "classifier_meta_to_object",
            "display_meta_to_frame", "label_info_meta_to_classifier", "user_meta_to_batch",
            "user_meta_to_frame", "user_meta_to_obj",
        )
    },
}  # fmt: skip
