"""MOT Challenge files: ``frame,id,left,top,width,height,conf,class,visibility``.

Frames count from 1, and so do the pixels of left and top. An id below 0 is no track. Detection
files have ``-1,-1,-1`` in place of class and visibility (ten values a line).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, RecordingFormatError
from ..meta.fields import UNTRACKED
from .capture import Capture
from .files import FileWriter, io_error

__all__ = ["SOURCE_PATTERN", "MotFile", "MotFrame", "MotOutput", "is_mot", "location_of"]

SOURCE_PATTERN = "%u"
"""What stands for the source_id in a location."""
MAX_BYTES = 1 << 30


def is_mot(location: str) -> bool:
    """True for names that end as MOT files do."""
    return Path(location).suffix.lower() in (".txt", ".csv")


def location_of(pattern: str, source_id: int) -> str:
    """File of a source."""
    return pattern.replace(SOURCE_PATTERN, str(source_id))


class MotFrame(NamedTuple):
    """Objects of one frame."""

    object_id: npt.NDArray[np.uint64]
    rect: npt.NDArray[np.float64]
    """[n, 4] left, top, width, height in pixels from 0."""
    confidence: npt.NDArray[np.float64]
    class_id: npt.NDArray[np.int64]


class MotFile:
    """Lines of one source, in memory, found by frame: such a file may be sorted by track.

    :param origin: what the file calls the first pixel: 1 as MOT Challenge has it, or 0.
    :param scale: factors of x and y, where the boxes are of another picture size.
    :raises RecordingError: if it cannot be read.
    :raises RecordingFormatError: for a line that is none; names file and line.
    """

    def __init__(
        self, location: str, *, origin: int = 1, scale: tuple[float, float] = (1.0, 1.0)
    ) -> None:
        rows, classes, self.lines = [], [], 0
        try:
            if Path(location).stat().st_size > MAX_BYTES:
                raise RecordingError(f"{location} is larger than {MAX_BYTES} bytes", hint="")
            text = Path(location).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise RecordingFormatError(f"{location} is no text") from None
        except OSError as error:
            if isinstance(error, RecordingError):
                raise
            raise io_error("read", location, error) from error
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            values = self._values(line, f"{location}:{number}")
            rows.append(values[:7])
            # Ten values: the last three are world coordinates.
            classes.append(int(values[7]) if len(values) < 10 and len(values) > 7 else -1)
        table = np.array(rows, np.float64).reshape(-1, 7)
        order = np.argsort(table[:, 0], kind="stable")
        self._table, self._classes = table[order], np.array(classes, np.int64)[order]
        self._table[:, 2:4] -= origin
        self._table[:, 2:6] *= [scale[0], scale[1], scale[0], scale[1]]

    @staticmethod
    def _values(line: str, where: str) -> list[float]:
        parts = [p.strip() for p in line.split(",")]
        while parts and not parts[-1]:
            parts.pop()
        if not 6 <= len(parts) <= 10:
            raise RecordingFormatError(f"{where}: {len(parts)} values; a MOT line has 7 to 10")
        try:
            values = [float(p) for p in parts]
        except ValueError as error:
            raise RecordingFormatError(f"{where}: {error}") from None
        if len(values) == 6:
            values.append(1.0)
        if not np.isfinite(values).all():
            raise RecordingFormatError(f"{where}: values are finite")
        if values[0] != int(values[0]) or values[0] < 1:
            raise RecordingFormatError(f"{where}: frames count from 1, not {parts[0]}")
        if values[1] != int(values[1]) or values[1] >= 2**53:
            raise RecordingFormatError(f"{where}: an id is a whole number, not {parts[1]}")
        if values[4] < 0 or values[5] < 0:
            raise RecordingFormatError(f"{where}: a box of {parts[4]} x {parts[5]}")
        return values

    def frame(self, frame_num: int) -> MotFrame | None:
        """Objects of a frame that counts from 0; None if the file has none."""
        first, end = np.searchsorted(self._table[:, 0], [frame_num + 1, frame_num + 2])
        if first == end:
            return None
        rows = self._table[first:end]
        ids = np.full(len(rows), UNTRACKED, np.uint64)
        tracked = rows[:, 1] >= 0
        ids[tracked] = rows[tracked, 1].astype(np.uint64)
        return MotFrame(ids, rows[:, 2:6], rows[:, 6], self._classes[first:end])

    @property
    def last_frame(self) -> int:
        """Largest frame number, from 0; -1 for an empty file."""
        return int(self._table[-1, 0]) - 1 if len(self._table) else -1


class MotOutput:
    """Writes MOT lines, to one file for each source if the location holds ``%u``.

    :raises RecordingError: if the first file cannot be opened.
    """

    def __init__(self, location: str, kind: str, origin: int = 1) -> None:
        self._location, self._kind, self._origin = location, kind, origin
        self._many = SOURCE_PATTERN in location
        self._files: dict[int, FileWriter] = {}
        self._only: int | None = None
        self.nonfinite = 0
        """Numbers that were NaN or infinite, which MOT files do not have: written as 0."""
        if not self._many:
            self._files[-1] = FileWriter(location, kind)

    def _file(self, source: int) -> FileWriter:
        if self._many:
            if source not in self._files:
                self._files[source] = FileWriter(location_of(self._location, source), self._kind)
            return self._files[source]
        if self._only is None:
            self._only = source
        if source != self._only:
            raise RecordingError(
                f"a MOT file holds one source, and {source} came after {self._only}",
                hint=f"put {SOURCE_PATTERN} into the location: one file for each source",
            )
        return self._files[-1]

    def batch(self, captured: Capture) -> int:
        """Write the objects of a batch."""
        size = 0
        for row in range(captured.n_frames):
            file = self._file(int(captured.frames["source_id"][row]))
            first, end = int(captured.bounds[row]), int(captured.bounds[row + 1])
            if first == end:
                continue
            number = int(captured.frames["frame_num"][row]) + 1
            data = self._lines(captured.objects, number, first, end)
            file.write(data)
            size += len(data)
        return size

    def _lines(self, objects: dict[str, Any], number: int, first: int, end: int) -> bytes:
        out = []
        for row in range(first, end):
            ident = int(objects["object_id"][row])
            box = objects["rect"][row].tolist()
            values = [box[0] + self._origin, box[1] + self._origin, box[2], box[3]]
            values.append(float(objects["confidence"][row]))
            wrong = int(np.count_nonzero(~np.isfinite(values)))
            if wrong:
                self.nonfinite += wrong
                values = [v if np.isfinite(v) else 0.0 for v in values]
            text = ",".join(f"{v:.10g}" for v in values)
            shown = -1 if ident == UNTRACKED else ident
            out.append(f"{number},{shown},{text},{int(objects['class_id'][row])},1\n")
        return "".join(out).encode()

    def caps(self, text: str) -> None:
        """Not in the format."""

    def _each(self, call: Callable[[FileWriter], None]) -> None:
        for file in self._files.values():
            call(file)

    def end_block(self) -> None:
        """Make what was written readable."""
        self._each(FileWriter.end_block)

    def end(self, dropped: int) -> None:
        """Make all readable."""
        self.end_block()

    def close(self) -> None:
        """Finish the files."""
        self._each(FileWriter.close)

    def abandon(self) -> None:
        """Close the files after an error."""
        self._each(FileWriter.abandon)
