"""Metas of nvdsanalytics: they hold C++ containers, whose layout is the compiler's."""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import NotSupportedError

__all__ = ["NvDsAnalyticsFrameMeta", "NvDsAnalyticsObjInfo"]

REASON = (
    "nvdsanalytics keeps its results in C++ containers (std::vector, std::unordered_map), which "
    "only code built with the same C++ library can read"
)
HINT = (
    "use dselements' own counting on tracked objects, or read nvdsanalytics' results in C++ and "
    "attach them as a payload"
)


class _Analytics:
    @classmethod
    def cast(cls, data: Any) -> NoReturn:
        """:raises NotSupportedError: always."""
        raise NotSupportedError(f"{cls.__name__}.cast: {REASON}", hint=HINT)

    def __init__(self) -> None:
        raise NotSupportedError(f"{type(self).__name__}: {REASON}", hint=HINT)


class NvDsAnalyticsFrameMeta(_Analytics):
    """Counts of a frame."""


class NvDsAnalyticsObjInfo(_Analytics):
    """What nvdsanalytics found about an object."""
