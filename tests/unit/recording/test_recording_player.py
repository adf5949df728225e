"""Finding recorded frames: sources, going back, memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from dselements.recording import Reader
from dselements.recording.encode import encode_line
from dselements.recording.files import FileWriter
from dselements.recording.player import Player
from dselements.recording.schema import BatchLine, EndLine, FrameLine, HeaderLine

KINDS = ["", "gz"]


def write(path: Path, kind: str, batches: list[list[tuple[int, int]]], block: int = 7) -> Reader:
    """A recording of (source, frame number) in batches; the key is also the class id."""
    file = FileWriter(str(path), kind)
    file.write(encode_line(HeaderLine("dselements.recording", 1, "ds9")))
    for n, keys in enumerate(batches):
        frames = [FrameLine(s, k, k * 10, count=1, objects={"class_id": [k]}) for s, k in keys]
        file.write(encode_line(BatchLine(n, len(frames), frames)))
        if n % block == block - 1:
            file.end_block()
    file.write(encode_line(EndLine(len(batches))))
    file.close()
    return Reader(path)


@pytest.fixture(params=KINDS)
def players(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[object]:
    made: list[Player] = []

    def make(batches: list[list[tuple[int, int]]], **more: int) -> Player:
        suffix = f".{request.param}" if request.param else ""
        reader = write(tmp_path / f"a.jsonl{suffix}", request.param, batches)
        made.append(Player(reader, "frame-num", **more))
        return made[-1]

    yield make
    for player in made:
        player.close()


def test_in_order_and_interleaved(players: object) -> None:
    player = players([[(0, k), (1, k)] for k in range(50)])  # type: ignore[operator]
    for k in range(50):
        for source in (1, 0):
            found = player.find(source, k)
            assert found.frame.frame_num == k
            assert (found.batch is not None) == (source == 0)
    assert player.find(0, 50) is None
    assert player.unused == 0
    assert player.rewinds == 0


def test_gaps_and_unknown_sources(players: object) -> None:
    player = players([[(0, k)] for k in range(0, 20, 2)])  # type: ignore[operator]
    assert [player.find(0, k) is None for k in range(6)] == [False, True] * 3
    assert player.find(5, 3) is None
    assert player.find(0, 6).frame.frame_num == 6
    assert player.find(0, 18).frame.frame_num == 18
    assert player.unused == 5


@pytest.mark.parametrize("seed", range(4))
def test_going_anywhere(players: object, seed: int) -> None:
    player = players([[(0, k), (1, k)] for k in range(100)], window=32)  # type: ignore[operator]
    chance = random.Random(seed)
    for _ in range(12):
        start = chance.randrange(100)
        player.restart()
        for k in range(start, min(start + 15, 100)):
            for source in (0, 1):
                found = player.find(source, k)
                assert found is not None, (source, k)
                assert found.frame.objects == {"class_id": [k]}


def test_only_one_of_many_sources_in_bounded_memory(players: object) -> None:
    player = players([[(0, k), (1, k), (2, k)] for k in range(300)], window=16)  # type: ignore[operator]
    for k in range(300):
        assert player.find(1, k).frame.frame_num == k
        assert player._held <= 16 + 3


def test_a_source_that_ended_does_not_starve_the_others(players: object) -> None:
    batches = [[(0, k), (1, k)] for k in range(20)] + [[(1, k)] for k in range(20, 200)]
    player = players(batches, window=16)  # type: ignore[operator]
    for k in range(200):
        first, second = player.find(0, k), player.find(1, k)
        assert (first is None) == (k >= 20)
        assert second.frame.frame_num == k
        assert player._held <= 16 + 2


def test_a_block_that_ends_in_the_middle_of_a_line(tmp_path: Path) -> None:
    """Such as other compressors make: lines come whole, and no place inside one is begun at."""
    import zlib

    whole = write(tmp_path / "a.jsonl", "", [[(0, k)] for k in range(40)])
    data = (tmp_path / "a.jsonl").read_bytes()

    def member(part: bytes) -> bytes:
        made = zlib.compressobj(6, zlib.DEFLATED, 31)
        return made.compress(part) + made.flush()

    step = 97
    parts = [data[i : i + step] for i in range(0, len(data), step)]
    (tmp_path / "b.jsonl.gz").write_bytes(b"".join(member(part) for part in parts))
    reader = Reader(tmp_path / "b.jsonl.gz")
    assert [b.n for b in reader.batches()] == [b.n for b in whole.batches()]
    player = Player(reader, "frame-num")
    try:
        for k in (30, 31, 5, 6, 39, 0):
            assert player.find(0, k).frame.frame_num == k
    finally:
        player.close()
