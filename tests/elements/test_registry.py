"""Registration in this process and through the gst-python loader."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

gi = pytest.importorskip("gi")
from pipelines import Gst, shell

import dselements as ds
from dselements.element.registry import _declared, entry_classes
from dselements.elements import ELEMENTS
from dselements.errors import RegistrationError


def test_all_built_in_elements_register_and_can_be_made() -> None:
    ds.register()
    ds.register()  # again is fine
    for name in ELEMENTS:
        made = Gst.ElementFactory.make(name, None)
        assert made is not None, name
        assert made.get_factory().get_metadata("description")


@pytest.mark.parametrize("name", ["Upper", "9gate", "with space", "", "é"])
def test_names_that_gstreamer_does_not_take_are_refused(name: str) -> None:
    with pytest.raises(RegistrationError, match="cannot name an element"):
        ds.element(name, description="x")


def test_only_elements_can_be_named() -> None:
    with pytest.raises(RegistrationError, match="subclass of MetaTransform"):
        ds.element("notone", description="x")(object)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(RegistrationError, match="no element named 'nosuch'"):
        ds.register("nosuch")


def test_a_name_of_another_plugin_is_refused() -> None:
    @ds.element("identity", description="Not GStreamer's")
    class Identity(ds.MetaTransform):
        __gtype_name__ = "DsTestIdentity"

    with pytest.raises(RegistrationError, match="identity is an element of the plugin coreelem"):
        ds.register(Identity)
    assert Gst.ElementFactory.make("identity", None).__gtype__.name == "GstIdentity"
    del _declared["identity"]


def test_a_class_declared_again_takes_the_place_of_the_first() -> None:
    """As when a notebook's cell is run again."""

    def declare(text: str) -> type[Any]:
        @ds.element("testagain", description=text)
        class Again(ds.MetaTransform):
            value = ds.Property(text)

        return Again

    for text in ("first", "second"):
        ds.register(declare(text))
        made = Gst.ElementFactory.make("testagain", None)
        assert made.get_property("value") == text


def test_a_program_may_use_the_loader_and_register(tmp_path: Path) -> None:
    code = (
        "import dselements as ds\n"
        "from gi.repository import Gst\n"
        "Gst.init(None)\n"
        "{first}\n"
        "ds.register()\n"
        "ds.run('videotestsrc num-buffers=2 ! dssynth ! dspythonfilter ! fakesink')\n"
    )
    for first in ("", "assert Gst.ElementFactory.make('dsosd')"):
        done = shell([sys.executable, "-c", code.format(first=first)], tmp_path)
        assert done.returncode == 0, done.stderr


def test_the_decorator_also_works_when_the_package_was_imported_first() -> None:
    code = (
        "import dselements.element, dselements as ds\n"
        "@ds.element('x1', description='d')\n"
        "class X(ds.MetaTransform):\n    pass\n"
        "ds.register(X)\n"
        "from gi.repository import Gst\n"
        "assert Gst.ElementFactory.make('x1')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


PACKAGE = """
import dselements as ds

@ds.element("thirdparty", description="From another package")
class Third(ds.MetaTransform):
    __gtype_name__ = "ThirdParty"
    def process(self, batch):
        for frame in batch.frames:
            frame.add_object((1, 2, 3, 4), label="third", confidence=0.9)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder like site-packages with two third-party packages, one of them broken."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "third_elements.py").write_text(PACKAGE)
    for name, value in (("third", "third_elements:Third"), ("broken", "no_such_module:Nothing")):
        info = site / f"{name}_elements-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}-elements\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(f"[dselements.elements]\n{name} = {value}\n")
    return site


def test_third_party_elements_come_through_the_loader_and_a_broken_one_is_told(
    site: Path, tmp_path: Path
) -> None:
    done = shell(
        ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=5", "!", "dssynth", "!",
         "thirdparty", "!", "dspythonfilter", "keep-classes=third", "!", "fakesink"],
        tmp_path,
        PYTHONPATH=str(site),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "broken = no_such_module:Nothing cannot be loaded" in done.stderr
    assert "No module named 'no_such_module'" in done.stderr


def test_an_installed_element_with_a_taken_name_does_not_stop_the_others(
    site: Path, tmp_path: Path
) -> None:
    module = site / "third_elements.py"
    module.write_text(module.read_text().replace('"thirdparty"', '"queue"'))
    told = "queue is an element of the plugin coreelements already"
    code = (
        "import dselements as ds\n"
        "ds.run('videotestsrc num-buffers=2 ! queue ! dssynth ! fakesink')\n"
    )
    launched = ["gst-launch-1.0", "videotestsrc", "num-buffers=2", "!", "dssynth", "!", "fakesink"]
    for arguments in ([sys.executable, "-c", code], launched):
        done = shell(arguments, tmp_path, PYTHONPATH=str(site))
        assert done.returncode == 0, done.stderr
        assert told in done.stderr


def test_entry_classes_tells_each_broken_one(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))
    told: list[str] = []
    names = [cls._ds_name for cls in entry_classes(lambda where, error: told.append(where))]
    assert "thirdparty" in names
    assert set(ELEMENTS) <= set(names)
    assert told == ["broken = no_such_module:Nothing"]


def test_the_leaks_tracer_is_clean(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        textwrap.dedent(
            """
            import gc, dselements as ds
            from gi.repository import Gst
            ds.run("videotestsrc num-buffers=30 ! video/x-raw,width=64,height=48 ! dssynth ! "
                   "dspythonfilter min-confidence=0.5 ! fakesink")
            gc.collect()
            Gst.deinit()
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**__import__("os").environ, "GST_TRACERS": "leaks", "GST_DEBUG": "GST_TRACER:7"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    # A line of the tracer's own format has %s in it.
    leaked = [
        line for line in done.stderr.splitlines() if "object-alive, " in line and "%s" not in line
    ]
    assert leaked == []
