"""What build-plugin checks before it compiles, and its command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dselements.cli import app
from dselements.cli.build_plugin import BuildSettings, build
from dselements.cli.build_plugin.sources import collect, first_line
from dselements.cli.build_plugin.toolchain import find_toolchain, need_cython
from dselements.errors import BuildError, MissingExtraError

ELEMENT = """
import dselements as ds

@ds.element("{name}", description="Does nothing")
class Nothing(ds.MetaTransform):
    def process(self, batch):
        pass
"""


def settings(**other: object) -> BuildSettings:
    given: dict[str, object] = {"sources": (Path("x.py"),), "output": Path("libgstx.so")}
    return BuildSettings(**{**given, **other})  # type: ignore[arg-type]


def test_names_come_from_the_file() -> None:
    one = settings(output=Path("out/libgstmy-gate.so"), license="Apache-2.0")
    assert (one.name, one.symbol) == ("my-gate", "gst_plugin_my_gate_get_desc")
    assert settings(name="other").name == "other"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"output": Path("gate.so")}, "gate.so is no name of a plugin .libgstNAME.so"),
        ({"output": Path("libgstGate.so")}, "is no name of a plugin"),
        ({"name": "a b"}, "'a b' cannot name a plugin"),
        ({"license": "WTFPL"}, "does not know the licence 'WTFPL' .one of LGPL"),
        ({"version": ""}, "version is empty"),
        ({"description": "a\nb"}, "description must be one line"),
        ({"optimize": 4}, "optimize=4"),
        ({"sources": ()}, "no Python file"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(BuildError, match=told):
        settings(**wrong)


def test_one_file_gets_a_package_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text('"""First line\n\nmore"""\n')
    modules = collect((tmp_path / "gate.py",), "my-gate")
    assert [(m.name, m.shown) for m in modules] == [("libgstmy_gate.gate", "gate.py")]
    assert first_line(modules) == "First line"


def test_a_package_keeps_its_names_and_comes_in_order(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    (package / "a" / "b").mkdir(parents=True)
    for name in ("__init__.py", "z.py", "a/__init__.py", "a/b/__init__.py", "a/b/x.py"):
        (package / name).write_text("")
    (package / "__main__.py").write_text("")
    names = [m.name for m in collect((package,), "p")]
    assert names == ["pack", "pack.z", "pack.a", "pack.a.b", "pack.a.b.x"]


def test_wrong_sources_are_refused(tmp_path: Path) -> None:
    for name, text in {
        "json.py": "", "if.py": "", "é.py": "", "broken.py": "def (", "a/m.py": "", "b/m.py": "",
        "folder/x.py": "", "pack/__init__.py": "", "pack/data/x.py": "", "text.txt": "",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    for names, told in {
        ("missing.py",): "neither a .py file nor the folder",
        ("text.txt",): "neither a .py file nor the folder",
        ("folder",): "has no __init__.py",
        ("pack",): "lies in a folder without __init__.py",
        ("pack/__init__.py",): "is part of a package",
        ("if.py",): "'if' cannot name a module",
        ("é.py",): "cannot name a module",
        ("json.py", "a/m.py"): "'json' would take the place",
        ("a/m.py", "b/m.py"): "are both the module m",
        ("broken.py",): "broken.py is no Python",
    }.items():
        with pytest.raises(BuildError, match=told):
            collect(tuple(tmp_path / name for name in names), "x")


def test_what_is_missing_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["dselements.cli.build_plugin.toolchain"]
    with monkeypatch.context() as patch:
        patch.setenv("CC", "no-such-compiler")
        with pytest.raises(BuildError, match=r"'no-such-compiler' .sudo apt install gcc libc6-dev"):
            find_toolchain()
    with monkeypatch.context() as patch:
        patch.setattr(module.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
        with pytest.raises(BuildError, match=r"Python\.h .sudo apt install python3\.\d+-dev"):
            find_toolchain()
    with monkeypatch.context() as patch:
        patch.setattr(module, "GSTREAMER", "libgstreamer-9.so.0")
        with pytest.raises(BuildError, match=r"finds no libgstreamer-9\.so\.0 .sudo apt install"):
            find_toolchain()
    with monkeypatch.context() as patch:
        patch.setattr(module.sysconfig, "get_config_var", lambda name: None)
        patch.setattr(module, "PYTHON_VERSION", "3.99")
        with pytest.raises(BuildError, match=r"no libpython3\.99\.so\.1\.0.*apt install libpython"):
            find_toolchain()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "Cython", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'dselements\[build\]'"):
            need_cython()


def test_a_fault_of_compiler_or_cython_is_shown(tmp_path: Path) -> None:
    source = tmp_path / "gate.py"
    source.write_text("cdef = 1\nmatch x:\n    case 1: pass\nyield 3\n")
    with pytest.raises(BuildError, match=r"Cython failed:(.|\n)*gate\.py"):
        build(settings(sources=(source,), output=tmp_path / "libgstx.so"))
    compiler = tmp_path / "cc"
    compiler.write_text(
        '#!/bin/sh\ncase "$1" in -print*) exec gcc "$@";; esac\necho boo >&2\nexit 1'
    )
    compiler.chmod(0o755)
    source.write_text("x = 1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(compiler))
        with pytest.raises(BuildError, match=r"the C compiler failed: .*cc -c(.|\n)*boo"):
            build(settings(sources=(source,), output=tmp_path / "libgstx.so", cython=False))
    assert not (tmp_path / "libgstx.so").exists()


def test_the_command_builds_checks_and_keeps_a_good_file(tmp_path: Path) -> None:
    pytest.importorskip("gi")
    source, output = tmp_path / "gate.py", tmp_path / "out" / "libgstbpcommand.so"
    source.write_text(ELEMENT.format(name="bpcommand"))
    arguments = ["build-plugin", str(source), "-o", str(output), "--no-cython", "-O", "0"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "plugin bpcommand for CPython" in done.output
    assert "  bpcommand: bpcommand" in done.output
    good = output.read_bytes()
    source.write_text("raise LookupError('at import')\n")
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, BuildError)
    assert "LookupError: at import" in str(done.exception)
    assert output.read_bytes() == good
    done = CliRunner().invoke(app, [*arguments, "--no-check"])
    assert done.exit_code == 0
    assert output.read_bytes() != good


def test_a_plugin_name_that_gstreamer_has_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("gi")
    source = tmp_path / "gate.py"
    source.write_text(ELEMENT.format(name="bpcommand"))
    done = subprocess.run(
        [sys.executable, "-m", "dselements", "build-plugin", str(source),
         "-o", str(tmp_path / "libgstcoreelements.so")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "GStreamer has a plugin coreelements already: /" in done.stderr
    assert "hint: choose another libgstNAME.so" in done.stderr
