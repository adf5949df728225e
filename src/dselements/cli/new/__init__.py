"""``dselements new``: the start of a package with an element of one's own."""

from .names import Names
from .write import FILES, write

__all__ = ["FILES", "Names", "write"]
