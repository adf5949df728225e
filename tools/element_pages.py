"""Writes docs/elements/*.md from the elements' own documentation, properties, and notes/*.md."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "elements.json"
PAGES = ROOT / "docs" / "elements"


def markdown(doc: str) -> str:
    """The module's docstring: its ``::`` block becomes a shell block, double backquotes single."""
    out: list[str] = []
    lines = doc.strip().splitlines()[2:]
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.rstrip().endswith("::"):
            lead = line.rstrip()[:-2].rstrip()
            if lead:
                out.append(f"{lead}:")
                out.append("")
            index += 1
            while index < len(lines) and not lines[index].strip():
                index += 1
            block = []
            while index < len(lines) and (not lines[index].strip() or lines[index][0] == " "):
                block.append(lines[index][4:])
                index += 1
            while block and not block[-1].strip():
                block.pop()
            language = "sh" if "gst-launch" in "".join(block) else "text"
            out += [f"```{language}", *shell(block), "```", ""]
            continue
        out.append(re.sub(r"``(.+?)``", r"`\1`", line))
        index += 1
    return "\n".join(out).strip() + "\n"


def shell(block: list[str]) -> list[str]:
    """A shell block that runs by itself."""
    if "gst-launch" not in "".join(block):
        return block
    return ['eval "$(dselements env)"', *block]


def row(name: str, spec: dict[str, Any]) -> str:
    """One line of the table of properties."""
    kind = spec["type"].removeprefix("g").replace("chararray", "string")
    default = spec["default"]
    shown = "" if default is None else f"`{json.dumps(default, ensure_ascii=False)}`"
    limits = f" {spec['minimum']:g} to {spec['maximum']:g}" if "minimum" in spec else ""
    when = "read-only"
    if "writable" in spec["flags"]:
        when = "playing" if "mutable while playing" in spec["flags"] else "before PAUSED"
    cells = (f"`{name}`", kind + limits, shown, when, spec["help"].replace("|", "\\|"))
    return f"| {' | '.join(cells)} |"


def page(name: str, element: dict[str, Any], doc: str) -> str:
    """The whole page."""
    parts = [f"# {name}", "", element["description"] + ".", "", markdown(doc)]
    parts += ["## Pads", "", "| pad | direction | presence | caps |", "|---|---|---|---|"]
    parts += [
        f"| `{pad}` | {p['direction']} | {p['presence']} | "
        + "<br>".join(f"`{caps}`" for caps in p["caps"])
        + " |"
        for pad, p in element["pads"].items()
    ]
    parts += [
        "",
        "## Properties",
        "",
        "| name | type | default | set | meaning |",
        "|---|---|---|---|---|",
    ]
    parts += [row(key, spec) for key, spec in element["properties"].items()]
    notes = PAGES / "notes" / f"{name}.md"
    if notes.is_file():
        parts += ["", notes.read_text().strip()]
    parts += ["", "<!-- Written by tools/element_pages.py. -->", ""]
    return "\n".join(parts)


def index(golden: dict[str, Any]) -> str:
    """The list of all elements."""
    parts = ["# Elements", "", "| element | what it does |", "|---|---|"]
    parts += [f"| [{name}]({name}.md) | {e['description']} |" for name, e in golden.items()]
    parts += ["", INDEX.strip(), "", "<!-- Written by tools/element_pages.py. -->", ""]
    return "\n".join(parts)


INDEX = """
Each page tells what the element does, its pads and its properties, and has a pipeline that runs.
`gst-inspect-1.0` shows the same of each. The tables say when a property can be set: "playing" is
at any time, "before PAUSED" only while the element is in NULL or READY.
"""


def pages() -> dict[Path, str]:
    """Path and text of every page."""
    from dselements.elements import ELEMENTS

    golden = json.loads(GOLDEN.read_text())
    return {PAGES / "index.md": index(golden)} | {
        PAGES / f"{name}.md": page(
            name,
            golden[name],
            importlib.import_module(target.split(":")[0].rpartition(".")[0]).__doc__ or "",
        )
        for name, target in ELEMENTS.items()
    }


def main() -> None:
    """Write the pages, or compare them with --check."""
    different = []
    for path, text in pages().items():
        if "--check" in sys.argv:
            if not path.is_file() or path.read_text() != text:
                different.append(str(path))
            continue
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    if different:
        sys.exit(f"differ: {', '.join(different)}; run tools/element_pages.py")


if __name__ == "__main__":
    main()
