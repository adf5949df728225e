"""dspython: classes and functions without registration, in pipelines and in gst-launch."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gi")
from pipelines import Gst, launch, play, shell, texts

from dselements.errors import HarnessError
from dselements.testing import ElementHarness, assert_no_leaks

USER = """\
import dselements as ds

LOG = []

def keep(batch, limit=0.5):
    batch.remove(batch.objects.confidence < limit)

class Counter:
    element = None
    def __init__(self, start=0):
        self.seen = start
    def start(self):
        LOG.append("start")
    def stop(self):
        LOG.append("stop")
    def on_caps(self, caps):
        LOG.append("caps")
    def on_source_added(self, source_id, info):
        LOG.append(("added", source_id))
    def on_source_eos(self, source_id):
        LOG.append(("eos", source_id))
    def process(self, batch):
        self.seen += len(batch.objects)
        for frame in batch.frames:
            frame.payloads["seen"] = self.seen
            frame.payloads["log"] = [list(x) if isinstance(x, tuple) else x for x in LOG]
        if self.seen > 100:
            self.element.post_element_message("full", seen=self.seen)
            return ds.DROP

class Full(ds.MetaTransform):
    limit = ds.Property(0.5, min=0.0, max=1.0)
    def process(self, batch):
        if self.video_info.width != 64:
            raise ValueError("no size")
        batch.remove(batch.objects.confidence < self.limit)
        self.post_warning("from inside")

class Broken:
    def __init__(self):
        raise OSError("no camera")
    def process(self, batch):
        pass
"""

TWO = [{"bbox": (0, 0, 5, 5), "confidence": c} for c in (0.4, 0.9)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(USER)
    return path


def test_a_function_with_arguments(file: Path) -> None:
    with ElementHarness("dspython", module=str(file), function="keep", args='{"limit": 0.95}') as h:
        h.push_frame(TWO)
        assert h.pull().objects == []
    with ElementHarness("dspython", module=str(file), function="keep") as h:
        h.push_frame(TWO)
        assert len(h.pull().objects) == 1


def test_a_plain_class_with_its_hooks(file: Path) -> None:
    with ElementHarness("dspython", module=str(file), class_="Counter", args='{"start": 10}') as h:
        h.push_frame(TWO, source_id=3)
        (frame,) = h.pull().frames or []
        assert frame.payloads == {"seen": 12, "log": ["start", "caps", ["added", 3]]}
        module = h.element._loaded.module
        h.eos()
        h.restart()
        assert module.LOG == ["start", "caps", ("added", 3), ("eos", 3), "stop"]
        h.push_frame([*TWO] * 50)
        assert h.try_pull() is None
        (message,) = h.messages(Gst.MessageType.ELEMENT)
        assert message.src is h.element


def test_a_meta_transform_with_its_properties(file: Path) -> None:
    with ElementHarness("dspython", module=str(file), class_="Full", args='{"limit": 0.3}') as h:
        h.push_frame(TWO)
        assert len(h.pull().objects) == 2
        (warning,) = h.warnings
        assert "from inside" in warning


def test_two_of_one_file_with_their_own_arguments(file: Path) -> None:
    text = (
        f"dspython module={file} class=Counter args='{{\"start\": 1}}' "
        f"! dspython module={file} function=keep args='{{\"limit\": 0.5}}'"
    )
    with assert_no_leaks(), ElementHarness(text) as h:
        h.push_frame(TWO)
        record = h.pull()
        assert len(record.objects) == 1
        assert (record.frames or [])[0].payloads["seen"] == 3


def test_frames_without_metadata_are_given_some(file: Path) -> None:
    with ElementHarness("dspython", module=str(file), class_="Counter", add_meta=True) as h:
        h.push(None)
        assert (h.pull().frames or [])[0].payloads["seen"] == 0


def test_what_a_hosted_class_asks_for_holds(file: Path) -> None:
    file.write_text(
        "import dselements as ds\n"
        "class Two(ds.MetaTransform):\n"
        "    create_meta = True\n"
        "    caps = 'video/x-raw,format=RGBA'\n"
        "    def max_frames(self):\n        return 2\n"
        "    def frame_specs(self, **common):\n"
        "        return [{**common, 'source_id': i, 'pad_index': i} for i in (0, 1)]\n"
        "    def process(self, batch):\n        batch.payloads['n'] = len(batch.frames)\n"
    )
    with ElementHarness("dspython", module=str(file)) as h:
        h.push(None)
        assert h.pull().payloads == {"n": 2}
        with pytest.raises(HarnessError, match=r"Two takes video/x-raw,format=RGBA, not"):
            h.set_caps("video/x-raw,format=NV12,width=64,height=48,framerate=30/1")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("", "module is not set"),
        ("module={file}", "which of Counter, Full, Broken?"),
        ("module={file} class=Counter args=[1]", "not a JSON object"),
        ("module={file} class=Counter args='{{\"x\": 1}}'", "unexpected keyword argument"),
        ("module={file} class=Full args='{{\"x\": 1}}'", "no property 'x'.*limit"),
        ("module={file} class=Full args='{{\"limit\": 7}}'", "limit 7.0 is outside"),
        ("module={file} class=Broken", "OSError: no camera"),
        ("module=/no/such.py", "no such file"),
        ("module={file} class=Counter args='{{'", "no JSON"),
    ],
)
def test_what_is_wrong_is_told_at_the_start(file: Path, settings: str, told: str) -> None:
    import re

    text = f"videotestsrc ! dssynth ! dspython {settings.format(file=file)} ! fakesink"
    problems = texts(play(launch(text)))
    assert re.search(told, problems[0]), problems[0]
    assert problems[0].startswith("error")


def test_an_exception_in_it_follows_the_policy_and_names_its_line(file: Path) -> None:
    file.write_text("def process(batch):\n    return batch.no_such_thing\n")
    with ElementHarness("dspython", module=str(file), on_error="pass") as h:
        h.push_frame(TWO)
        assert len(h.pull().objects) == 2
        (warning,) = h.warnings
        assert f'File "{file}", line 2' in warning
        assert "no_such_thing" in warning


# -- hot reload ----------------------------------------------------------------------
COUNT = """\
class Count:
    n = 0
    def process(self, batch):
        self.n += {step}
        batch.payloads["n"] = self.n
    def get_state(self):
        return self.n
    def set_state(self, n):
        self.n = n
    def stop(self):
        self.n = -1
"""


def save(path: Path, text: str) -> None:
    """As an editor does it: whole, and some time ago."""
    new = path.with_suffix(".new")
    new.write_text(text)
    stamp = os.stat(new).st_mtime_ns - 1_000_000_000
    os.utime(new, ns=(stamp, stamp))
    os.replace(new, path)


def test_saved_code_runs_from_the_next_buffer_with_its_state(tmp_path: Path) -> None:
    file = tmp_path / "count.py"
    file.write_text(COUNT.format(step=1))
    with ElementHarness("dspython", module=str(file), dev_mode=True) as h:

        def step() -> Any:
            h.push_frame()
            return h.pull().payloads["n"]

        assert [step(), step()] == [1, 2]
        save(file, COUNT.format(step=10))
        assert [step(), step()] == [12, 22]
        save(file, "class Count:\n    def process(self, batch)\n")
        assert [step(), step()] == [32, 42], "the old code goes on"
        (warning,) = h.warnings
        assert "SyntaxError" in warning
        assert "the old code goes on" in warning
        save(file, COUNT.format(step=100))
        assert step() == 142
        h.set(dev_mode=False)
        save(file, COUNT.format(step=1000))
        assert step() == 242
        h.set(dev_mode=True)
        assert step() == 1242


def test_reload_of_a_meta_transform_and_of_a_function(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    cls = (
        "import dselements as ds\nclass Mine(ds.MetaTransform):\n    limit = ds.Property(0)\n"
        "    def process(self, batch):\n        batch.payloads['x'] = [{n}, self.limit]\n"
    )
    file.write_text(cls.format(n=1))
    with ElementHarness("dspython", module=str(file), dev_mode=True, args='{"limit": 7}') as h:
        for n in (1, 2, 3):
            if n > 1:
                save(file, cls.format(n=n))
            h.push_frame()
            assert h.pull().payloads["x"] == [n, 7]
        save(file, "def process(batch, limit):\n    batch.payloads['x'] = limit\n")
        h.push_frame()
        assert h.pull().payloads["x"] == 7
        assert h.warnings == []


def test_while_playing(tmp_path: Path) -> None:
    """Saved again and again by another thread: no buffer is lost, the newest code runs last."""
    file = tmp_path / "count.py"
    file.write_text("def process(batch):\n    batch.payloads['v'] = 0\n")
    seen: list[Any] = []
    pipeline = launch(
        "videotestsrc num-buffers=200 is-live=true ! video/x-raw,framerate=200/1 ! dssynth ! "
        f"dspython module={file} dev-mode=true name=p ! testlook name=look ! fakesink",
        look=lambda batch: seen.append(batch.payloads["v"]),
    )

    def edit() -> None:
        for version in range(1, 6):
            time.sleep(0.05)
            save(file, f"def process(batch):\n    batch.payloads['v'] = {version}\n")

    editor = threading.Thread(target=edit)
    editor.start()
    assert texts(play(pipeline)) == []
    editor.join()
    assert len(seen) == 200
    assert seen == sorted(seen)
    assert seen[-1] == 5


def test_in_gst_launch(tmp_path: Path, file: Path) -> None:
    source = ["videotestsrc", "num-buffers=5", "!", "dssynth", "!"]
    mine = ["dspython", f"module={file}", "class=Counter", 'args={"start": 3}', "!", "fakesink"]
    done = shell(["gst-launch-1.0", "-q", *source, *mine], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rror" not in done.stderr
    done = shell(["gst-inspect-1.0", "dspython"], tmp_path)
    assert "dev-mode" in done.stdout
