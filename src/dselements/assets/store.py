"""The cache: checksums and whole files."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import AssetError

Progress = Callable[[str], None]


def silent(_text: str) -> None:
    """A progress callback that says nothing."""


def default_cache() -> Path:
    """``DSELEMENTS_CACHE``, or ``dselements`` in the user's cache folder."""
    chosen = os.environ.get("DSELEMENTS_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dselements"


def open_cache(cache_dir: Path | str | None) -> Path:
    """The cache's absolute path; made if it is not there.

    :raises AssetError: it cannot be made.
    """
    folder = Path(cache_dir) if cache_dir is not None else default_cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssetError(
            f"cannot make the cache folder {folder}: {error.strerror}",
            hint="set DSELEMENTS_CACHE to a folder that can be written",
        ) from error
    return folder.resolve()


def sha256(path: Path) -> str:
    """Checksum of a file in hexadecimal; empty if there is no such file."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except FileNotFoundError:
        return ""
    return digest.hexdigest()


def check(path: Path, wanted: str, what: str) -> None:
    """:raises AssetError: the file's checksum is another one."""
    found = sha256(path)
    if found != wanted:
        raise AssetError(
            f"{what} has sha256 {found or 'nothing'}, expected {wanted}",
            hint="the package changed or the download is broken; try again",
        )


@contextlib.contextmanager
def scratch(cache: Path) -> Iterator[Path]:
    """A folder in the cache's file system that goes away at the end.

    :raises AssetError: it cannot be made, or the disk is full.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=".fetch-", dir=cache))
    except OSError as error:
        raise AssetError(f"cannot write to the cache {cache}: {error.strerror}") from error
    try:
        yield folder
    except AssetError:
        raise
    except OSError as error:
        raise AssetError(f"cannot write to the cache {cache}: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
