"""dspython's loader: what is taken of a module, and reloading."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dselements.elements.python.logic import Code
from dselements.elements.python.settings import PythonSettings
from dselements.errors import ConfigError

TWO = """\
class One:
    def __init__(self, step=1):
        self.step, self.count = step, 0
    def process(self, batch):
        self.count += self.step
        return self.count

class Two(One):
    pass

def double(batch, by=2):
    return batch * by
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(TWO)
    return path


def save(path: Path, text: str) -> None:
    path.write_text(text)
    stamp = os.stat(path).st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(stamp, stamp))


def test_a_class_and_a_function_with_arguments(file: Path) -> None:
    loaded = Code(str(file), "One", args={"step": 3}).load()
    assert [loaded.process(None), loaded.process(None)] == [3, 6]
    assert Code(str(file), function="double", args={"by": 5}).load().process(4) == 20


def test_what_is_meant_when_nothing_is_named(tmp_path: Path) -> None:
    one = tmp_path / "one.py"
    one.write_text("class Only:\n    def process(self, batch):\n        return 1\n")
    assert Code(str(one)).load().process(None) == 1
    one.write_text("def process(batch):\n    return 2\n")
    assert Code(str(one)).load().process(None) == 2


def test_two_elements_share_nothing(file: Path) -> None:
    a, b = Code(str(file), "One").load(), Code(str(file), "One").load()
    assert a.module is not b.module
    a.process(None)
    assert b.process(None) == 1
    for loaded in (a, b):
        assert loaded.module.__name__ in sys.modules
        Code.forget(loaded)
        assert loaded.module.__name__ not in sys.modules


def test_a_dotted_name_is_imported_as_usual() -> None:
    loaded = Code("textwrap", function="dedent").load()
    assert loaded.process("  a") == "a"
    Code.forget(loaded)
    assert "textwrap" in sys.modules


def test_it_finds_what_lies_beside_it(file: Path) -> None:
    (file.parent / "beside_mine.py").write_text("VALUE = 7\n")
    file.write_text("import beside_mine\ndef process(batch):\n    return beside_mine.VALUE\n")
    before = list(sys.path)
    assert Code(str(file)).load().process(None) == 7
    assert sys.path == before
    del sys.modules["beside_mine"]


@pytest.mark.parametrize(
    ("text", "class_name", "function", "told"),
    [
        (TWO, "Three", "", "no class 'Three': it has One, Two"),
        (TWO, "double", "", "no class 'double'"),
        (TWO, "", "triple", "no function 'triple': it has double"),
        (TWO, "", "", "which of One, Two"),
        ("x = 1\n", "", "", "no class with process"),
        ("class A:\n    pass\n", "A", "", "no method process"),
        ("async def process(batch):\n    pass\n", "", "", "coroutine or generator"),
        ("def process(batch):\n    yield 1\n", "", "", "coroutine or generator"),
    ],
)
def test_what_is_missing_is_named(
    file: Path, text: str, class_name: str, function: str, told: str
) -> None:
    file.write_text(text)
    names = set(sys.modules)
    with pytest.raises(ConfigError, match=told):
        Code(str(file), class_name, function).load()
    assert set(sys.modules) == names, "a module that failed is not left behind"


def test_modules_that_are_not_there() -> None:
    with pytest.raises(ConfigError, match=r"/no/such\.py: no such file"):
        Code("/no/such.py").load()
    with pytest.raises(ConfigError, match=r"no module 'no_such.module'.*PYTHONPATH"):
        Code("no_such.module").load()


def test_an_error_in_the_module_is_the_modules_own(file: Path) -> None:
    file.write_text("import no_such_dependency\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        Code(str(file)).load()
    file.write_text("def process(batch)\n    pass\n")
    with pytest.raises(SyntaxError, match=r"mine.py, line 1"):
        Code(str(file)).load()


STATE = """\
class Counter:
    def __init__(self):
        self.count = 0
    def process(self, batch):
        self.count += {step}
        return self.count
    def get_state(self):
        return self.count
    def set_state(self, count):
        {check}
        self.count = count
"""


def test_reload_keeps_the_state(file: Path) -> None:
    file.write_text(STATE.format(step=1, check="pass"))
    code = Code(str(file))
    old = code.load()
    old.process(None)
    assert not code.saved()
    save(file, STATE.format(step=10, check="pass"))
    assert code.saved()
    assert not code.saved(), "once for each save"
    new = code.reload(old)
    assert new.process(None) == 11
    assert old.process(None) == 2, "the old one is as it was"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("def process(batch)\n", SyntaxError),
        ("x = 1\n", ConfigError),
        ("class Counter:\n    def __init__(self): raise OSError('gone')\n"
         "    def process(self, batch): pass\n", OSError),
        (STATE.format(step=1, check="raise ValueError('of another version')"), ValueError),
    ],
)  # fmt: skip
def test_a_reload_that_fails_leaves_the_old_alone(
    file: Path, text: str, error: type[Exception]
) -> None:
    file.write_text(STATE.format(step=1, check="pass"))
    code = Code(str(file))
    old: Any = code.load()
    save(file, text)
    assert code.saved()
    with pytest.raises(error):
        code.reload(old)
    assert old.process(None) == 1


def test_a_file_that_is_being_written_is_left_alone(file: Path) -> None:
    code = Code(str(file), "One")
    code.load()
    file.write_text("class One")
    now = time.time_ns()
    os.utime(file, ns=(now, now))
    assert not code.saved()
    os.utime(file, ns=(now - 10**9, now - 10**9))
    assert code.saved()


def test_a_file_that_is_away_for_a_moment_is_no_change(file: Path) -> None:
    code = Code(str(file), "One")
    code.load()
    text = file.read_text()
    file.unlink()
    assert not code.saved()
    save(file, text)
    assert code.saved()


def test_settings_are_checked_together() -> None:
    parse = PythonSettings.parse
    assert parse("a.py", "", "", None).args == {}
    assert parse("a.py", "A", "", {"x": 1}) == PythonSettings("a.py", "A", "", {"x": 1})
    for values, told in (
        (("", "", "", {}), "module is not set"),
        (("a.py", "A", "f", {}), "both set"),
        (("a.py", "", "", [1]), "not a JSON object"),
    ):
        with pytest.raises(ConfigError, match=told):
            parse(*values)
