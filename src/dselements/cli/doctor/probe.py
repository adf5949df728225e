"""Runs what may crash, hang or be missing in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Outcome", "Probed", "each", "run", "script"]

PROBES = Path(__file__).parent / "probes"
TIMEOUT_S = 120.0


class Outcome(NamedTuple):
    """How a command ended."""

    code: int | None
    """Exit code; negative for a signal; None if it could not be started or ran too long."""
    out: str
    err: str

    def failure(self) -> str:
        """What went wrong in one line; empty if it went well."""
        if self.code == 0:
            return ""
        if self.code is None:
            return self.err
        lines = [x for x in self.err.splitlines() if x.strip()]
        last = f": {lines[-1].strip()}" if lines else ""
        if self.code < 0:
            try:
                name = signal.Signals(-self.code).name
            except ValueError:
                name = f"signal {-self.code}"
            return f"the process crashed ({name}){last}"
        return f"exit code {self.code}{last}"


class Probed(NamedTuple):
    """What a probe script said before it ended."""

    records: list[dict[str, Any]]
    failure: str
    """How it ended, if not well."""
    err: str


def run(
    command: Sequence[str], env: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S
) -> Outcome:
    """Run a command to its end, with its output."""
    try:
        done = subprocess.run(
            list(command),
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(None, "", f"{command[0]} did not end within {timeout_s:.0f} s")
    except OSError as error:
        return Outcome(None, "", f"{command[0]} cannot be started: {error}")
    out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return Outcome(done.returncode, out, err)


def read_records(path: Path) -> list[dict[str, Any]]:
    """JSON lines; a last one that was cut off by a crash is left out."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def script(name: str, *arguments: str, env: Mapping[str, str] | None = None) -> Probed:
    """Run ``probes/NAME.py OUTPUT ARGUMENTS…`` with this interpreter."""
    with tempfile.TemporaryDirectory(prefix="dselements-doctor-") as folder:
        output = Path(folder) / "out.jsonl"
        command = [sys.executable, str(PROBES / f"{name}.py"), str(output), *arguments]
        done = run(command, os.environ if env is None else env)
        return Probed(read_records(output), done.failure(), done.err)


def each(
    name: str, items: Sequence[str], env: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """One record for each item; an item at which the process ends gets the record
    ``{"error": how}`` and the ones after it are tried in a new process.

    The script writes ``{"begin": item}`` before it tries an item, ``{"item": item, …}`` after.
    """
    found: dict[str, dict[str, Any]] = {}
    left = list(items)
    while left:
        probed = script(name, *left, env=env)
        begun = None
        for record in probed.records:
            if "begin" in record:
                begun = record["begin"]
            elif "item" in record:
                found[record["item"]] = record
        if begun is not None and begun not in found:
            found[begun] = {"item": begun, "error": probed.failure or "the process just ended"}
        rest = [item for item in left if item not in found]
        if len(rest) == len(left):
            reason = probed.failure or "the probe said nothing"
            found.update({item: {"item": item, "error": reason} for item in rest})
            break
        left = rest
    return found
