"""What a run of the demo found and cost."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table


class ElementCost(msgspec.Struct, frozen=True):
    """Time that one element spent in Python, from its ``stats`` property."""

    name: str
    buffers: int
    mean_us: float
    """Microseconds a buffer, mean."""
    max_us: float

    @classmethod
    def of(cls, element: Any) -> ElementCost:
        """Read an element's ``stats``."""
        stats = element.get_property("stats")
        buffers = stats.get_value("buffers")
        return cls(
            name=element.get_name(),
            buffers=buffers,
            mean_us=stats.get_value("process-ns") / 1e3 / buffers if buffers else 0.0,
            max_us=stats.get_value("process-ns-max") / 1e3,
        )


class Report(msgspec.Struct, frozen=True):
    """Result of one run."""

    frames: int
    fps: float
    classes: dict[str, dict[str, int]]
    """For each label: found, kept, removed."""
    elements: list[ElementCost]
    leaked_batches: int
    """Batch metadata still alive after the pipeline was taken down; 0 unless something leaks."""
    output: str
    objects: str
    error: str
    """What broke in mid-run; empty if nothing did."""


def print_report(report: Report, *, as_json: bool) -> None:
    """Print tables for people, or one JSON object for machines, to standard output."""
    console = Console()
    if as_json:
        print(msgspec.json.encode(report).decode())
        return
    objects = Table(title="Objects", title_justify="left")
    for column in ("class", "found", "kept", "removed"):
        objects.add_column(column, justify="left" if column == "class" else "right")
    totals = [0, 0, 0]
    for label, row in sorted(report.classes.items(), key=lambda item: -item[1]["found"]):
        values = [row["found"], row["kept"], row["removed"]]
        totals = [a + b for a, b in zip(totals, values, strict=True)]
        objects.add_row(label, *map(str, values))
    objects.add_section()
    objects.add_row("all", *map(str, totals))
    costs = Table(title="Time in Python", title_justify="left")
    for column in ("element", "buffers", "µs a buffer", "µs at most"):
        costs.add_column(column, justify="left" if column == "element" else "right")
    for cost in report.elements:
        costs.add_row(cost.name, str(cost.buffers), f"{cost.mean_us:.1f}", f"{cost.max_us:.1f}")
    console.print(objects)
    console.print(costs)
    console.print(f"frames {report.frames}   fps {report.fps:.1f}   leaks {report.leaked_batches}")
    console.print(f"video   {report.output}", markup=False)
    console.print(f"objects {report.objects}", markup=False)
    if report.error:
        console.print(f"error   {report.error}", style="red", markup=False)
