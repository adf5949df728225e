"""Prepares the package's docstrings for the site; a Griffe extension, named in mkdocs.yml.

Docstrings are written for ``help()``: fields in Sphinx's form, literals in double backquotes.
The site is Markdown. This turns roles into links, literal blocks into fenced ones, fields that
stand in a one-line docstring into fields on lines of their own, and gives columns and properties
the texts of their tables. It reads source code only: neither gi nor the native module is needed.
"""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe

log = logging.getLogger("mkdocs.plugins.site_docstrings")

PUBLIC = ("dselements", "dselements.meta", "dselements.element", "dselements.surface",
          "dselements.testing", "dselements.errors")  # fmt: skip
"""Packages whose ``__all__`` is the public API."""

ROLE = re.compile(r":(?:class|meth|func|attr|data|mod|exc):`([~.\w]+)`")
FIELD = re.compile(r"(?<=\S) +(?=:(?:raises|returns|param) ?[\w ]*:)")


class Docstrings(griffe.Extension):
    """Works on the whole package once it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Called by Griffe."""
        if pkg.name != "dselements":
            return
        columns = column_docs(Path(str(pkg["meta.fields"].filepath)))
        public = public_paths(pkg)
        for obj in walk(pkg):
            # How it is made is no matter of the reader's.
            obj.labels -= {"class-attribute", "instance-attribute"}
            if obj.docstring is None:
                text = described(obj, columns)
                if text:
                    obj.docstring = griffe.Docstring(text, parent=obj)
            if obj.docstring is not None:
                obj.docstring.value = markdown(obj.docstring.value, obj, public)


def walk(obj: Any) -> Iterator[Any]:
    """The object and everything defined in it; what is imported is visited at its home."""
    yield obj
    for member in list(obj.members.values()):
        if not member.is_alias:
            yield from walk(member)


def public_paths(pkg: Any) -> frozenset[str]:
    """Canonical paths of what the site's reference shows."""
    found = set()
    for path in PUBLIC:
        tail = path.removeprefix("dselements.")
        if path != pkg.name and tail not in pkg.members:
            continue  # a package of which only a part is looked at
        module = pkg if path == pkg.name else pkg[tail]
        for name in module.exports or ():
            member = module.members.get(str(name))
            if member is not None:
                found.add(member.final_target.path if member.is_alias else member.path)
    return frozenset(found)


# -- texts that stand elsewhere in the code ------------------------------------------------------
def column_docs(fields: Path) -> dict[str, tuple[str, str]]:
    """Name of each column to its meaning and its shape, out of the tables of meta/fields.py."""
    found: dict[str, tuple[str, str]] = {}
    for call in ast.walk(ast.parse(fields.read_text(encoding="utf-8"))):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "_columns"):
            continue
        for row in call.args[1:]:
            name, _, width, unit, doc = ast.literal_eval(row)
            shape = f"; shape (n, {width})" if width > 1 else ""
            found[f"{ast.unparse(call.args[0]).rpartition('.')[2]}.{name}"] = (
                f"{doc[0].upper()}{doc[1:]}{f' ({unit})' if unit else ''}",
                shape,
            )
    return found


def described(obj: Any, columns: dict[str, tuple[str, str]]) -> str:
    """Text for an attribute without a docstring that its table or its declaration describes."""
    if not obj.is_attribute:
        return ""
    if obj.parent is not None and obj.parent.name == "Objects":
        return "".join(columns.get(f"OBJECT.{obj.name}", ())) or PARTS.get(obj.name, "")
    try:
        call = ast.parse(str(obj.value or ""), mode="eval").body
    except SyntaxError:
        return ""
    if not isinstance(call, ast.Call):
        return ""
    maker = ast.unparse(call.func)
    if maker in ("scalar", "vector"):
        table, key = re.findall(r"(OBJECT|FRAME)_COLUMNS\[['\"](\w+)", ast.unparse(call))[0]
        return columns[f"{table}.{key}"][0]
    texts = [a for a in call.args[1:] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    texts += [k.value for k in call.keywords if k.arg == "help"]  # type: ignore[misc]
    text = str(texts[0].value) if maker in ("_part", "_text", "Property") and texts else ""
    return f"{text[:1].upper()}{text[1:]}"


PARTS = {
    "label": "Class name, str",
    "display_text": "Text that is drawn, str; None for none",
    "font_name": "Font family, str or None",
    "parent": "Row of the parent in these columns; -1 for none",
    "frame_index": "Row of the object's frame in `batch.frames`; read-only",
    "left": "View of `rect`: left edge, pixels",
    "top": "View of `rect`: top edge, pixels",
    "width": "View of `rect`: width, pixels",
    "height": "View of `rect`: height, pixels",
    "right": "Right edge, pixels; computed, read-only",
    "bottom": "Bottom edge, pixels; computed, read-only",
    "area": "Square pixels; computed, read-only",
    "center": "Middle of the box, shape (n, 2), pixels; computed, read-only",
    "center_x": "Middle of the box, pixels; computed, read-only",
    "center_y": "Middle of the box, pixels; computed, read-only",
    "tracked": "True if a tracker has given it an id; computed, read-only",
    "source_id": "source_id of the object's frame; computed, read-only",
    "frame_num": "frame_num of the object's frame; computed, read-only",
    "pad_index": "pad_index of the object's frame; computed, read-only",
}


# -- markup ----------------------------------------------------------------------------------------
def markdown(text: str, obj: Any, public: frozenset[str]) -> str:
    """A docstring as Markdown with fields on lines of their own."""
    text = FIELD.sub("\n\n", text)
    text = ROLE.sub(lambda m: link(m[1], obj, public), text)
    return fenced(text)


def link(target: str, obj: Any, public: frozenset[str]) -> str:
    """A link to a documented name; others stand as code."""
    shown = target.lstrip("~.")
    short = shown.rpartition(".")[2] if target.startswith("~") else shown
    if target.startswith("."):
        return f"`{short}`"  # a module: read it there
    try:
        path = resolved(obj.package if shown.startswith("dselements.") else obj, shown)
    except (griffe.NameResolutionError, KeyError):
        log.warning("%s: nothing is named %r here", obj.path, target)
        return f"`{short}`"
    known = any(path == name or path.startswith(f"{name}.") for name in public)
    return f"[`{short}`][{path}]" if known else f"`{short}`"


def resolved(obj: Any, name: str) -> str:
    """Canonical path of a name as seen from an object."""
    first, _, rest = name.removeprefix("dselements.").partition(".")
    scope = obj
    while scope is not None and first not in scope.members:
        scope = scope.parent
    if scope is None:
        raise griffe.NameResolutionError(name)
    found = scope.members[first]
    for part in filter(None, rest.split(".")):
        found = found[part]
    return str(found.final_target.path if found.is_alias else found.path)


def fenced(text: str) -> str:
    """Literal blocks (after a line that ends in ``::``) as fenced blocks."""
    out: list[str] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.rstrip().endswith("::"):
            out.append(line)
            continue
        lead = line.rstrip()[:-2].rstrip()
        indent = len(line) - len(line.lstrip())
        block = []
        while at < len(lines) and (
            not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > indent
        ):
            block.append(lines[at])
            at += 1
        pad = min((len(x) - len(x.lstrip()) for x in block if x.strip()), default=0)
        code = "\n".join(x[pad:] for x in block).strip("\n")
        kind = "c" if code.startswith("struct") else "sh" if "gst-launch" in code else "python"
        out += [f"{lead}:" if lead else "", "", f"```{kind}", code, "```", ""]
    return "\n".join(out)
