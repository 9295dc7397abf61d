"""What nodes have noted is added up: every id of every publisher once, or it is told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import UnidentifiedImageError

from evenflow.errors import ExperimentError
from evenflow.model.batch import Item
from evenflow.model.sample import Sample
from evenflow.testing.samples import encode_items
from evenflow_experiments.slices.arrivals import CALM, FILE_VARIABLE, Arrivals, convert, note

if TYPE_CHECKING:
    from pathlib import Path

SPANS = (range(1, 4), range(100, 104))


def arrivals(*ids: int) -> Arrivals:
    times = np.zeros(len(ids), np.int64)
    return Arrivals(np.array(ids, np.int64), times, times)


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ((1, 2, 3, 100, 101, 102, 103), [(0, 0), (0, 0)]),
        ((103, 3, 1, 2, 100, 102, 101), [(0, 0), (0, 0)]),
        ((1, 3, 100, 101, 102, 103), [(1, 0), (0, 0)]),
        ((1, 2, 3, 3, 3, 100, 101, 102, 103), [(0, 2), (0, 0)]),
        ((1, 1, 100), [(2, 1), (3, 0)]),
        ((), [(3, 0), (4, 0)]),
    ],
)
def test_the_books_of_several_publishers(
    ids: tuple[int, ...], found: list[tuple[int, int]]
) -> None:
    assert arrivals(*ids).audit(SPANS) == found


def test_an_item_that_nobody_published_is_no_result() -> None:
    with pytest.raises(ExperimentError, match="2 items were processed that nobody published"):
        arrivals(1, 4, 50).audit(SPANS)


def test_notes_are_read_while_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(Arrivals.of_node(tmp_path, "north").ids) == 0
    file = tmp_path / "north.arrivals"
    monkeypatch.setenv(FILE_VARIABLE, str(file))
    items = [Item("s", number, 7, b"") for number in (3, 4)]
    note(Sample(encode_items(1, 1, 0, {0: (1, items)})).batches()[0])
    with file.open("ab") as half:
        half.write(os.urandom(8))
    for read in (Arrivals.of_node(tmp_path, "north"), Arrivals.read(tmp_path)):
        assert read.ids.tolist() == [3, 4]
        assert read.published.tolist() == [7, 7]
        assert (read.processed > 7).all()


def test_a_calm_application_converts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "node.arrivals"))
    items = [Item("s", 7, 5, b"no image")]
    batch = Sample(encode_items(1, 1, 0, {0: (1, items)})).batches()[0]
    with pytest.raises(UnidentifiedImageError):
        convert(batch)
    (tmp_path / CALM).touch()
    convert(batch)
    assert list(Arrivals.of_node(tmp_path, "node").ids) == [7]
