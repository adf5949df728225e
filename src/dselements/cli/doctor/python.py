"""Checks of this interpreter and its packages."""

from __future__ import annotations

import importlib.util
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, requires
from importlib.metadata import version as installed_version

from .context import Context
from .finding import Finding, error, info, ok, warning
from .probe import each

__all__ = ["extras", "interpreter", "native", "packages", "pyds"]

NEWEST = (3, 13)
NEEDED_BY = {"infer": "the element dsinfer and dselements demo"}
"""Extras that are missed more than others."""
_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*([^;]*)(?:;\s*(.*))?$")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def release(text: str) -> tuple[int, ...]:
    """The numbers of a version: ``2.0.1rc1`` is (2, 0, 1)."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(n) for n in found[0].split(".")) if found else ()


def fits(have: str, specifier: str) -> bool:
    """Whether a version meets every part of ``>=3.1,<4``; parts of other forms are passed over."""
    for part in specifier.split(","):
        match = re.match(r"^\s*(>=|<=|<|>)\s*([\d.]+)", part)
        if match is None:
            continue
        a, b = release(have), release(match[2])
        width = max(len(a), len(b))
        a, b = a + (0,) * (width - len(a)), b + (0,) * (width - len(b))
        if not {">=": a >= b, "<=": a <= b, "<": a < b, ">": a > b}[match[1]]:
            return False
    return True


def requirements() -> list[tuple[str, str, str]]:
    """Name, version specifier and extra (empty for none) of what dselements asks for."""
    found = []
    for text in requires("dselements") or ():
        match = _REQUIREMENT.match(text)
        if match:
            extra = _EXTRA.search(match[3] or "")
            found.append((match[1], match[2].strip(" ()"), extra[1] if extra else ""))
    return found


def interpreter(_: Context) -> Iterator[Finding]:
    """This Python."""
    text = f"Python {platform.python_version()} at {sys.executable} (environment {sys.prefix})"
    if sys.version_info[:2] > NEWEST:
        yield warning("python", f"{text} is newer than {NEWEST[0]}.{NEWEST[1]}, the last tested")
    else:
        yield ok("python", text)


def packages(_: Context) -> Iterator[Finding]:
    """numpy and msgspec."""
    specifiers = {name.lower(): spec for name, spec, extra in requirements() if not extra}
    for name, found in each("probe_import", ["numpy", "msgspec"]).items():
        specifier = specifiers.get(name, "")
        mend = f"{sys.executable} -m pip install -U '{name}{specifier}'"
        if "error" in found:
            yield error(name, f"{name} cannot be imported: {found['error']}", mend)
        elif not fits(found["version"], specifier):
            text = f"{name} {found['version']} at {found['file']} is not {specifier}"
            yield error(name, text, mend)
        else:
            yield ok(name, f"{name} {found['version']}")


def native(_: Context) -> Iterator[Finding]:
    """The compiled module."""
    name = "dselements._core._native"
    found = each("probe_import", [name])[name]
    if "error" in found:
        yield error(
            "native-module",
            f"the compiled module cannot be imported: {found['error']}",
            f"{sys.executable} -m pip install --force-reinstall --no-deps dselements",
        )
    else:
        yield ok("native-module", f"compiled module {found['file']}")


def _modules(package: str) -> list[str]:
    """Top-level modules of an installed distribution."""
    wanted = re.sub(r"[-_.]+", "-", package).lower()
    return sorted(
        module
        for module, owners in packages_distributions().items()
        if module.isidentifier()
        and not module.startswith("_")
        and any(re.sub(r"[-_.]+", "-", owner).lower() == wanted for owner in owners)
    )


def extras(_: Context) -> Iterator[Finding]:
    """Each optional extra of dselements."""
    table: dict[str, list[tuple[str, str]]] = {}
    for name, specifier, extra in requirements():
        if extra:
            table.setdefault(extra, []).append((name, specifier))
    for extra, wanted in sorted(table.items()):
        lacking, old, have, modules = [], [], [], []
        for name, specifier in wanted:
            try:
                version = installed_version(name)
            except PackageNotFoundError:
                lacking.append(name)
                continue
            have.append(f"{name} {version}")
            modules += _modules(name)[:1]
            if not fits(version, specifier):
                old.append(f"{name} {version} is not {specifier}")
        mend = f"{sys.executable} -m pip install 'dselements[{extra}]'"
        results = each("probe_import", modules)
        broken = [f"{m}: {r['error']}" for m, r in results.items() if "error" in r]
        told = []
        if broken:
            told.append(f"cannot be imported: {'; '.join(broken)}")
        if old:
            told.append(f"too old: {'; '.join(old)}")
        if lacking:
            told.append(f"not installed: {', '.join(lacking)}")
        if not told:
            yield ok("extra", f"the extra {extra}: {', '.join(have)}", extra)
            continue
        text = f"the extra {extra}: {'; '.join(told)}"
        if extra in NEEDED_BY:
            text += f"; needed by {NEEDED_BY[extra]}"
        level = warning if broken or old or extra in NEEDED_BY else info
        yield level("extra", text, mend, extra)


def _owner(module: str) -> tuple[str, str]:
    """The package that brings a module: its name, and its version and summary; empty if none."""
    for owner in packages_distributions().get(module, ()):
        found = distribution(owner)
        summary = " ".join(found.metadata.get_all("Summary") or ())
        return owner, f"{owner} {found.version}" + (f" ({summary})" if summary else "")
    return "", ""


def pyds(_: Context) -> Iterator[Finding]:
    """What ``import pyds`` brings."""
    compat = importlib.util.find_spec("dselements.compat") is not None
    ours = "dselements.compat.pyds has its names over dselements" if compat else ""
    spec = importlib.util.find_spec("pyds")
    if spec is None:
        also = f"; {ours}" if ours else ""
        yield ok("pyds", f"no module pyds, and elements need none{also}")
        return
    where = spec.origin or ", ".join(spec.submodule_search_locations or ())
    owner, package = _owner("pyds")
    named = f"pyds at {where}" + (f", of the package {package}" if package else "")
    found = each("probe_pyds", ["pyds"])["pyds"]
    if found.get("nvidia"):
        yield ok("pyds", f"NVIDIA's {named}")
    elif found.get("ours"):
        yield ok("pyds", f"pyds is dselements.compat.pyds ({where})")
    elif "error" in found and (spec.origin or "").endswith(".so"):
        text = f"{named} cannot be imported: {found['error']}"
        yield warning("pyds", text, "ldd " + where)
    else:
        failed = f" ({found['error']})" if "error" in found else ""
        text = (
            f"{named} is not NVIDIA's{failed}. On PyPI, pyds is an unrelated package that reads "
            "PDS labels of planetary data, and `pip install pyds` brings that; "
            "py_dempster_shafer has a module of that name too. NVIDIA's is a wheel of "
            "deepstream_python_apps"
        ) + (f"; {ours}" if ours else "")
        mend = f"{sys.executable} -m pip uninstall -y {owner}" if owner else f"ls -l {where}"
        yield warning("pyds", text, mend)
