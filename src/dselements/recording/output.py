"""A recording as an output of the writer thread."""

from __future__ import annotations

from .capture import Capture
from .encode import batch_line, encode_line
from .files import FileWriter
from .schema import SCHEMA, VERSION, CapsLine, EndLine, HeaderLine, SourceLine

__all__ = ["RecordingOutput"]


class RecordingOutput:
    """Writes header, batches and end of a recording.

    :param location: file name or ``-``.
    :param kind: ``gz``, ``zst`` or ``""``.
    :raises RecordingError: if the file cannot be opened.
    """

    def __init__(self, location: str, kind: str, writer: str = "") -> None:
        self._file = FileWriter(location, kind)
        self._writer = writer
        self._caps = ""
        self._begun = False
        self._sources: set[int] = set()
        self._n = self._frames = self._objects = 0
        self._unended = True

    def caps(self, text: str) -> None:
        """The caps; a line of its own when they change later."""
        if self._begun and text != self._caps:
            self._file.write(encode_line(CapsLine(text)))
        self._caps = text

    def _begin(self, family: str, sources: list[SourceLine]) -> None:
        self._begun = True
        self._file.write(
            encode_line(HeaderLine(SCHEMA, VERSION, family, self._writer, self._caps, sources))
        )

    def batch(self, captured: Capture) -> int:
        """Write one batch; returns the line's bytes."""
        sources = []
        frames = captured.frames
        for row in range(captured.n_frames):
            source = int(frames["source_id"][row])
            if source not in self._sources:
                self._sources.add(source)
                sources.append(
                    SourceLine(
                        source,
                        int(frames["pad_index"][row]),
                        int(frames["source_frame_width"][row]),
                        int(frames["source_frame_height"][row]),
                    )
                )
        if not self._begun:
            self._begin(captured.family, sources)
        else:
            for line in sources:
                self._file.write(encode_line(line))
        data = encode_line(batch_line(captured, self._n))
        self._file.write(data)
        self._n += 1
        self._frames += captured.n_frames
        self._objects += captured.n_objects
        self._unended = True
        return len(data)

    def end_block(self) -> None:
        """Make what was written readable."""
        self._file.end_block()

    def end(self, dropped: int) -> None:
        """Write the end's line, unless nothing came since the last one."""
        if not self._unended:
            return
        if not self._begun:
            self._begin("", [])
        self._file.write(encode_line(EndLine(self._n, self._frames, self._objects, dropped)))
        self._file.end_block()
        self._unended = False

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def abandon(self) -> None:
        """Close the file after an error."""
        self._file.abandon()
