"""``dselements new``, and what it makes: installed by pip, inspected, launched, tested."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from dselements.cli import app
from dselements.cli.env import plugin_dir
from dselements.cli.new import FILES, Names, write
from dselements.errors import ScaffoldError

LONGEST = "a-package-with-quite-the-longest-name-ok"
PACKAGES = ("acme-gate", "Other_Firm.Gate")


def test_names() -> None:
    assert Names.of("Acme_Speed..Gate") == Names(
        "acme-speed-gate", "acme_speed_gate", "acmespeedgate", "AcmeSpeedGate"
    )
    assert Names.of("x", element="my-gate").element == "my-gate"


@pytest.mark.parametrize(
    ("name", "element", "told"),
    [
        ("", "", "'' cannot name a package"),
        ("../up", "", "cannot name a package"),
        ("-gate", "", "cannot name a package"),
        ("a b", "", "cannot name a package"),
        ("gáte", "", "cannot name a package"),
        ("class", "", "'class', which Python does not take"),
        ("3d-gate", "", "'3d_gate', which Python does not take"),
        ("json", "", "another module's name"),
        ("DSelements", "", "another module's name"),
        ("gate", "Gate", "'Gate' cannot name an element"),
        ("a" * 41, "", "longer than 40"),
    ],
)
def test_wrong_names_are_refused(name: str, element: str, told: str) -> None:
    with pytest.raises(ScaffoldError, match=told):
        Names.of(name, element)


def test_an_element_that_gstreamer_has_is_refused() -> None:
    pytest.importorskip("gi")
    with pytest.raises(ScaffoldError, match="an element 'identity' already, of the plugin coreel"):
        Names.of("gate", "identity").refuse_taken_element()
    Names.of("acme-gate").refuse_taken_element()


def test_a_folder_is_not_overwritten_without_force(tmp_path: Path) -> None:
    folder = tmp_path / "gate"
    folder.mkdir()
    names = Names.of("acme-gate")
    assert len(write(names, folder)) == len(FILES)  # it was empty
    (folder / "README.md").write_text("mine")
    (folder / "own.txt").write_text("mine")
    with pytest.raises(ScaffoldError, match="gate exists already"):
        write(names, folder)
    assert (folder / "README.md").read_text() == "mine"
    write(names, folder, force=True)
    assert (folder / "README.md").read_text().startswith("# acme-gate")
    assert (folder / "own.txt").read_text() == "mine"
    with pytest.raises(ScaffoldError, match="exists already"):
        write(names, folder / "README.md")
    with pytest.raises(ScaffoldError, match="cannot be written"):
        write(names, folder / "README.md", force=True)


def test_no_mark_is_left_and_ci_is_yaml(tmp_path: Path) -> None:
    for path in write(Names.of("acme-gate"), tmp_path):
        assert "@@" not in path.read_text(), path
    jobs = yaml.safe_load((tmp_path / ".github/workflows/ci.yml").read_text())["jobs"]
    assert jobs["test"]["runs-on"] == "ubuntu-24.04"
    assert any("pytest" in step.get("run", "") for step in jobs["test"]["steps"])


def python(*arguments: str, cwd: Path, **env: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env={**os.environ, **env},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["x1", LONGEST])
def test_what_it_makes_is_clean(tmp_path: Path, name: str) -> None:
    pytest.importorskip("mypy")
    write(Names.of(name), tmp_path)
    python("-m", "ruff", "check", ".", cwd=tmp_path)
    python("-m", "ruff", "format", "--check", ".", cwd=tmp_path)
    if name == "x1":
        python("-m", "mypy", cwd=tmp_path)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two new packages, installed by pip into a folder of their own."""
    folder = tmp_path_factory.mktemp("new")
    for name in PACKAGES:
        done = CliRunner().invoke(app, ["new", name, "-C", str(folder / name)])
        assert done.exit_code == 0, done.output
        assert "pip install" in done.output
    python(
        "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps",
        "--no-build-isolation", "--target", "site", *(f"./{name}" for name in PACKAGES),
        cwd=folder,
    )  # fmt: skip
    return folder / "site"


def test_elements_of_two_packages_run_in_one_gst_launch(site: Path, tmp_path: Path) -> None:
    pytest.importorskip("gi")
    from pipelines import shell

    assert (site / "acme_gate" / "py.typed").is_file()
    pipeline = (
        "videotestsrc num-buffers=5 ! dssynth num-objects=6 ! queue ! acmegate min-confidence=0.3 "
        "! otherfirmgate label=person ! dsosd ! videoconvert ! fakesink"
    )
    done = shell(
        ["bash", "-c", "gst-inspect-1.0 acmegate && gst-inspect-1.0 otherfirmgate && "
         f"gst-launch-1.0 -q {pipeline}"],
        tmp_path,
        PYTHONPATH=str(site),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("min-confidence      : Objects below are removed") == 2
    assert "acme_gate+element+AcmeGate" in done.stdout
    assert "other_firm_gate+element+OtherFirmGate" in done.stdout
    assert done.stdout.count("libgstpython.so") == 2


def test_they_register_in_a_python_program(site: Path, tmp_path: Path) -> None:
    """No gst-python loader, no plugin path."""
    pytest.importorskip("gi")
    code = (
        "import dselements as ds\n"
        "from gi.repository import Gst\n"
        "ds.register('acmegate', 'otherfirmgate', 'dssynth')\n"
        "made = Gst.ElementFactory.find('acmegate')\n"
        "assert made.get_metadata('description') == 'Removes unsure objects'\n"
        "assert made.get_plugin() is None\n"
        "ds.run('videotestsrc num-buffers=3 ! dssynth ! acmegate ! otherfirmgate ! fakesink')\n"
    )
    python(
        "-c", code, cwd=tmp_path, PYTHONPATH=str(site), GST_PLUGIN_PATH="",
        GST_REGISTRY=str(tmp_path / "registry.bin"),
    )  # fmt: skip


def test_its_own_tests_pass_as_generated(site: Path, tmp_path: Path) -> None:
    pytest.importorskip("gi")
    python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=site.parent / PACKAGES[0],
        PYTHONPATH=str(site), GST_PLUGIN_PATH=str(plugin_dir()),
        GST_REGISTRY=str(tmp_path / "registry.bin"),
    )  # fmt: skip
