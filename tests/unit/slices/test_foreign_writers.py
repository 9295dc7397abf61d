"""Who sends items and says nothing else is told of, once; who speaks is not."""

from __future__ import annotations

from evenflow.slices.foreign_writers import PATIENCE_S, ForeignWriters


def test_a_writer_that_says_nothing_but_items_is_foreign_and_told_once() -> None:
    writers = ForeignWriters()
    writers.on_items(7, 10, 0.0)
    writers.on_items(7, 5, 1.0)
    assert writers.counts(1.0) == (0, 0)
    assert writers.news(1.0) == []
    assert writers.counts(PATIENCE_S) == (1, 15)
    assert writers.news(PATIENCE_S) == [7]
    assert writers.news(100.0) == []


def test_a_writer_that_speaks_is_none_whether_before_or_after() -> None:
    writers = ForeignWriters()
    writers.on_word(7)
    writers.on_items(7, 10, 0.0)
    writers.on_items(8, 10, 0.0)
    writers.on_word(8)
    writers.on_items(8, 10, 0.0)
    assert writers.counts(100.0) == (0, 0)
    assert writers.news(100.0) == []


def test_one_that_has_ended_is_forgotten() -> None:
    writers = ForeignWriters()
    writers.on_items(7, 10, 0.0)
    writers.forget(7)
    assert writers.counts(100.0) == (0, 0)
