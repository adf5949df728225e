"""``python -m dselements``."""

from .cli import main

main()
