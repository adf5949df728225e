"""The GStreamer element ``dspython``."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from ...element import MetaTransform, Property, element
from ...element.guests import check_caps, make_guest, start
from ...meta import Batch
from .logic import Code, Loaded
from .settings import PythonSettings

_SOURCE_HOOKS = ("on_source_added", "on_source_eos", "on_source_removed")


@element(
    "dspython",
    description="Runs a class or function of a Python file or module on each batch",
    klass="Filter/Analyzer/Video",
    author="dselements",
)
class Python(MetaTransform):
    """See :mod:`dselements.elements.python`."""

    __gtype_name__ = "DsPython"

    module = Property("", help="File or dotted name of the module", mutable=False)
    class_ = Property("", help="Class in it, with process(batch)", mutable=False)
    function = Property("", help="Function in it, of a batch", mutable=False)
    args: Property[Any] = Property(
        {}, help="Keyword arguments, or properties of a MetaTransform: a JSON object", mutable=False
    )
    dev_mode = Property(False, help="Load the file anew when it was saved")
    add_meta = Property(
        False, help="Give buffers without metadata a batch of one frame", mutable=False
    )

    _code: Code | None = None
    _loaded: Loaded | None = None

    def configure(self) -> None:
        self.create_meta = self.add_meta  # type: ignore[misc]

    def start(self) -> None:
        settings = PythonSettings.parse(self.module, self.class_, self.function, self.args)
        self._code = Code(
            settings.module, settings.class_name, settings.function, settings.args, self._make
        )
        self._begin(self._code.load())

    def stop(self) -> None:
        loaded, self._loaded, self._code = self._loaded, None, None
        if loaded is not None:
            self._end(loaded)

    def _make(self, cls: type[Any], args: Mapping[str, Any]) -> Any:
        me = weakref.ref(self)
        if issubclass(cls, MetaTransform):
            return make_guest(cls, me, args)
        made = cls(**args)
        if "element" in vars(cls):
            made.element = weakref.proxy(self)
        return made

    def _begin(self, loaded: Loaded) -> None:
        target = loaded.target
        if isinstance(target, MetaTransform):
            start(target)
            self.create_meta = self.add_meta or target.create_meta  # type: ignore[misc]
            self.requires_meta = target.requires_meta  # type: ignore[misc]
        elif callable(getattr(target, "start", None)):
            target.start()
        self._loaded = loaded
        base: Any = MetaTransform if isinstance(target, MetaTransform) else object
        self._by_source = any(
            callable(getattr(type(target), name, None))
            and getattr(type(target), name) is not getattr(base, name, None)
            for name in _SOURCE_HOOKS
        )
        caps = self.sinkpad.get_current_caps()
        if caps is not None:
            self.on_caps(caps)

    def _end(self, loaded: Loaded) -> None:
        target = loaded.target
        try:
            if isinstance(target, MetaTransform):
                target.do_stop()
            elif callable(getattr(target, "stop", None)):
                target.stop()
        finally:
            Code.forget(loaded)

    # -- hooks -------------------------------------------------------------------
    def on_caps(self, caps: Any) -> None:
        self._forward("on_caps", caps)

    def on_source_added(self, source_id: int, info: Any) -> None:
        self._forward("on_source_added", source_id, info)

    def on_source_eos(self, source_id: int) -> None:
        self._forward("on_source_eos", source_id)

    def on_source_removed(self, source_id: int) -> None:
        self._forward("on_source_removed", source_id)

    def _forward(self, name: str, *values: Any) -> None:
        target = None if self._loaded is None else self._loaded.target
        if isinstance(target, MetaTransform):
            target.video_info = self.video_info
            if name == "on_caps":
                check_caps(target, values[0])
        hook = getattr(target, name, None)
        if callable(hook):
            hook(*values)

    # -- the batch that is made for a buffer without one ---------------------------
    def max_frames(self) -> int:
        target = None if self._loaded is None else self._loaded.target
        return target.max_frames() if isinstance(target, MetaTransform) else super().max_frames()

    def frame_specs(self, **common: Any) -> list[dict[str, Any]]:
        target = None if self._loaded is None else self._loaded.target
        if isinstance(target, MetaTransform):
            return target.frame_specs(**common)
        return super().frame_specs(**common)

    # -- buffers -----------------------------------------------------------------
    def process(self, batch: Batch) -> object:
        if self.dev_mode:
            self._reload_if_saved()
        assert self._loaded is not None  # start() ran
        return self._loaded.process(batch)

    def _reload_if_saved(self) -> None:
        code, old = self._code, self._loaded
        assert code is not None
        assert old is not None
        if not code.saved():
            return
        try:
            new = code.reload(old)
            self._begin(new)
        except BaseException as error:  # noqa: BLE001 -- posted; the old code goes on
            self._loaded = old
            self._warn("setting", error, f"loading {code.path} anew; the old code goes on")
            return
        self.log.info(f"{code.path} was loaded anew")
        try:
            self._end(old)
        except BaseException as error:  # noqa: BLE001 -- posted
            self._warn("setting", error, f"stopping the old code of {code.path}")
