"""Writes docs/reference/errors.md from the table in errors.py; --check only compares."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from dselements.errors import TABLE, ErrorRow

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "reference" / "errors.md"
HELP = "troubleshooting.md"
HEAD = """# Errors

Every error that dselements raises on purpose is a `DselementsError` and, at the same time, the
builtin that you would catch. `error.message` says what is wrong, `error.hint` how to mend it. An
element posts it on the bus in the domain and with the code below, and with the traceback in its
details. All are in `dselements.errors`.

| error | is also a | on the bus | raised when | what to do |
|---|---|---|---|---|
"""
FOOT = """
"What to do" is the usual hint; where it is empty, the hint depends on the case. The whole kind is
caught so:

```python title="catch.py"
import dselements as ds

try:
    with ds.Batch.synthetic([{"objects": [{"rect": (0, 0, float("nan"), 9)}]}]):
        pass
except ds.errors.DselementsError as error:
    assert isinstance(error, ValueError)  # NonFiniteValueError is one
    print(error.message)
    print(error.hint)
```

::: dselements.errors.DselementsError

<!-- Written by tools/error_table.py. -->
"""


def sections() -> dict[str, str]:
    """Names in the headings of the page that helps, and the anchor of each."""
    found = {}
    for heading in re.findall(r"^###? (.+)$", (DOCS / HELP).read_text(), re.MULTILINE):
        anchor = re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-")
        found |= dict.fromkeys(re.findall(r"\w+Error", heading), anchor)
    return found


def row(error: ErrorRow, anchors: dict[str, str]) -> str:
    """One line of the table."""
    anchor = anchors.get(error.name)
    more = f" ([more](../{HELP}#{anchor}))" if anchor else ""
    cells = (
        f'<a id="{error.name}"></a>`{error.name}`',
        f"`{error.builtin.__name__}`",
        f"{error.gst_domain}, `{error.gst_code}`",
        error.doc,
        f"{error.hint}{more}".strip(),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main() -> None:
    """Write the page, or compare it."""
    anchors = sections()
    rows = [row(error, anchors) for error in sorted(TABLE, key=lambda e: e.name)]
    text = HEAD + "".join(rows) + FOOT
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.is_file() and PAGE.read_text() == text else f"{PAGE} differs")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text)
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
