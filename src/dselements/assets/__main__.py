"""``python -m dselements.assets [--cache DIR] [NAME ...]``"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import DselementsError
from . import CLIPS, clip, default_cache, detector


def main(arguments: list[str] | None = None) -> int:
    """Fetch assets and print their paths. Returns the exit status."""
    names = ["detector", *CLIPS]
    parser = argparse.ArgumentParser(
        prog="python -m dselements.assets", description="Fetch the demo's detector and clips."
    )
    parser.add_argument("--cache", type=Path, help=f"folder to keep them in ({default_cache()})")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(names)}; default all")
    parser.add_argument("--quiet", action="store_true", help="print only the paths")
    options = parser.parse_args(arguments)

    def say(text: str) -> None:
        if not options.quiet:
            print(text, file=sys.stderr, flush=True)

    try:
        for name in options.names or names:
            if name == "detector":
                print(detector(options.cache, progress=say))
            else:
                print(clip(name, options.cache, progress=say))
    except DselementsError as error:
        print(f"dselements: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
