"""Compares metadata with what a file says it should be."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..errors import HarnessError
from .records import BatchRecord

__all__ = ["UPDATE_VARIABLE", "assert_matches_golden", "differences"]

UPDATE_VARIABLE = "DSELEMENTS_UPDATE_GOLDEN"
"""Environment variable: 1 writes the files; ``pytest --ds-update-golden`` sets it."""
VERSION = 1
_SHOWN = 20


def differences(
    found: Any,
    wanted: Any,
    *,
    tolerance: float = 0.0,
    tolerances: Mapping[str, float] | None = None,
    ignore: Iterable[str] = (),
    place: str = "",
) -> list[str]:
    """What differs between two plain values, a line each, named by its place.

    :param tolerance: largest difference of two numbers.
    :param tolerances: of fields by name, such as ``{"bbox": 2.0, "confidence": 0.02}``.
    :param ignore: names of fields that do not count.
    """
    by_name, ignored = dict(tolerances or {}), frozenset(ignore)
    return list(_compare(found, wanted, tolerance, by_name, ignored, place))


def _compare(
    found: Any,
    wanted: Any,
    tolerance: float,
    by_name: Mapping[str, float],
    ignored: frozenset[str],
    place: str,
) -> Iterable[str]:
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        for name in dict.fromkeys([*wanted, *found]):
            if name in ignored:
                continue
            where = f"{place}.{name}" if place else str(name)
            if name not in found:
                yield f"{where}: missing, wanted {wanted[name]!r}"
            elif name not in wanted:
                yield f"{where}: {found[name]!r} is not wanted"
            else:
                limit = by_name.get(name, tolerance)
                yield from _compare(found[name], wanted[name], limit, by_name, ignored, where)
    elif isinstance(found, (list, tuple)) and isinstance(wanted, (list, tuple)):
        if len(found) != len(wanted):
            yield f"{place}: {len(found)} instead of {len(wanted)}"
        for index, (a, b) in enumerate(zip(found, wanted, strict=False)):
            yield from _compare(a, b, tolerance, by_name, ignored, f"{place}[{index}]")
    elif _numbers(found, wanted):
        same = found == wanted or (math.isnan(found) and math.isnan(wanted))
        if not same and not abs(found - wanted) <= tolerance:
            yield f"{place}: {found!r} instead of {wanted!r}"
    elif found != wanted:
        yield f"{place}: {found!r} instead of {wanted!r}"


def _numbers(*values: Any) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def assert_matches_golden(
    records: BatchRecord | Iterable[BatchRecord],
    path: str | Path,
    *,
    tolerance: float = 1e-6,
    tolerances: Mapping[str, float] | None = None,
    ignore: Iterable[str] = (),
) -> None:
    """Compare records with a golden file.

    :param path: JSON file; ``pytest --ds-update-golden`` writes it.
    :param tolerance: largest difference of two numbers.
    :param tolerances: of fields by name, such as ``{"bbox": 2.0}``.
    :param ignore: names of fields that do not count, such as ``pts``.
    :raises HarnessError: listing the differences, or if there is no file.
    """
    path = Path(path)
    items = [records] if isinstance(records, BatchRecord) else list(records)
    found = msgspec.json.decode(
        msgspec.json.encode({"version": VERSION, "batches": [one.to_dict() for one in items]})
    )
    if os.environ.get(UPDATE_VARIABLE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
        return
    try:
        wanted = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise HarnessError(
            f"there is no golden file {path}",
            hint="write it with pytest --ds-update-golden, look at it, and commit it",
        ) from None
    except msgspec.MsgspecError as error:
        raise HarnessError(f"{path} is no golden file: {error}") from error
    if not isinstance(wanted, dict) or wanted.get("version") != VERSION:
        raise HarnessError(f"{path} is no golden file of version {VERSION}")
    lines = differences(
        found["batches"], wanted.get("batches"), tolerance=tolerance, tolerances=tolerances,
        ignore=ignore, place="batches",
    )  # fmt: skip
    if lines:
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        raise HarnessError(
            f"{path} says otherwise:\n  " + "\n  ".join([*lines[:_SHOWN], *more]),
            hint="if the new values are right: pytest --ds-update-golden",
        )
