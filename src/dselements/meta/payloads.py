"""User payloads: any JSON- or msgpack-able value on a batch, a frame or an object.

A payload is an NvDsUserMeta whose ``user_meta_data`` points to one block of bytes on the C
heap. C code reads it so (little-endian, no padding)::

    struct {
        uint32_t magic;        /* 0x50455344: the bytes "DSEP"             */
        uint16_t version;      /* 1                                        */
        uint8_t  encoding;     /* 1 JSON in UTF-8, 2 msgpack               */
        uint8_t  flags;        /* 0                                        */
        uint32_t name_length;  /* bytes of the name, without its NUL       */
        uint32_t data_length;  /* bytes of the data                        */
        char     name[name_length + 1];
        uint8_t  data[data_length];
    };

Its meta type is ``nvds_get_user_meta_type("DSELEMENTS.PAYLOAD")``. Copy and release functions
are C: buffers may be copied and freed in any thread.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from ..errors import PayloadError

if TYPE_CHECKING:
    from .batch import Batch
    from .handles import Handle

__all__ = ["ENCODINGS", "Payloads", "UserMeta", "decode", "encode"]

HEADER = struct.Struct("<IHBBII")
MAGIC = 0x50455344
VERSION = 1
ENCODINGS = {"json": 1, "msgpack": 2}
MAX_BYTES = 64 * 1024 * 1024


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy, which msgspec does not know."""
    if isinstance(value, (np.generic, np.ndarray)):
        # Others (times, records, masked values) would come out as something else.
        if value.dtype.kind not in "biufU" or isinstance(value, np.ma.MaskedArray):
            raise TypeError(f"numpy values of type {value.dtype} are not supported")
        return value.tolist()
    raise TypeError(f"objects of type {type(value).__name__} are not supported")


_ENCODERS: dict[int, Callable[[Any], bytes]] = {
    1: msgspec.json.Encoder(enc_hook=_plain).encode,
    2: msgspec.msgpack.Encoder(enc_hook=_plain).encode,
}
_DECODERS: dict[int, Callable[[bytes], Any]] = {
    1: msgspec.json.decode,
    2: msgspec.msgpack.decode,
}


class UserMeta(NamedTuple):
    """A user meta of any kind, as the library lists it."""

    meta_type: int
    """NvDsMetaType."""
    address: int
    """Of the NvDsUserMeta; valid only while the batch is."""
    data: int
    """Of its user_meta_data; 0 if NULL."""


def encode(name: str, value: Any, encoding: str = "json") -> bytes:
    """Header, name and encoded value. :raises PayloadError: if it cannot be encoded."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise PayloadError(f"a payload's name is a non-empty str without NUL, not {name!r}")
    try:
        code = ENCODINGS[encoding]
    except KeyError:
        raise PayloadError(
            f"unknown payload encoding {encoding!r}", hint="use 'json' or 'msgpack'"
        ) from None
    try:
        data = _ENCODERS[code](value)
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError) as error:
        raise PayloadError(f"payload {name!r} cannot be encoded as {encoding}: {error}") from error
    try:
        # What cannot be read back must not be attached (msgspec.Raw, for one).
        again = _DECODERS[code](data)
        # JSON has no NaN and the encoder writes null for it: the value would change silently.
        null = code == 1 and b"null" in data and _nones(again) != _nones(_builtins(value))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise PayloadError(f"payload {name!r} cannot be read back: {error}") from error
    if null:
        raise PayloadError(
            f"payload {name!r} holds NaN or infinity, which JSON cannot", hint="use 'msgpack'"
        )
    try:
        label = name.encode()
    except UnicodeEncodeError as error:
        raise PayloadError(f"payload name {name!r} is no valid text: {error}") from None
    if len(data) > MAX_BYTES or len(label) > 0xFFFF:
        raise PayloadError(f"payload {name[:80]!r} of {len(data)} bytes is too large", hint="")
    head = HEADER.pack(MAGIC, VERSION, code, 0, len(label), len(data))
    return head + label + b"\0" + data


def _builtins(value: Any) -> Any:
    """The value as dicts, lists, numbers and text; NaN stays NaN."""
    return msgspec.to_builtins(value, enc_hook=_plain, str_keys=True)


def _nones(value: Any) -> int:
    """How many None are in a value of dicts and lists."""
    count, todo = 0, [value]
    while todo:
        item = todo.pop()
        if item is None:
            count += 1
        elif isinstance(item, dict):
            todo += item.values()
        elif isinstance(item, (list, tuple, set, frozenset)):
            todo += item
    return count


def name_of(block: bytes) -> str:
    """Name in an encoded payload."""
    length = HEADER.unpack_from(block)[4]
    return block[HEADER.size : HEADER.size + length].decode("utf-8", "replace")


def decode(block: bytes) -> Any:
    """Value of an encoded payload. :raises PayloadError: if it is malformed."""
    if len(block) < HEADER.size + 1:
        raise PayloadError(f"a payload of {len(block)} bytes is shorter than its header")
    magic, version, code, _, name_length, data_length = HEADER.unpack_from(block)
    start = HEADER.size + name_length + 1
    if magic != MAGIC or version != VERSION or code not in _DECODERS:
        raise PayloadError(f"payload with magic {magic:#x}, version {version}, encoding {code}")
    if len(block) != start + data_length:
        raise PayloadError(f"payload of {len(block)} bytes; its header tells {start + data_length}")
    try:
        return _DECODERS[code](block[start:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PayloadError(f"payload {name_of(block)!r} cannot be decoded: {error}") from error


class Payloads(MutableMapping[str, Any]):
    """Named payloads of the batch, a frame or an object: a mapping of name to value.

    ``batch.payloads``, ``frame.payloads`` and ``obj.payloads`` are such. A payload travels with
    the buffer as an NvDsUserMeta and is copied and released with it::

        obj.payloads["zone"] = {"name": "gate", "since": 12.5}
        zone = obj.payloads.get("zone")           # None where there is none
        del obj.payloads["zone"]

    Reading gives a decoded copy: change it and assign it again. Assigning to a name replaces
    its payload. Edits reach the metadata at commit. All that a mapping has is here: ``in``,
    ``get``, ``pop``, ``items``, ``update``, ``clear``.

    A name is any text without NUL, up to 65535 bytes of UTF-8. A value is what JSON or msgpack
    holds (None, bool, int, float, str, lists, mappings), and numpy numbers and arrays (as
    lists), 64 MiB encoded at most. What comes back:

    - tuples and sets as lists, dataclasses as mappings, in either encoding
    - bytes as base64 text and the keys of mappings as text in JSON, the default; as they were
      in msgpack: ``put(name, value, encoding="msgpack")``
    - NaN and infinity are refused in JSON and kept in msgpack

    :raises PayloadError: on reading one that cannot be decoded, on writing one that cannot be
        encoded.
    :raises KeyError: on reading or deleting a name that is not there.
    """

    __slots__ = ("_batch", "_level", "_owner")

    def __init__(self, batch: Batch, level: int, owner: Handle | None) -> None:
        self._batch = batch
        self._level = level
        self._owner = owner

    def _row(self) -> int:
        return 0 if self._owner is None else self._owner._native_row()

    def _blocks(self) -> dict[str, bytes]:
        return self._batch._extras().payload_blocks(self._level, self._row())

    def __getitem__(self, name: str) -> Any:
        return decode(self._blocks()[name])  # KeyError as any mapping

    def __setitem__(self, name: str, value: Any) -> None:
        self.put(name, value)

    def put(self, name: str, value: Any, encoding: str = "json") -> None:
        """Attach a value under a name, in place of the one there.

        :param name: text without NUL.
        :param value: what the encoding holds; see the class.
        :param encoding: ``"json"``, which C code and every language reads, or ``"msgpack"``,
            which keeps bytes, NaN and keys that are no text.
        :raises PayloadError: if it cannot be encoded, would come back changed, or is larger
            than 64 MiB.
        """
        block = encode(name, value, encoding)
        self._blocks()[name] = block

    def __delitem__(self, name: str) -> None:
        del self._blocks()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._blocks()))

    def __len__(self) -> int:
        return len(self._blocks())

    def __repr__(self) -> str:
        return f"<Payloads {sorted(self._blocks())}>"

    @property
    def others(self) -> list[UserMeta]:
        """User metas here that are no payloads of ours, as other elements attached them.

        nvinfer's tensors, nvdsanalytics' results and the like, by type and address; tensors and
        segmentations are read by ``frame.tensors`` and ``frame.segmentations``. Also payloads of
        a version that this dselements does not read.
        """
        from .extras import payload_block

        metas = self._batch._extras().user_metas(self._level, self._row())
        return [meta for meta in metas if payload_block(meta) is None]
