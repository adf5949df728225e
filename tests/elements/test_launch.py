"""The elements in gst-launch-1.0 and gst-inspect-1.0, found through the gst-python loader."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("gi")
from pipelines import shell

from dselements.cli.env import plugin_dir

ROOT = Path(__file__).parents[2]
SYNTH = "videotestsrc num-buffers=5 ! video/x-raw,width=64,height=48 ! dssynth ! "
# A third of what a pipeline costs is the scan for plugins: once for all tests.
pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder whose registry knows the elements."""
    folder = tmp_path_factory.mktemp("registry")
    assert shell(["gst-inspect-1.0", "dssynth"], folder).returncode == 0
    return folder


def test_the_repository_has_the_file_where_gstreamer_looks() -> None:
    assert (ROOT / "gst" / "python").resolve() == plugin_dir() / "python"


@pytest.mark.parametrize(
    "pipeline",
    [
        f"{SYNTH}dspythonfilter min-confidence=0.5 ! fakesink",
        f"{SYNTH}tee name=t t. ! queue ! dspythonfilter ! fakesink t. ! queue ! dspythonfilter "
        "! fakesink",
        "videotestsrc num-buffers=5 ! m.sink_0 videotestsrc num-buffers=5 ! m.sink_1 "
        "dsmux name=m ! dsdemux name=d d. ! queue ! fakesink d. ! queue ! fakesink",
    ],
)
def test_criticals_and_leaks_of_gstreamer_are_none(pipeline: str, registry: Path) -> None:
    done = shell(
        ["gst-launch-1.0", "-q", *pipeline.split()],
        registry,
        G_DEBUG="fatal-criticals",
        GST_TRACERS="leaks",
        GST_DEBUG="GST_TRACER:7",
        GST_DEBUG_NO_COLOR="1",
    )
    assert done.returncode == 0, done.stderr
    assert "CRITICAL" not in done.stderr
    assert "object-alive.class" in done.stderr  # the tracer was there
    alive = [
        line for line in done.stderr.splitlines() if " object-alive, " in line and "%s" not in line
    ]
    assert alive == []


@pytest.mark.parametrize(
    ("settings", "rc", "told"),
    [
        ("on-error=nonsense", 255, "PropertyValueError: on-error cannot be 'nonsense'"),
        ("on-error=nonsense", 255, "hint: one of fail, drop, pass"),
        ("min-confidence=5", 0, "out of range for property 'min-confidence'"),
        ("min-confidence=much", 1, 'could not set property "min-confidence"'),
        ("no-such-thing=1", 1, 'no property "no-such-thing" in element'),
    ],
)
def test_wrong_settings_are_told(settings: str, rc: int, told: str, registry: Path) -> None:
    done = shell(
        ["gst-launch-1.0", "-q", *f"{SYNTH}dspythonfilter {settings} ! fakesink".split()], registry
    )
    assert done.returncode == rc
    assert told in done.stderr


def test_an_inspection_of_each_element_works(registry: Path) -> None:
    done = shell(
        ["bash", "-c", "for e in dsdemux dsinfer dsmux dsosd dspythonfilter dssynth; "
         "do gst-inspect-1.0 $e || exit 1; done"],
        registry,
        G_DEBUG="fatal-criticals",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Factory Details:") == 6
    assert 'String. Default: "fail"' in done.stdout


def test_stderr_of_a_good_pipeline_is_empty(registry: Path) -> None:
    done = shell(["gst-launch-1.0", "-q", *f"{SYNTH}dspythonfilter ! fakesink".split()], registry)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
