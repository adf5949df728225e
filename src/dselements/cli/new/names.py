"""The names of a new package; checked."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass

from ...errors import ScaffoldError

__all__ = ["Names"]

_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_ELEMENT = re.compile(r"[a-z][a-z0-9_-]*")
_LONGEST = 40
_TAKEN = frozenset({"dselements", "gi", "numpy", "pytest", "tests", "test", "gst", "pyds"})


@dataclass(frozen=True)
class Names:
    """``acme-speed-gate``: package ``acme_speed_gate``, element ``acmespeedgate``."""

    distribution: str
    """As on a package index, normalised: lower case, one ``-`` between words."""
    package: str
    """As in ``import``."""
    element: str
    """As in gst-launch-1.0."""
    cls: str
    """The Python class."""

    @classmethod
    def of(cls, name: str, element: str = "") -> Names:
        """All names from the one the user gave.

        :param element: the element's name; made from ``name`` when empty.
        :raises ScaffoldError: for a name that packages, Python or GStreamer do not take.
        """
        if not _DISTRIBUTION.fullmatch(name):
            raise ScaffoldError(
                f"{name!r} cannot name a package",
                hint="letters, digits and - _ . between them (PEP 508)",
            )
        if len(name) > _LONGEST:
            raise ScaffoldError(f"{name!r} is longer than {_LONGEST} characters")
        distribution = re.sub(r"[-_.]+", "-", name).lower()
        package = distribution.replace("-", "_")
        if not package.isidentifier() or keyword.iskeyword(package):
            raise ScaffoldError(
                f"{name!r} would be imported as {package!r}, which Python does not take",
                hint="begin with a letter, and avoid Python's keywords",
            )
        if package in _TAKEN or package in sys.stdlib_module_names:
            raise ScaffoldError(
                f"{name!r} would be imported as {package!r}, which is another module's name",
                hint="choose a name of your own, such as acme-speedgate",
            )
        element = element or package.replace("_", "")
        if not _ELEMENT.fullmatch(element) or len(element) > _LONGEST:
            raise ScaffoldError(
                f"{element!r} cannot name an element",
                hint="--element with lower-case letters, digits, - and _",
            )
        words = re.split(r"[-_]+", distribution)
        return cls(distribution, package, element, "".join(w[:1].upper() + w[1:] for w in words))

    def refuse_taken_element(self) -> None:
        """Raise ScaffoldError if GStreamer has an element of this name already.

        Where GStreamer is not installed there is nobody to ask.
        """
        try:
            import gi

            gi.require_version("Gst", "1.0")
            from gi.repository import Gst
        except (ImportError, ValueError):
            return
        Gst.init(None)
        factory = Gst.ElementFactory.find(self.element)
        if factory is not None:
            owner = factory.get_plugin_name() or "this process"
            raise ScaffoldError(
                f"GStreamer has an element {self.element!r} already, of the plugin {owner}",
                hint="choose another with --element",
            )
