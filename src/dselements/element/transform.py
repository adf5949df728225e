"""The base class of elements that read and edit metadata."""

from __future__ import annotations

import inspect
import re
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstBase", "1.0")
from gi.repository import Gst, GstBase

from .._core import _native, load
from ..errors import NoBatchMetaError, ProcessResultError, PropertyValueError, RegistrationError
from ..meta.batch import Batch
from ..surface.format import VideoFormat
from ..surface.nvmm import NvmmSurfaces
from ..surface.system import SystemSurfaces
from .caps import ANY_VIDEO, in_nvmm, structure_of, templates, video_format
from .declared import DeclaredProperties
from .gobject import class_address
from .hooks import Change, Sources, add_hook_probes, event_name, overridden
from .log import Log
from .policy import ON_ERROR, RateLimit, describe, post_error, post_warning
from .properties import Property
from .stats import Stats, stats_property
from .streams import StreamInfo

__all__ = ["MetaTransform"]

if TYPE_CHECKING:
    from .probes import MetaProbe

Gst.init(None)

_STRUCTURE_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9/\-_.:+]*")

_DROPPED = Gst.FlowReturn.CUSTOM_SUCCESS  # GST_BASE_TRANSFORM_FLOW_DROPPED
_OK = Gst.FlowReturn.OK


class MetaTransform(DeclaredProperties, GstBase.BaseTransform):  # type: ignore[misc]
    """An element that handles the NvDsBatchMeta of every buffer in place.

    Override :meth:`process`. It gets a :class:`~dselements.Batch` that is good for that call
    only; edits are committed when it returns. Return ``ds.DROP`` to drop the buffer.

    The element owns the buffer while ``process`` runs: behind a tee, GStreamer copies a shared
    buffer (and its metadata) first, so that no branch sees the edits of another.

    Overridable: :meth:`start`, :meth:`stop`, :meth:`configure`, :meth:`on_caps`,
    :meth:`on_source_added`, :meth:`on_source_eos`, :meth:`on_source_removed`, :meth:`on_event`,
    :meth:`on_query`.
    Class attributes: ``caps`` (text of both pads' caps), ``create_meta`` (True: a buffer
    without metadata is given a batch of one frame), ``requires_meta`` (True: a buffer without
    metadata is an error instead of passing through).
    """

    __gtype_name__ = "DsMetaTransform"
    __gstmetadata__ = ("dselements base", "Filter/Video", "Base of metadata elements", "dselements")
    __gsttemplates__ = templates(ANY_VIDEO, ANY_VIDEO)
    __gproperties__: ClassVar[dict[str, Any]] = stats_property(
        "Counters of buffers, objects, errors and time"
    )

    caps: ClassVar[str] = ANY_VIDEO
    """Caps of both pads, as text; any video in any memory by default."""
    create_meta: ClassVar[bool] = False
    """True: a buffer without metadata is given a batch of one frame."""
    requires_meta: ClassVar[bool] = False
    """True: a buffer without metadata is an error instead of passing through."""
    _ds_name: ClassVar[str] = "dsmetatransform"

    on_error = Property(
        "fail", choices=ON_ERROR, help="When process() raises: stop, drop the buffer, or pass it on"
    )
    max_latency_ms = Property(
        0, min=0, help="Warn when process() takes longer than this many milliseconds; 0 is off"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_in_place(True)
        self.set_passthrough(False)
        self.video_info: VideoFormat | None = None
        """Format of the frames in system memory; None for other memory."""
        self._in_nvmm = False
        self._stats = Stats()
        self._changed = True
        self._limits = {kind: RateLimit() for kind in ("error", "latency", "user", "meta")} | {
            "setting": RateLimit(0.0)
        }
        self._frame_num = 0
        self._log: Log | None = None
        self._broken = False
        self._thread = 0
        self._setting = threading.Lock()
        self._coming: dict[str, Any] = {}
        """Values that were set while playing, by slot; they count from the next buffer on."""
        self._sources = Sources()
        self._hooks = overridden(type(self), MetaTransform)
        self._by_source = any(name.startswith("on_source") for name in self._hooks)
        if self._hooks:
            add_hook_probes(self, self._hooks)

    # -- what users override -------------------------------------------------
    def process(self, batch: Batch) -> object:
        """Read and edit the metadata of one buffer; runs in the streaming thread.

        :returns: None or True to pass the buffer on, ``ds.DROP`` (False) to drop it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no process()")

    def start(self) -> None:
        """Called before the first buffer, at READY → PAUSED. Raise to refuse."""

    def stop(self) -> None:
        """Called after the last buffer, at PAUSED → READY."""

    def configure(self) -> None:
        """Called at start and, between two buffers, after properties have changed.

        Raise to refuse: at start that is an error; while playing it is a warning, and the
        element goes on with what it had.
        """

    def on_caps(self, caps: Any) -> None:
        """Called when the format was negotiated; ``self.video_info`` is set. Raise to refuse.

        :param caps: the Gst.Caps.
        """

    def on_source_added(self, source_id: int, info: StreamInfo | None) -> None:
        """Called before the first frame of a stream, or when its muxer announces it.

        Between two buffers, in the streaming thread, as are the next two.

        :param info: what dsmux says of it; None when only its frames or nvstreammux tell.
        """

    def on_source_eos(self, source_id: int) -> None:
        """Called when a stream has ended; it may begin again, and is then added again."""

    def on_source_removed(self, source_id: int) -> None:
        """Called when a stream's input was removed. Not called at the stop of the element."""

    def on_event(self, event: Any, upstream: bool) -> object:
        """Called for each event, before the element handles it; return False to drop it.

        Downstream ones that belong to the stream come in order with the buffers; flushes and
        upstream ones come in any thread.
        """

    def on_query(self, query: Any) -> object:
        """Called for each query, in any thread; return True if you have answered it."""

    # -- elsewhere than in a pipeline ---------------------------------------------
    @classmethod
    def as_probe(cls, pad: Any, **properties: Any) -> MetaProbe:
        """Run :meth:`process` on every buffer that passes a pad, without changing the pipeline.

        Errors, warnings and messages come from the pad's element; ``on-error`` holds as in an
        element: ``fail`` posts an error and stops the stream, ``drop`` drops the buffer, ``pass``
        lets it go on as it was. A buffer that others hold too is copied first, so that no branch
        of a tee sees the edits of another.

        :param pad: a Gst.Pad, source or sink.
        :param properties: of the class, with ``_`` for ``-``.
        :returns: the handle that ends it.
        :raises PropertyValueError: for a property that there is not, or a value it refuses.
        :raises PipelineError: if it does not start.
        """
        from .probes import MetaProbe

        return MetaProbe(cls, pad, properties)

    # -- helpers ---------------------------------------------------------------
    @property
    def log(self) -> Log:
        """This element's category in the debug log."""
        if self._log is None:
            self._log = Log(self._ds_name, self)
        return self._log

    def post_element_message(self, name: str, **fields: Any) -> None:
        """Post an element message on the bus: a structure of this name and fields."""
        if not _STRUCTURE_NAME.fullmatch(name):
            raise PropertyValueError(
                f"{name!r} cannot name a message",
                hint="a letter, then letters, digits and / - _ . : +",
            )
        structure = Gst.Structure.new_empty(name)
        for key, value in fields.items():
            structure.set_value(key.replace("_", "-"), value)
        self.post_message(Gst.Message.new_element(self, structure))

    def post_warning(self, text: str) -> None:
        """Post a warning on the bus; at most one a second, the next one tells how many were not."""
        self._warn("user", UserWarning(text), self.get_name())

    # -- GObject -----------------------------------------------------------------
    def do_get_property(self, pspec: Any) -> Any:
        if pspec.name == "stats":
            return self._stats.structure(self._ds_name)
        return super().do_get_property(pspec)

    def _store(self, declared: Property[Any], value: Any) -> None:
        # While process() runs, its values stay as they are; what it sets itself counts at once.
        with self._setting:
            mine = self._thread == threading.get_ident()
            if self._thread and not mine:
                self._coming[declared.slot] = value
            else:
                self._coming.pop(declared.slot, None)
                self.__dict__[declared.slot] = value
            if not mine:
                self._changed = True

    def _latest(self, declared: Property[Any]) -> Any:
        with self._setting:
            if declared.slot in self._coming:
                return self._coming[declared.slot]
            return self.__dict__.get(declared.slot, declared.default)

    def _coming_value(self, declared: Property[Any]) -> Any:
        """For an attribute while values are coming: the new one, but not inside process()."""
        if self._thread == threading.get_ident():
            return self.__dict__.get(declared.slot, declared.default)
        return self._latest(declared)

    def _take_coming(self) -> None:
        with self._setting:
            self.__dict__.update(self._coming)
            self._coming.clear()

    # -- GstBaseTransform --------------------------------------------------------
    def do_start(self) -> bool:
        try:
            failed = self.__dict__.get("_init_error")
            if failed is not None:
                raise RegistrationError(f"{type(self).__name__}.__init__ failed: {failed}")
            if "_limits" not in self.__dict__:
                raise RegistrationError(
                    f"{type(self).__name__}.__init__ failed or did not call super().__init__()"
                )
            self._stats = Stats()
            self._frame_num = 0
            self._broken = False
            self._sources.clear()
            self._take_coming()
            self.check_refused()
            load()
            self._changed = False
            self.configure()
            self.start()
        except BaseException as error:  # noqa: BLE001 -- nothing may cross into C; it is posted
            post_error(self, error, "starting")
            return False
        return True

    def do_stop(self) -> bool:
        try:
            self.stop()
        except BaseException as error:  # noqa: BLE001 -- posted
            self._warn("error", error, "stopping")
        for kind, limit in self._limits.items():
            if limit.suppressed:
                post_warning(
                    self,
                    UserWarning(f"{limit.take()} more that were not posted, {kind}"),
                    "warnings at the stop",
                )
        return True

    def do_set_caps(self, incaps: Any, outcaps: Any) -> bool:
        try:
            self.video_info = video_format(incaps)
            self._in_nvmm = in_nvmm(incaps)
            self.on_caps(incaps)
        except BaseException as error:  # noqa: BLE001 -- posted
            post_error(self, error, f"taking caps {incaps.to_string()}")
            return False
        return True

    def do_transform_ip(self, buffer: Any) -> Any:
        address = hash(buffer)
        del buffer  # the frames of a kept exception must not keep the buffer
        return self._run(address)

    def _run(self, address: int) -> Any:
        """Handle a buffer that this element owns; the Gst.FlowReturn."""
        try:
            return self._handle(address)
        except BaseException as error:  # noqa: BLE001 -- nothing may cross the pad, not even
            # SystemExit, at which PyGObject would end the process; it is posted
            return self._failed(error)

    def _handle(self, address: int) -> Any:
        _native.pin_thread()
        stats = self._stats
        stats.buffers += 1
        if self._broken:
            return Gst.FlowReturn.ERROR
        if self._changed:
            self._reconfigure()
        batch_meta = _native.buffer_batch_meta(address)
        created = False
        if not batch_meta:
            if not self.create_meta:
                stats.no_meta += 1
                if self.requires_meta:
                    raise NoBatchMetaError(f"{self.get_name()} got a buffer without NvDsBatchMeta")
                if stats.no_meta == 1:
                    self._tell_no_meta()
                return _OK
            batch_meta = _native.create_batch(self.max_frames(), address)
            created = True
        batch = Batch(batch_meta, buffer=address, surfaces=self._surfaces(address))
        began = time.perf_counter_ns()
        self._thread = threading.get_ident()
        try:
            if created:
                self._add_frames(batch, address)
            if self._by_source:
                self._look_for_sources(batch)
            verdict = self.process(batch)
            if verdict is not None and not isinstance(verdict, (bool, np.bool_)):
                _refuse_result(type(self), verdict)
            batch.commit()
        except BaseException:
            if created and self.on_error == "pass":
                # What is new goes on with its frames, as what others made keeps its own.
                batch.rollback()
                self._add_frames(batch, address)
                batch.commit()
            raise
        finally:
            self._thread = 0
            taken = time.perf_counter_ns() - began
            stats.took(taken)
            batch.close()
            if created:
                self._frame_num += 1
        stats.count(batch.stats)
        if self.max_latency_ms and taken > self.max_latency_ms * 1_000_000:
            self._too_slow(taken)
        if verdict is not None and not verdict:
            stats.dropped += 1
            return _DROPPED
        return _OK

    def _surfaces(self, address: int) -> SystemSurfaces | NvmmSurfaces | None:
        if self._in_nvmm:
            return NvmmSurfaces(address)
        info = self.video_info
        return None if info is None else SystemSurfaces(address, info)

    def max_frames(self) -> int:
        """Most frames of a batch that this element creates."""
        return 1

    def frame_specs(self, **common: Any) -> list[dict[str, Any]]:
        """Fields of the frames of a batch that this element creates; one frame by default.

        :param common: time stamp, frame number and size of this buffer.
        """
        return [common]

    def _add_frames(self, batch: Batch, address: int) -> None:
        pts, *_ = _native.buffer_info(address)
        info = self.video_info
        width, height = (info.width, info.height) if info is not None else self._caps_size()
        for fields in self.frame_specs(
            frame_num=self._frame_num,
            buf_pts=pts,
            source_frame_width=width,
            source_frame_height=height,
            pipeline_width=width,
            pipeline_height=height,
        ):
            batch.add_frame(**fields)

    def _caps_size(self) -> tuple[int, int]:
        caps = self.sinkpad.get_current_caps()
        if caps is None:
            return 0, 0
        structure = structure_of(caps, 0)
        return structure.get_int("width")[1], structure.get_int("height")[1]

    # -- hooks -----------------------------------------------------------------------
    def _look_for_sources(self, batch: Batch) -> None:
        frames = batch.frames
        found = self._sources.frames(frames.pad_index.tolist(), frames.source_id.tolist())
        self._tell_of_sources(found)

    def _tell_of_sources(self, changes: list[Change]) -> None:
        for change in changes:
            if change.hook == "on_source_added":
                self.on_source_added(change.source_id, change.info)
            else:
                getattr(self, change.hook)(change.source_id)

    def _event_came(self, event: Any, upstream: bool) -> bool:
        """True if the event goes on."""
        try:
            if self._by_source and not upstream:
                self._tell_of_sources(self._sources.event(event))
            return "on_event" not in self._hooks or self.on_event(event, upstream) is not False
        except BaseException as error:  # noqa: BLE001 -- nothing may cross the pad; it is posted
            self._hook_failed(error, f"handling the event {event_name(event)}")
            return True

    def _query_came(self, query: Any) -> bool:
        """True if the query was answered."""
        try:
            return self.on_query(query) is True
        except BaseException as error:  # noqa: BLE001 -- likewise
            self._hook_failed(error, f"answering the query {query.type.value_nick}")
            return False

    def _hook_failed(self, error: BaseException, doing: str) -> None:
        """As when process() raises; an event cannot be refused, so the next buffer is."""
        self._stats.errors += 1
        if self.on_error == "fail":
            post_error(self, error, doing)
            self._broken = True
        else:
            self._warn("error", error, doing)

    # -- failing -------------------------------------------------------------------
    def _reconfigure(self) -> None:
        self._changed = False
        self._take_coming()
        try:
            self.configure()
        except BaseException as error:  # noqa: BLE001 -- posted; the element goes on as it was
            self._warn("setting", error, "applying properties; the old ones stay in force")

    def _failed(self, error: BaseException) -> Any:
        self._stats.errors += 1
        doing = f"{type(self).__name__}.process"
        policy = self.on_error
        if policy == "fail":
            post_error(self, error, doing)
            return Gst.FlowReturn.ERROR
        self._warn("error", error, doing)
        if policy == "drop":
            self._stats.dropped += 1
            return _DROPPED
        return _OK

    def _warn(self, kind: str, error: BaseException, doing: str) -> None:
        limit = self._limits[kind]
        if limit.allows():
            post_warning(self, error, doing, limit.take())
        else:
            self.log.warning(describe(error, doing)[0])

    def _tell_no_meta(self) -> None:
        self._warn(
            "meta",
            NoBatchMetaError(
                "buffers without NvDsBatchMeta pass unchanged; told once",
                hint="put dsmux, dssynth or dsinfer upstream; elements that convert or scale "
                "(videoconvert, videoscale, compositor) drop metadata: convert before it is made",
            ),
            "looking for metadata",
        )

    def _too_slow(self, taken_ns: int) -> None:
        self._stats.late += 1
        process = inspect.unwrap(type(self).process)
        name = getattr(process, "__qualname__", f"{type(self).__qualname__}.process")
        code = getattr(process, "__code__", None)  # compiled functions have none
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        self._warn(
            "latency",
            TimeoutError(
                f"{name}{place} took {taken_ns / 1e6:.1f} ms of "
                f"{self.max_latency_ms} ms; a slow process() stalls every stream"
            ),
            "max-latency-ms",
        )


def _keep_parents() -> None:
    """Behind a tee, the copy of an NVMM buffer must keep the buffer whose pixels it names."""
    fields = GstBase.BaseTransformClass.__info__.get_fields()
    (place,) = [f.get_offset() for f in fields if f.get_name() == "prepare_output_buffer"]
    _native.keep_parents(class_address(MetaTransform.__gtype_name__), place)


_keep_parents()


def _refuse_result(cls: type[Any], verdict: object) -> None:
    """Raise for what ``process`` must not return."""
    if inspect.iscoroutine(verdict):
        verdict.close()  # nobody will await it
    raise ProcessResultError(f"{cls.__name__}.process returned {verdict!r:.80}")
