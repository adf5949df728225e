"""Loads entry points of the group: OUTPUT ENTRY…; a record for each, with what is mapped then."""

from __future__ import annotations

import json
import sys
import traceback


def main() -> None:
    del sys.path[0]
    from dselements.entry_group import installed

    by_key = {f"{entry.name} = {entry.value}": entry for entry in installed()}
    with open(sys.argv[1], "w", encoding="utf-8") as output:
        for key in sys.argv[2:]:
            print(json.dumps({"begin": key}), file=output, flush=True)
            record: dict[str, object] = {"item": key}
            names: list[str] = []
            errors: list[str] = []
            try:
                from dselements.element.registry import loaders

                for where, load in loaders(by_key[key]):
                    try:
                        names.append(load()._ds_name)
                    except BaseException as error:  # noqa: BLE001 -- it is what is asked for
                        errors.append(f"{where}: {type(error).__name__}: {error}{place(error)}")
            except BaseException as error:  # noqa: BLE001 -- it is what is asked for
                errors.append(f"{type(error).__name__}: {error}{place(error)}")
            record["names"] = names
            if errors:
                record["error"] = "; ".join(errors)
            print(json.dumps(record), file=output, flush=True)


def place(error: BaseException) -> str:
    """The last line of code that is not the import system's."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "<frozen" not in f.filename]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if len(frames) > 1 else ""


main()
