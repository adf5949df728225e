"""Plugins that ``dselements build-plugin`` makes, in programs of C and of Python."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("gi")
from pipelines import shell
from plugin_sources import GATE, HOST, MAKER, PACKAGE

from dselements.cli.build_plugin import BuildSettings, build
from dselements.cli.env import plugin_dir

SYSTEM = ("libgstcoreelements.so", "libgstvideotestsrc.so")
SOURCE = "videotestsrc num-buffers=4 ! video/x-raw,width=64,height=48 ! "
MAKE = f"{SOURCE}bpmake ! queue ! "
COMPILED = [True, False]


def made(
    folder: Path, name: str, code: str, *, file: str = "gate.py", cython: bool = False
) -> Path:
    """A plugin of one file."""
    source = folder / name / file
    source.parent.mkdir()
    source.write_text(code)
    output = folder / "plugins" / f"libgst{name}.so"
    build(
        BuildSettings(
            sources=(source,), output=output, version="3.2.1", license="MIT", cython=cython,
            package="A package", origin="https://example.org", optimize=0,
        )
    )  # fmt: skip
    return output


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of GStreamer's plugins without the gst-python loader; quick to scan, too."""
    folder = tmp_path_factory.mktemp("system")
    out = subprocess.run(
        ["gst-inspect-1.0", "coreelements"], capture_output=True, text=True, check=True
    ).stdout
    line = next(x for x in out.splitlines() if x.strip().startswith("Filename"))
    for name in SYSTEM:
        (folder / name).symlink_to(Path(line.split()[-1]).parent / name)
    return str(folder)


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two plugins whose source files have the same name; one is compiled, one bytecode."""
    folder = tmp_path_factory.mktemp("plugins")
    made(folder, "bpmaker", MAKER, cython=True)
    made(folder, "bpgate", GATE)
    return folder / "plugins"


def run(
    arguments: list[str], tmp_path: Path, path: Path | str, system: str, **env: str
) -> subprocess.CompletedProcess[str]:
    """In a fresh process that sees these plugins and no gst-python loader."""
    return shell(
        arguments, tmp_path, GST_PLUGIN_PATH=str(path), GST_PLUGIN_SYSTEM_PATH=system, **env
    )


@pytest.mark.parametrize("fork", ["yes", "no"])
def test_a_c_program_finds_plugin_and_elements_without_the_loader(
    plugins: Path, system: str, tmp_path: Path, fork: str
) -> None:
    done = run(
        ["bash", "-c", "! gst-inspect-1.0 python && "
         "gst-inspect-1.0 --plugin bpmaker && gst-inspect-1.0 bpgate"],
        tmp_path, plugins, system, GST_REGISTRY_FORK=fork,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = {" ".join(line.split()) for line in done.stdout.splitlines()}
    version = f"[CPython {sys.version_info.major}.{sys.version_info.minor}]"
    assert {
        "Name bpmaker", f"Description Makes objects and counts them {version}", "Version 3.2.1",
        "License MIT/X11", f"Filename {plugins}/libgstbpmaker.so", "Binary package A package",
        "Origin URL https://example.org", "bpcount: bpcount", "bpmake: bpmake", "+-- 2 elements",
        f"Filename {plugins}/libgstbpgate.so", "Rank none + 7 (7)", "Name bpgate",
    } <= said, done.stdout  # fmt: skip
    assert done.stderr in ("", "No such element or plugin 'python'\n")


@pytest.mark.parametrize("fork", ["yes", "no"])
def test_two_plugins_work_in_one_c_program(
    plugins: Path, system: str, tmp_path: Path, fork: str
) -> None:
    """Their first buffers come in threads that C code has made."""
    done = run(
        ["gst-launch-1.0", "-q", *f"{MAKE}bpgate ! queue ! bpcount ! fakesink".split()],
        tmp_path, plugins, system, GST_REGISTRY_FORK=fork, G_DEBUG="fatal-criticals",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "counted [2, 2, 2, 2]\n"


@pytest.mark.parametrize("order", [1, -1])
def test_plugins_work_beside_the_loader(plugins: Path, tmp_path: Path, order: int) -> None:
    """Whichever boots Python, the elements of both belong to their plugins."""
    pipeline = f"{MAKE}bpgate ! dspythonfilter min-confidence=0.7 ! bpcount ! fakesink"
    done = shell(
        ["bash", "-c", f"gst-launch-1.0 -q {pipeline} && gst-inspect-1.0 --plugin python"],
        tmp_path,
        GST_PLUGIN_PATH=os.pathsep.join([str(plugins), str(plugin_dir())][::order]),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("counted [1, 1, 1, 1]\n")
    assert "dspythonfilter: dspythonfilter" in done.stdout


def test_python_may_boot_in_a_thread_that_ends(plugins: Path, system: str, tmp_path: Path) -> None:
    source, program = tmp_path / "host.c", tmp_path / "host"
    source.write_text(HOST)
    subprocess.run(
        ["gcc", "-w", "-o", str(program), str(source), "-l:libgstreamer-1.0.so.0", "-lpthread"],
        check=True,
    )
    done = run([str(program), f"{MAKE}bpcount ! fakesink"], tmp_path, plugins, system)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "counted [3, 3, 3, 3]\nend of stream\n"


LOADS = """
import sys, gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
assert "dselements" not in sys.modules
made = Gst.Plugin.load_file(sys.argv[1] + "/libgstbpmaker.so")
assert (made.get_name(), made.get_version(), made.get_license()) == ("bpmaker", "3.2.1", "MIT/X11")
assert made.get_filename().endswith("/libgstbpmaker.so")
gate = Gst.Plugin.load_by_name("bpgate")
assert gate.is_loaded() and gate.get_description().startswith("Elements of gate.py [CPython")
assert Gst.ElementFactory.find("bpgate").get_plugin_name() == "bpgate"
assert Gst.ElementFactory.find("bpcount").get_plugin().get_name() == "bpmaker"
import dselements as ds
ds.register()
pipeline = Gst.parse_launch(sys.argv[2])
assert type(pipeline.get_by_name("g")).__module__ == "libgstbpgate.gate"
pipeline.set_state(Gst.State.PLAYING)
kinds = Gst.MessageType.EOS | Gst.MessageType.ERROR
message = pipeline.get_bus().timed_pop_filtered(60 * Gst.SECOND, kinds)
assert message.type == Gst.MessageType.EOS
pipeline.set_state(Gst.State.NULL)
"""


@pytest.mark.parametrize("python", [sys.executable, "/usr/bin/python3"])
def test_plugins_join_a_python_program(
    plugins: Path, system: str, tmp_path: Path, python: str
) -> None:
    """Also one whose own environment has no dselements."""
    if not Path(python).exists() or Path(python).resolve() != Path(sys.executable).resolve():
        pytest.skip("another Python than the one the plugins are built for")
    done = run(
        [python, "-c", LOADS, str(plugins), f"{MAKE}bpgate name=g ! bpcount ! fakesink"],
        tmp_path, plugins, system,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "counted [2, 2, 2, 2]\n"


@pytest.mark.parametrize("cython", COMPILED)
def test_a_package_of_several_modules(system: str, tmp_path: Path, cython: bool) -> None:
    package = tmp_path / "bppackage"
    for name, text in PACKAGE.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    (tmp_path / "gate.py").write_text(GATE)
    output = tmp_path / "out" / "libgstbp-package.so"
    result = build(
        BuildSettings(
            sources=(package, tmp_path / "gate.py"), output=output, cython=cython, optimize=0
        )
    )
    assert set(result.modules) == {
        "bppackage", "bppackage.one", "bppackage.parts", "bppackage.parts.helper", "gate"
    }  # fmt: skip
    pipeline = f"{SOURCE}bpone ! bptwo ! bpgate ! fakesink"
    done = run(
        ["bash", "-c", f"gst-inspect-1.0 --plugin bp-package && gst-launch-1.0 -q {pipeline}"],
        tmp_path, output.parent, system,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "A package of two elements" in done.stdout
    assert "3 elements" in done.stdout


FAULTS = {
    "import": ("import bp_needed\n" + GATE, "ModuleNotFoundError: No module named 'bp_needed'"),
    "none": ("x = 1\n", "RegistrationError: the plugin bpfault has no element"),
    "twice": (GATE + GATE.replace("Gate(", "Other("), "has two elements 'bpgate'"),
    "exit": ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
    "clash": (GATE.replace("bpgate", "fakesink"), "fakesink is an element of the plugin coreel"),
}


@pytest.mark.parametrize(
    ("fault", "cython"), [*((fault, False) for fault in FAULTS), ("import", True), ("exit", True)]
)
def test_a_fault_in_the_module_is_told_and_the_load_fails(
    system: str, tmp_path: Path, fault: str, cython: bool
) -> None:
    code, told = FAULTS[fault]
    output = made(tmp_path, "bpfault", code, cython=cython)
    load = textwrap.dedent(
        """
        import sys, gi
        gi.require_version("Gst", "1.0")
        from gi.repository import GLib, Gst
        Gst.init(None)
        for _ in range(2):
            try:
                Gst.Plugin.load_file(sys.argv[1])
            except GLib.Error as error:
                print(error.message)
        import dselements as ds
        ds.register()
        """
    )
    for arguments in (["gst-inspect-1.0", str(output)], [sys.executable, "-c", load, str(output)]):
        done = run(arguments, tmp_path, "", system, GST_DEBUG="GST_PLUGIN_LOADING:1")
        assert told in done.stderr
        assert f"run: touch {output}" in done.stderr
        assert "failed to initialize" in done.stdout + done.stderr
        assert "ERROR" in done.stderr
        assert done.returncode in (0, 1, 255), done.stderr


def test_a_plugin_that_was_refused_comes_back_after_a_touch(system: str, tmp_path: Path) -> None:
    output = made(tmp_path, "bpneeds", FAULTS["import"][0])
    blacklist = ["bash", "-c", "gst-inspect-1.0 -b; gst-inspect-1.0 bpgate"]
    done = run(blacklist, tmp_path, output.parent, system)
    assert "  libgstbpneeds.so" in done.stdout
    assert done.stderr.count("No module named 'bp_needed'") == 1  # scanned once, and remembered
    (tmp_path / "bp_needed.py").touch()
    os.utime(output, (1, 1))
    done = run(blacklist, tmp_path, output.parent, system, PYTHONPATH=str(tmp_path))
    assert "libgstbpneeds.so" not in done.stdout.partition("Total count")[0]
    assert "Removes unsure objects" in done.stdout


def test_a_module_name_of_another_plugin_is_refused(system: str, tmp_path: Path) -> None:
    for name in ("bpfirst", "bpsecond"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "gate.py").write_text(GATE.replace("bpgate", f"{name}gate"))
        (folder / "bphelper.py").write_text("")
        build(
            BuildSettings(
                sources=(folder / "gate.py", folder / "bphelper.py"), cython=False, optimize=0,
                output=tmp_path / "out" / f"libgst{name}.so",
            )
        )  # fmt: skip
    done = run(["gst-inspect-1.0", "-b"], tmp_path, tmp_path / "out", system)
    assert "Total count: 1 blacklisted file" in done.stdout
    assert "brings a Python module" in done.stderr


# -- which Python --------------------------------------------------------------


def test_another_version_of_python_is_refused(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["dselements.cli.build_plugin.build"]
    monkeypatch.setattr(module, "PYTHON_VERSION", "3.9")
    output = made(tmp_path, "bpmaker", GATE)
    running = ".".join(map(str, sys.version_info[:3]))
    for arguments in (
        ["gst-inspect-1.0", str(output)],
        [sys.executable, "-c", LOADS, str(output.parent), ""],
    ):
        done = run(arguments, tmp_path, output.parent, system)
        assert f"built for CPython 3.9, but this process has Python {running}" in done.stderr
        assert done.returncode in (1, 255)


def test_another_python_library_that_runs_is_refused(
    plugins: Path, system: str, tmp_path: Path
) -> None:
    source, library = tmp_path / "other.c", tmp_path / "libpython3.99.so.1.0"
    source.write_text("int Py_IsInitialized(void) { return 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    code = f"import ctypes; ctypes.CDLL({str(library)!r})\n{LOADS}"
    done = run([sys.executable, "-c", code, str(plugins), ""], tmp_path, plugins, system)
    assert "but libpython3.99.so.1.0 runs in this process already" in done.stderr
    assert done.returncode == 1


def test_the_environment_variable_chooses_the_environment(
    plugins: Path, system: str, tmp_path: Path
) -> None:
    plugin = str(plugins / "libgstbpgate.so")
    for value, told in (
        ("/no/such/python", "DSELEMENTS_PYTHON names no Python: /no/such/python"),
        ("/usr/bin/python3", "No module named 'dselements'"),
        (sys.prefix, ""),
        (sys.executable, ""),
    ):
        done = run(["gst-inspect-1.0", plugin], tmp_path, "", system, DSELEMENTS_PYTHON=value)
        assert (done.returncode == 0) == (told == ""), done.stderr
        assert told in done.stderr
