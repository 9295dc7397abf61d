"""The codec experiment counts what it sees, and states the ratios it promises."""

from __future__ import annotations

import pytest

from evenflow.errors import ExperimentError
from evenflow.model.batch import Batch, Item, encode_items
from evenflow_experiments.slices.codec import ROWS, figures_of
from evenflow_experiments.slices.codec_ends import OURS, STOCK, Row, Tally


def batch(*numbers: int, marks: tuple[int, ...] = ()) -> Batch:
    pairs = zip(numbers, marks or numbers, strict=True)
    items = [Item("s", number, 0, mark.to_bytes(8, "little") + b"xy") for number, mark in pairs]
    return Batch(encode_items(1, 0, 0, 1, items))


def test_everything_in_turn_is_neither_lost_nor_repeated() -> None:
    tally = Tally(1)
    tally.see_batches([batch(1, 2, 3), batch(4, 5)])
    tally.see_single_batches([batch(6)])
    tally.see_items([(7, [7, 0, 0, 0, 0, 0, 0, 0, 1])])
    assert (tally.due, tally.lost, tally.repeated) == (8, 0, 0)


def test_gaps_are_lost_and_old_numbers_repeated() -> None:
    tally = Tally(1)
    tally.see_batches([batch(1, 2), batch(2, 3), batch(7, 8)])
    tally.see_single_batches([batch(8), batch(10)])
    assert (tally.due, tally.lost, tally.repeated) == (11, 3 + 1, 2)


@pytest.mark.parametrize("see", [Tally.see_batches, Tally.see_single_batches])
def test_a_payload_of_another_item_is_noticed(see: object) -> None:
    with pytest.raises(ExperimentError, match="item 1 came with the payload of 9"):
        see(Tally(1), [batch(1, marks=(9,))])  # type: ignore[operator]


def test_figures_have_every_row_and_the_ratios() -> None:
    figures = figures_of({row: 100.0 * row.batch + (row.codec == OURS) for row in ROWS})
    assert {(row["codec"], row["bytes"], row["batch"]) for row in figures["rows"]} >= {
        (STOCK, 100, 1), (STOCK, 8_000, 1), (OURS, 100, 1), (OURS, 8_000, 1_000),
    }  # fmt: skip
    assert figures["rows"][0].keys() == {"codec", "bytes", "batch", "items_per_s", "mb_per_s"}
    rates = dict.fromkeys(ROWS, 10.0) | {Row(OURS, 100, 1): 60.0, Row(OURS, 100, 1_000): 1_200.0}
    ratios = figures_of(rates)["ratios"]
    assert ratios["100"]["one_by_one_to_stock"] == 6.0
    assert ratios["100"]["batch_1000_to_one_by_one"] == 20.0
