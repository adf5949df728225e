"""The runner of the documents' blocks finds what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from document_blocks import Runner, blocks_of

PASSES = {
    "title": '```python title="a/x.py"\nprint("hi")\n```\n\n```sh\npython a/x.py\n```\n',
    "output": '```sh\nprintf "one\\ntwo\\n"\n```\n\n```text title="output"\none\n...\n```\n',
    "data file": '```ini title="c.ini"\n[a]\nb=1\n```\n\n```sh\ngrep b=1 c.ini\n```\n',
    "pytest": '```python title="test_x.py"\ndef test_x(tmp_path):\n    assert 1 + 1 == 2\n```\n',
    "lines": '```json title="a.jsonl"\n{"a": 1}\n{"a": 2}\n```\n',
}
FAILS = {
    "python": "```python\nraise SystemExit(3)\n```\n",
    "sh": "```sh\nfalse\ntrue\n```\n",
    "output differs": '```sh\necho one\n```\n\n```text title="output"\ntwo\n```\n',
    "output of nothing": '```text title="output"\ntwo\n```\n',
    "pytest": '```python title="test_x.py"\ndef test_x():\n    assert 1 == 2\n```\n',
    "no test": '```python title="test_x.py"\nx = 1\n```\n',
    "outside": '```python title="../x.py"\nx = 1\n```\n',
    "language": "```perl\n1;\n```\n",
    "none": "```\nls\n```\n",
    "ini": "```ini\na=1\n```\n",
    "yaml": "```yaml\na: [\n```\n",
    "lines": '```json lines\n{"a": 1}\n{"a": \n```\n',
}


def run(text: str, tmp_path: Path) -> None:
    document = tmp_path / "x.md"
    document.write_text(f"text\n\n{text}")
    runner = Runner(tmp_path)
    for block in blocks_of(document):
        runner.run(block)


@pytest.mark.parametrize("name", PASSES)
def test_what_is_right_passes(name: str, tmp_path: Path) -> None:
    run(PASSES[name], tmp_path)


@pytest.mark.parametrize("name", FAILS)
def test_what_is_wrong_is_found(name: str, tmp_path: Path) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 -- each parser has its own error
        run(FAILS[name], tmp_path)


def test_lines_and_titles_are_known(tmp_path: Path) -> None:
    document = tmp_path / "x.md"
    document.write_text('text\n\n```python title="x.py"\npass\n```\n\n```sh\nls -l\n```\n')
    first, second = blocks_of(document)
    assert (first.language, first.line, first.title, first.key) == ("python", 3, "x.py", "x.py")
    assert (second.language, second.line, second.title, second.key) == ("sh", 7, "", "ls -l")


@pytest.mark.parametrize("text", ["```python\nif\n```\n", "```sh\nif\n```\n", "```yaml\n[\n```\n"])
def test_a_block_that_is_not_run_has_a_right_syntax(text: str, tmp_path: Path) -> None:
    document = tmp_path / "x.md"
    document.write_text(text)
    with pytest.raises(Exception):  # noqa: B017, PT011
        Runner(tmp_path).check(blocks_of(document)[0])
