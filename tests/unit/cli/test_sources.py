"""Sources of items and their pace."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import pytest

from evenflow.cli.sources import Pace, generated, lines, objects, whole_files
from evenflow.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


class Stop:
    """A stop signal that is given after so many looks at it."""

    def __init__(self, looks: float = float("inf")) -> None:
        self.looks = looks
        self.waits = 0

    @property
    def given(self) -> bool:
        self.looks -= 1
        return self.looks < 0

    def wait(self, seconds: float) -> bool:
        self.waits += 1
        return self.looks <= 0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\n\ntwo", [b"one", b"", b"two"]),
        (b"x" * 200_000 + b"\n" + b"y" * 70_000, [b"x" * 200_000, b"y" * 70_000]),
        (b"ab\n" * 100_000, [b"ab"] * 100_000),
    ],
)
def test_lines(tmp_path: Path, content: bytes, expected: list[bytes]) -> None:
    file = tmp_path / "items"
    file.write_bytes(content)
    found = [line for group in lines(str(file), Stop(), 1 << 20) for line in group]
    assert found == expected


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "items"
    file.write_bytes(b"x" * 300_000)
    with pytest.raises(UsageError, match="a line is longer than 100000 bytes"):
        list(lines(str(file), Stop(), 100_000))


def test_lines_end_when_told_to(tmp_path: Path) -> None:
    file = tmp_path / "items"
    file.write_bytes(b"ab\n" * 100_000)
    groups = list(lines(str(file), Stop(looks=2), 1 << 20))
    assert 0 < sum(map(len, groups)) < 100_000


@pytest.mark.parametrize(
    "read", [lambda path: lines(path, Stop(), 9), lambda path: whole_files([path], Stop())]
)
def test_a_file_that_does_not_exist_is_named(tmp_path: Path, read: object) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(UsageError, match="missing: No such file"):
        list(read(missing))  # type: ignore[operator]


def test_json_lines_are_objects_or_faults() -> None:
    found, faults = objects([b'{"a": 1}', b"", b"[1]", b"{", b'{"b": 2}\r'])
    assert found == [{"a": 1}, {"b": 2}]
    assert len(faults) == 2
    assert "not a JSON object" in faults[0]
    assert "not JSON" in faults[1]


def test_whole_files_are_items(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        file = tmp_path / name
        file.write_bytes(name.encode() * 3)
        paths.append(str(file))
    assert list(whole_files(paths, Stop())) == [[b"aaa"], [b"bbb"]]


def test_generated_items_have_the_size_asked_for() -> None:
    groups = list(islice(generated(100, Stop()), 2))
    assert all(group.shape[1] == 100 for group in groups)


def test_pace_counts() -> None:
    pace = Pace(Stop(), None, 5, None)
    parts = [part for group in ([1, 2, 3], [4, 5, 6], [7]) for part in pace.parts(group)]
    assert list(chain.from_iterable(parts)) == [1, 2, 3, 4, 5]
    assert pace.over


def test_pace_waits_for_its_rate() -> None:
    stop = Stop(looks=30)
    pace = Pace(stop, 1e-3, None, None)
    assert list(chain.from_iterable(pace.parts([1, 2, 3]))) == [1]
    assert stop.waits > 0


def test_pace_without_limits_passes_everything() -> None:
    pace = Pace(Stop(), None, None, None)
    assert sum(map(len, pace.parts(range(10_000)))) == 10_000
    assert not pace.over


def test_pace_ends_with_its_time() -> None:
    pace = Pace(Stop(), None, None, 0.0)
    assert list(pace.parts([1, 2, 3])) == []
    assert pace.over
