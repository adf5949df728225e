"""Where each frame goes, and what the pads' flow results mean together. Knows no GStreamer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...errors import MetadataValueError

__all__ = ["combined", "routes"]

# GstFlowReturn
OK, NOT_LINKED, FLUSHING, EOS, ERROR = 0, -1, -2, -3, -5


def routes(
    pad_index: Sequence[int], batch_id: Sequence[int], places: int, wanted: Iterable[int]
) -> tuple[list[tuple[int, int, int]], int]:
    """Frames that leave: (row, batch_id, output); and how many are dropped.

    :param places: frames that the buffer's memory holds.
    :param wanted: outputs that have a pad.
    :raises MetadataValueError: if a frame names a place that the buffer does not have.
    """
    outputs = set(wanted)
    going, dropped = [], 0
    for row, (pad, place) in enumerate(zip(pad_index, batch_id, strict=True)):
        if pad not in outputs:
            dropped += 1
            continue
        if place >= places:
            raise MetadataValueError(
                f"frame {row} has batch_id {place}, but the buffer holds {places} frames",
                hint="batch_id is the place of the frame's pixels: 0 in the first memory",
            )
        going.append((row, place, pad))
    return going, dropped


def combined(results: Mapping[int, int]) -> int:
    """One flow result for upstream, of the last result of each output.

    An error or flushing anywhere counts at once; end of stream and not linked only if all say so.
    """
    values = list(results.values())
    for value in values:
        if value == FLUSHING or value < EOS:
            return value
    if values and all(value == NOT_LINKED for value in values):
        return NOT_LINKED
    if values and all(value in (EOS, NOT_LINKED) for value in values):
        return EOS
    return OK
