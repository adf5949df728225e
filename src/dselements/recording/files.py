"""Files of lines: plain, gzip and Zstandard, in blocks that can be read on their own.

A block is a gzip member or a Zstandard frame (in a plain file: whole lines). One is ended every few
batches, so that a file cut short is readable up to its last block, and a reader can jump to one.
"""

from __future__ import annotations

import importlib
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import MissingExtraError, RecordingError, RecordingFormatError

__all__ = ["Chunk", "FileWriter", "chunks", "compression_of", "io_error"]

READ_SIZE = 1 << 18
MAX_LINE = 256 * 1024 * 1024
_SUFFIXES = {".gz": "gz", ".zst": "zst"}


def compression_of(location: str) -> str:
    """``gz``, ``zst``, or ``""``, by the name's suffix."""
    return _SUFFIXES.get(Path(location).suffix.lower(), "")


def _zstd() -> Any:
    """``compression.zstd`` of Python 3.14, or the zstandard package."""
    if sys.version_info >= (3, 14):
        return importlib.import_module("compression.zstd")
    try:
        return importlib.import_module("zstandard")
    except ImportError as error:
        raise MissingExtraError(
            "recordings with the suffix .zst need the zstandard package",
            hint="pip install 'dselements[record]', or record to .jsonl.gz or .jsonl",
        ) from error


def _compressor(kind: str) -> Callable[[], Any]:
    if kind == "gz":
        return lambda: zlib.compressobj(6, zlib.DEFLATED, 31)
    zstd = _zstd()
    if hasattr(zstd.ZstdCompressor, "compressobj"):
        maker = zstd.ZstdCompressor(level=3)
        return lambda: maker.compressobj()
    return lambda: zstd.ZstdCompressor()


def _decompressor(kind: str) -> Callable[[], Any]:
    if kind == "gz":
        return lambda: zlib.decompressobj(31)
    zstd = _zstd()
    maker = zstd.ZstdDecompressor()
    if hasattr(maker, "decompressobj"):
        return lambda: zstd.ZstdDecompressor().decompressobj()
    return lambda: zstd.ZstdDecompressor()


def io_error(doing: str, location: str, error: OSError) -> RecordingError:
    """A typed error that names the file and what to do."""
    hints = {
        "ENOSPC": "free some space, or record to another disk",
        "EACCES": "check the permissions of the file and its folder",
        "EPERM": "check the permissions of the file and its folder",
        "EROFS": "the file system is read-only: choose another folder",
        "ENOENT": "make the folder first, or check the name",
        "EISDIR": "give a file name, not a folder",
        "EPIPE": "whoever read the pipe has ended",
    }
    import errno

    name = errno.errorcode.get(error.errno or 0, "")
    reason = error.strerror or str(error)
    return RecordingError(f"cannot {doing} {location}: {reason}", hint=hints.get(name, ""))


class FileWriter:
    """Appends bytes to a new file, block by block.

    :param location: file name, or ``-`` for standard output.
    :param kind: ``gz``, ``zst`` or ``""``.
    :raises RecordingError: if it cannot be opened.
    :raises MissingExtraError: if the compression's library is not installed.
    """

    def __init__(self, location: str, kind: str) -> None:
        self.location = "standard output" if location == "-" else location
        self._make = _compressor(kind) if kind else None
        self._block: Any = None
        try:
            if location == "-":
                self._file: Any = os.fdopen(os.dup(1), "wb")
            else:
                self._file = open(location, "wb")  # noqa: SIM115 -- closed by close()
        except OSError as error:
            raise io_error("write", self.location, error) from error

    def write(self, data: bytes) -> None:
        """:raises RecordingError: if the disk does not take it."""
        if self._make is not None:
            if self._block is None:
                self._block = self._make()
            data = self._block.compress(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise io_error("write", self.location, error) from error

    def end_block(self) -> None:
        """Make what was written readable from outside. :raises RecordingError: if it fails."""
        try:
            if self._block is not None:
                tail, self._block = self._block.flush(), None
                self._file.write(tail)
            self._file.flush()
        except OSError as error:
            raise io_error("write", self.location, error) from error

    def close(self) -> None:
        """End the block and close the file. :raises RecordingError: if it fails."""
        try:
            self.end_block()
        finally:
            try:
                self._file.close()
            except OSError as error:
                raise io_error("close", self.location, error) from error

    def abandon(self) -> None:
        """Close the file after an error that was told already."""
        try:
            self._file.close()
        except OSError:
            # Its buffer could not be written, which is what was told; the descriptor is closed.
            return


class Chunk(NamedTuple):
    """Bytes of a file in order."""

    offset: int
    """Where reading can begin again, in the file; -1 inside a block."""
    data: bytes


def chunks(location: str, kind: str, offset: int = 0) -> Iterator[Chunk]:
    """Decompressed content of a file, from a block's offset on.

    A compressed file that was cut short gives what can be read.

    :raises RecordingError: if it cannot be read, or is no regular file.
    :raises RecordingFormatError: if it is not what its suffix says.
    """
    make = _decompressor(kind) if kind else None
    try:
        # Before it is opened: opening a pipe waits for its other end.
        if not stat.S_ISREG(os.stat(location).st_mode):
            raise RecordingError(f"{location} is no regular file", hint="replay needs to seek")
        with open(location, "rb") as file:
            file.seek(offset)
            if make is None:
                yield from _plain(file, offset)
            else:
                yield from _blocks(file, offset, make, location)
    except OSError as error:
        if isinstance(error, RecordingError):
            raise
        raise io_error("read", location, error) from error


def _plain(file: Any, offset: int) -> Iterator[Chunk]:
    """Chunks that end with a line's end, so that each one's offset is a place to begin."""
    rest, start = [], offset
    while data := file.read(READ_SIZE):
        end = data.rfind(b"\n") + 1
        if not end:
            rest.append(data)
            continue
        whole = b"".join([*rest, data[:end]])
        yield Chunk(start, whole)
        start += len(whole)
        rest = [data[end:]]
    if any(rest):
        yield Chunk(start, b"".join(rest))


def _blocks(file: Any, offset: int, make: Callable[[], Any], location: str) -> Iterator[Chunk]:
    at, block, fresh = offset, make(), True
    pending = b""
    while True:
        data = pending or file.read(READ_SIZE)
        pending = b""
        if not data:
            return
        try:
            out = block.decompress(data)
        except Exception as error:  # each library has its own
            if type(error).__name__ not in ("error", "ZstdError"):
                raise
            raise RecordingFormatError(
                f"{location} cannot be decompressed at byte {at}: {error}",
                hint="is the suffix right, or was the file damaged?",
            ) from error
        if out or fresh:
            yield Chunk(at if fresh else -1, out)
            fresh = False
        if block.eof:
            pending = block.unused_data
            at = file.tell() - len(pending)
            block, fresh = make(), True
