"""Recordings as Parquet files, for pandas, Polars, DuckDB and the like."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..errors import MissingExtraError, RecordingError, RecordingFormatError
from ..meta.fields import OBJECT_COLUMNS
from .files import io_error
from .reader import Reader
from .schema import BatchLine, FrameLine
from .values import column_of, parents_of, text_of

__all__ = ["TABLES", "export_parquet"]

TABLES = ("objects", "frames")
ROWS_A_GROUP = 50_000
_FRAME = ("source_id", "frame_num", "buf_pts", "pad_index", "batch_id", "ntp_timestamp")
_SIZES = ("source_frame_width", "source_frame_height", "pipeline_width", "pipeline_height")
_TEXTS = ("label", "display_text", "font_name")
_BOX = ("left", "top", "width", "height")


def _arrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            "export to Parquet needs pyarrow", hint="pip install 'dselements[arrow]'"
        ) from error


def export_parquet(recording: str | Path, output: str | Path, table: str = "objects") -> int:
    """Write a recording's objects, or its frames, as Parquet; in bounded memory.

    :param table: ``objects``: one row an object, with the numbers of its frame; ``frames``: one
        row a frame, also those without objects.
    :returns: rows written.
    :raises RecordingError: if a file cannot be read or written.
    :raises RecordingFormatError: if the recording is broken or the table unknown.
    :raises MissingExtraError: if pyarrow is not installed.
    """
    if table not in TABLES:
        raise RecordingFormatError(f"there is no table {table!r}", hint=f"one of {TABLES}")
    pa, parquet = _arrow()
    reader = Reader(recording)
    schema = _object_schema(pa) if table == "objects" else _frame_schema(pa)
    rows_of = _object_rows if table == "objects" else _frame_rows
    total = 0
    try:
        with parquet.ParquetWriter(str(output), schema, compression="zstd") as writer:
            group: list[dict[str, Any]] = []
            for row in _rows(reader, rows_of):
                group.append(row)
                if len(group) >= ROWS_A_GROUP:
                    writer.write_table(pa.Table.from_pylist(group, schema))
                    total += len(group)
                    group = []
            writer.write_table(pa.Table.from_pylist(group, schema))
            total += len(group)
    except OSError as error:
        if isinstance(error, RecordingError):
            raise
        raise io_error("write", str(output), error) from error
    return total


def _rows(reader: Reader, rows_of: Any) -> Iterator[dict[str, Any]]:
    for batch in reader.batches():
        for frame in batch.frames:
            yield from rows_of(batch, frame)


def _numbers(frame: FrameLine, batch: BatchLine) -> dict[str, Any]:
    values = {name: frame.fields.get(name, 0) for name in (*_FRAME, *_SIZES)}
    values.update(
        batch=batch.n,
        source_id=frame.source_id,
        frame_num=frame.frame_num,
        buf_pts=frame.buf_pts,
    )
    return values


def _frame_fields(pa: Any) -> list[Any]:
    kinds = {"frame_num": pa.int32(), "buf_pts": pa.uint64(), "ntp_timestamp": pa.uint64()}
    fields = [("batch", pa.int64())]
    return fields + [(name, kinds.get(name, pa.uint32())) for name in (*_FRAME, *_SIZES)]


def _frame_schema(pa: Any) -> Any:
    return pa.schema(
        [
            *_frame_fields(pa),
            ("bInferDone", pa.bool_()),
            ("objects", pa.int32()),
            ("payloads", pa.map_(pa.string(), pa.string())),
        ]
    )


def _frame_rows(batch: BatchLine, frame: FrameLine) -> Iterator[dict[str, Any]]:
    yield {
        **_numbers(frame, batch),
        "bInferDone": bool(frame.fields.get("bInferDone", 0)),
        "objects": frame.count,
        "payloads": _payloads(frame, None),
    }


def _object_schema(pa: Any) -> Any:
    fields = [*_frame_fields(pa), ("object", pa.int32())]
    kinds = {
        "i4": pa.int32(), "u4": pa.uint32(), "i8": pa.int64(), "u8": pa.uint64(),
        "f4": pa.float32(), "f8": pa.float64(),
    }  # fmt: skip
    for name, column in OBJECT_COLUMNS.items():
        kind = kinds[column.dtype.str[1:]]
        if name == "rect":
            fields += [(edge, kind) for edge in _BOX]
        else:
            fields.append((name, kind if column.width == 1 else pa.list_(kind, column.width)))
    fields += [(name, pa.string()) for name in _TEXTS]
    label = pa.struct(
        [
            ("label_id", pa.uint32()), ("result_class_id", pa.uint32()),
            ("num_classes", pa.uint32()), ("result_prob", pa.float32()),
            ("result_label", pa.string()),
        ]
    )  # fmt: skip
    classifier = pa.struct(
        [
            ("unique_component_id", pa.int32()), ("classifier_type", pa.string()),
            ("labels", pa.list_(label)),
        ]
    )  # fmt: skip
    fields += [
        ("parent", pa.int32()),
        ("classifiers", pa.list_(classifier)),
        ("payloads", pa.map_(pa.string(), pa.string())),
    ]
    return pa.schema(fields)


def _text(value: Any, what: str) -> str | None:
    data = text_of(value, what)
    return None if data is None else data.decode("utf-8", "replace")


def _object_rows(batch: BatchLine, frame: FrameLine) -> Iterator[dict[str, Any]]:
    n = frame.count
    if not n:
        return
    numbers = _numbers(frame, batch)
    columns: dict[str, list[Any]] = {}
    for name, column in OBJECT_COLUMNS.items():
        zero = column.default if column.width == 1 else [0] * column.width
        values = column_of(column, frame.objects.get(name, [zero] * n), n).tolist()
        if name == "rect":
            for edge, place in zip(_BOX, range(4), strict=True):
                columns[edge] = [box[place] for box in values]
        else:
            columns[name] = values
    for name in _TEXTS:
        blank = "" if name == "label" else None
        columns[name] = [_text(x, name) for x in frame.objects.get(name, [blank] * n)]
    columns["parent"] = [None if p < 0 else p for p in parents_of(frame) or [-1] * n]
    results: dict[int, list[Any]] = {}
    for one in frame.classifiers:
        results.setdefault(one.object, []).append(
            {
                "unique_component_id": one.unique_component_id,
                "classifier_type": _text(one.classifier_type, "classifier_type"),
                "labels": [_label(label) for label in one.labels],
            }
        )
    for row in range(n):
        yield {
            **numbers,
            "object": row,
            **{name: values[row] for name, values in columns.items()},
            "classifiers": results.get(row, []),
            "payloads": _payloads(frame, row),
        }


def _label(values: tuple[int, int, int, Any, Any]) -> dict[str, Any]:
    from .schema import float_of

    label_id, class_id, classes, prob, text = values
    return {
        "label_id": label_id,
        "result_class_id": class_id,
        "num_classes": classes,
        "result_prob": float_of(prob),
        "result_label": _text(text, "label"),
    }


def _payloads(frame: FrameLine, row: int | None) -> list[tuple[str, str]]:
    """Name and JSON text of each; of those in msgpack what JSON can hold."""
    from ..meta.payloads import decode
    from .values import payload_of

    found = []
    for one in frame.payloads:
        if one.object == row:
            text = one.json
            if text is None:
                text = msgspec.json.encode(decode(payload_of(one))).decode()
            found.append((one.name, text))
    return found
