"""Reads recordings line by line, and remembers where reading can begin again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..errors import RecordingFormatError
from .files import MAX_LINE, chunks, compression_of
from .schema import SCHEMA, VERSION, BatchLine, EndLine, HeaderLine, Line

__all__ = ["Item", "Reader", "read_batches"]


class Item(NamedTuple):
    """A line of a recording."""

    line: Line
    number: int
    """In the part that was read, from 1."""
    offset: int
    """Where reading can begin again with this line; -1 inside a block."""


class Reader:
    """A recording's file.

    :param location: ``.jsonl``, ``.jsonl.gz`` or ``.jsonl.zst``.
    :raises RecordingError: if it cannot be read.
    :raises RecordingFormatError: if it does not begin as a recording of a known version.
    :raises MissingExtraError: for ``.zst`` without the zstandard package.
    """

    def __init__(self, location: str | Path) -> None:
        self.location = str(location)
        self._kind = compression_of(self.location)
        self._decode = msgspec.json.Decoder(Line).decode
        self.cut_short = False
        """True once the end was read and the recording was not finished properly."""
        self.header = self._header()

    def _header(self) -> HeaderLine:
        hint = "dsrecord writes recordings; dssynth reads the JSON lines of dselements demo"
        try:
            item = next(self.items(), None)
        except RecordingFormatError as error:
            raise RecordingFormatError(error.message, hint=hint) from None
        if item is None:
            raise RecordingFormatError(f"{self.location} holds no whole line", hint=hint)
        line = item.line
        if not isinstance(line, HeaderLine) or line.schema != SCHEMA:
            raise RecordingFormatError(f"{self.location}:1: is no header of a recording", hint=hint)
        if line.version != VERSION:
            raise RecordingFormatError(
                f"{self.location}:1: version {line.version}; this dselements reads {VERSION}",
                hint="update dselements",
            )
        return line

    def items(self, offset: int = 0) -> Iterator[Item]:
        """Lines from an offset on, the header among them; an unfinished last one is left out.

        :raises RecordingFormatError: for a line that is none; the message has file and line.
        """
        rest: list[bytes] = []
        size = number = 0
        last: Line | None = None
        for chunk in chunks(self.location, self._kind, offset):
            lines = chunk.data.split(b"\n")
            at = chunk.offset if not rest else -1
            if len(lines) == 1:
                if lines[0]:
                    rest.append(lines[0])
                    size += len(lines[0])
                if size > MAX_LINE:
                    raise RecordingFormatError(
                        f"{self.location}:{number + 1}: a line of more than {MAX_LINE} bytes"
                    )
                continue
            lines[0] = b"".join([*rest, lines[0]])
            rest = [lines[-1]] if lines[-1] else []
            size = len(lines[-1])
            for data in lines[:-1]:
                number += 1
                if data.strip():
                    last = self._line(data, number, offset)
                    yield Item(last, number, at)
                at = -1
        self.cut_short = bool(rest) or not isinstance(last, EndLine)

    def _line(self, data: bytes, number: int, offset: int) -> Line:
        try:
            found: Line = self._decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
            where = f"{number}" if not offset else f"{number} from byte {offset}"
            raise RecordingFormatError(
                f"{self.location}:{where}: {error}", hint="see docs/recording.md"
            ) from None
        return found

    def batches(self) -> Iterator[BatchLine]:
        """The recorded batches in order."""
        for item in self.items():
            if isinstance(item.line, BatchLine):
                yield item.line


def read_batches(location: str | Path) -> Iterator[BatchLine]:
    """Batches of a recording, one by one; see :class:`Reader` for what is raised."""
    return Reader(location).batches()
