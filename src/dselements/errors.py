"""All errors of dselements, made from one table.

Each class is both a :class:`DselementsError` and the builtin a Python user
would catch (``ValueError``, ``OSError`` …). It names the GStreamer error domain
and code that an element posts for it, and a hint that says how to mend it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

__all__ = ["TABLE", "DselementsError", "ErrorRow"]


class DselementsError(Exception):
    """Base of every error that dselements raises on purpose.

    :param message: what is wrong, naming the thing.
    :param hint: how to mend it; the class's own hint when omitted.
    """

    gst_domain: ClassVar[str] = "library"
    gst_code: ClassVar[str] = "FAILED"
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str = "", *args: Any, hint: str | None = None) -> None:
        super().__init__(message, *args)
        self.message = message
        self.hint = self.default_hint if hint is None else hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ErrorRow(NamedTuple):
    """One row of :data:`TABLE`."""

    name: str
    builtin: type[Exception]
    """Builtin that the class also derives from."""
    gst_domain: str
    """``core``, ``library``, ``resource`` or ``stream``."""
    gst_code: str
    """Member of the GStreamer error enum of that domain."""
    hint: str
    doc: str


TABLE: tuple[ErrorRow, ...] = (
    ErrorRow(
        "LibraryNotFoundError",
        OSError,
        "library",
        "INIT",
        "install DeepStream, set DSELEMENTS_NVDS_LIB_DIR, or run: "
        "pip install --no-deps nvidia-deepstream-videodecode-cu13",
        "NVIDIA's libnvds_meta or libnvdsgst_meta could not be found or loaded.",
    ),
    ErrorRow(
        "UnsupportedLayoutError",
        RuntimeError,
        "library",
        "INIT",
        "this SDK's structures are not in the layout table; please report the sizes",
        "The pools' element sizes belong to no known SDK family.",
    ),
    ErrorRow(
        "UnsupportedFieldError",
        AttributeError,
        "library",
        "FAILED",
        "this field needs a newer DeepStream SDK",
        "The field does not exist in the layout of the loaded SDK.",
    ),
    ErrorRow(
        "StaleMetadataError",
        RuntimeError,
        "library",
        "FAILED",
        "use metadata only inside the process() call that received it, and fetch "
        "batch.objects again after a removal",
        "A handle outlived its batch, its object was removed, or its columns were replaced.",
    ),
    ErrorRow(
        "ConcurrentEditError",
        RuntimeError,
        "library",
        "FAILED",
        "another element or probe edits this batch at the same time; put a queue and a tee "
        "copy between them, or edit in one place",
        "The batch changed natively between gather and commit; nothing was written.",
    ),
    ErrorRow(
        "NonFiniteValueError",
        ValueError,
        "stream",
        "FAILED",
        "check for NaN and infinity before writing",
        "A NaN or infinite value was written to a metadata field; names row and column.",
    ),
    ErrorRow(
        "MetadataValueError",
        ValueError,
        "stream",
        "FAILED",
        "",
        "A value does not fit the metadata field it was written to.",
    ),
    ErrorRow(
        "PayloadError",
        ValueError,
        "stream",
        "FORMAT",
        "payloads hold what JSON or msgpack can hold",
        "A user payload cannot be encoded or decoded.",
    ),
    ErrorRow(
        "NoBatchMetaError",
        LookupError,
        "stream",
        "FAILED",
        "put nvstreammux, dsmux or dssynth upstream",
        "The buffer carries no NvDsBatchMeta.",
    ),
    ErrorRow(
        "ConfigError",
        ValueError,
        "resource",
        "SETTINGS",
        "",
        "A configuration file or value is wrong; the message starts with file and line.",
    ),
    ErrorRow(
        "RuleSyntaxError",
        ValueError,
        "resource",
        "SETTINGS",
        "",
        "A filter rule cannot be parsed; the message shows the place with a caret.",
    ),
    ErrorRow(
        "ModelError",
        ValueError,
        "resource",
        "OPEN_READ",
        "",
        "A model file is missing, broken, or has inputs or outputs that do not fit.",
    ),
    ErrorRow(
        "ParserError",
        RuntimeError,
        "library",
        "FAILED",
        "a parser returns boxes [n, 4], scores [n] and class_ids [n]",
        "An output parser raised or returned something that is not detections.",
    ),
    ErrorRow(
        "ProcessResultError",
        TypeError,
        "library",
        "FAILED",
        "return None or True to pass the buffer on, ds.DROP (False) to drop it",
        "process() returned something that means neither.",
    ),
    ErrorRow(
        "MissingExtraError",
        ImportError,
        "library",
        "INIT",
        "",
        "An optional library is not installed; the hint has the pip command.",
    ),
    ErrorRow(
        "NotSupportedError",
        NotImplementedError,
        "library",
        "FAILED",
        "",
        "A name of another API that dselements knows and does not serve; says why.",
    ),
    ErrorRow(
        "SurfaceError",
        RuntimeError,
        "stream",
        "FORMAT",
        "",
        "A frame's pixels cannot be reached: format, memory kind or writability.",
    ),
    ErrorRow(
        "PropertyValueError",
        ValueError,
        "resource",
        "SETTINGS",
        "",
        "A property was given a value outside its declared type or range.",
    ),
    ErrorRow(
        "RegistrationError",
        RuntimeError,
        "core",
        "FAILED",
        "",
        "An element or property cannot be registered with GStreamer.",
    ),
    ErrorRow(
        "PipelineError",
        RuntimeError,
        "core",
        "FAILED",
        "",
        "A pipeline that dselements runs by itself failed.",
    ),
    ErrorRow(
        "HarnessError",
        AssertionError,
        "library",
        "FAILED",
        "",
        "A test harness found that an element does not do what the test expects.",
    ),
    ErrorRow(
        "BuildError",
        RuntimeError,
        "core",
        "FAILED",
        "",
        "A native plugin cannot be built: a source, an option, the compiler or a library.",
    ),
    ErrorRow(
        "ScaffoldError",
        ValueError,
        "core",
        "FAILED",
        "",
        "A package cannot be generated: its name or its folder.",
    ),
    ErrorRow(
        "RecordingError",
        OSError,
        "resource",
        "WRITE",
        "",
        "A recording cannot be opened, read or written: the disk, permissions, a folder.",
    ),
    ErrorRow(
        "RecordingFormatError",
        ValueError,
        "stream",
        "FORMAT",
        "",
        "A file is no recording that this dselements reads; the message names file and line.",
    ),
    ErrorRow(
        "NoRecordError",
        LookupError,
        "stream",
        "FAILED",
        "set on-missing=pass or drop, or replay the video that was recorded",
        "dsreplay finds no recorded frame for one of the video, and on-missing is fail.",
    ),
    ErrorRow(
        "AssetError",
        OSError,
        "resource",
        "NOT_FOUND",
        "",
        "A demo asset (detector, clip) cannot be fetched, converted or read.",
    ),
)
"""All errors; the classes are made of it."""


def _build() -> None:
    for row in TABLE:
        if row.name in globals():
            raise TypeError(f"duplicate error name in the table: {row.name}")
        globals()[row.name] = type(
            row.name,
            (DselementsError, row.builtin),
            {
                "__doc__": row.doc,
                "__module__": __name__,
                "gst_domain": row.gst_domain,
                "gst_code": row.gst_code,
                "default_hint": row.hint,
            },
        )
        __all__.append(row.name)


_build()

if TYPE_CHECKING:  # the same classes, for type checkers; a test compares both

    class LibraryNotFoundError(DselementsError, OSError): ...

    class UnsupportedLayoutError(DselementsError, RuntimeError): ...

    class UnsupportedFieldError(DselementsError, AttributeError): ...

    class StaleMetadataError(DselementsError, RuntimeError): ...

    class ConcurrentEditError(DselementsError, RuntimeError): ...

    class NonFiniteValueError(DselementsError, ValueError): ...

    class MetadataValueError(DselementsError, ValueError): ...

    class PayloadError(DselementsError, ValueError): ...

    class NoBatchMetaError(DselementsError, LookupError): ...

    class ConfigError(DselementsError, ValueError): ...

    class RuleSyntaxError(DselementsError, ValueError): ...

    class ModelError(DselementsError, ValueError): ...

    class ParserError(DselementsError, RuntimeError): ...

    class ProcessResultError(DselementsError, TypeError): ...

    class MissingExtraError(DselementsError, ImportError): ...

    class NotSupportedError(DselementsError, NotImplementedError): ...

    class SurfaceError(DselementsError, RuntimeError): ...

    class PropertyValueError(DselementsError, ValueError): ...

    class RegistrationError(DselementsError, RuntimeError): ...

    class PipelineError(DselementsError, RuntimeError): ...

    class HarnessError(DselementsError, AssertionError): ...

    class BuildError(DselementsError, RuntimeError): ...

    class ScaffoldError(DselementsError, ValueError): ...

    class RecordingError(DselementsError, OSError): ...

    class RecordingFormatError(DselementsError, ValueError): ...

    class NoRecordError(DselementsError, LookupError): ...

    class AssetError(DselementsError, OSError): ...
