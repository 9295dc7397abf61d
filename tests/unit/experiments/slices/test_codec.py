"""The codec experiment counts what it sees, and states the ratios it promises."""

from __future__ import annotations

from typing import Any

import pytest

from evenflow.errors import ExperimentError
from evenflow.model.batch import Item
from evenflow.model.sample import Sample
from evenflow.testing.samples import encode_items
from evenflow_experiments.slices.codec import ROWS, figures_of
from evenflow_experiments.slices.codec_ends import OURS, STOCK, Row, Tally
from evenflow_experiments.slices.codec_publish import COLUMNS, MANY, PUBLISH, WAYS, caller


def batch(*numbers: int, marks: tuple[int, ...] = ()) -> Sample:
    pairs = zip(numbers, marks or numbers, strict=True)
    items = [Item("s", number, 0, mark.to_bytes(8, "little") + b"xy") for number, mark in pairs]
    return Sample(encode_items(1, 1, 0, {0: (1, items)}))


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
    rates |= {Row(PUBLISH, 100, 1): 25.0, Row(MANY, 100, 1_000): 30.0}
    ratios = figures_of(rates)["ratios"]
    assert ratios["100"]["one_by_one_to_stock"] == 6.0
    assert ratios["100"]["batch_1000_to_one_by_one"] == 20.0
    assert ratios["100"]["publish_to_stock"] == 2.5
    assert ratios["100"]["publish_many_to_stock"] == 3.0
    assert ratios["8000"]["publish_columns_to_stock"] == 1.0


class Calls:
    """A publisher that counts."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int]] = []

    def publish(self, payload: bytes) -> None:
        self.seen.append((PUBLISH, 1, len(payload)))

    def publish_many(self, payloads: list[bytes]) -> None:
        self.seen.append((MANY, len(payloads), len(payloads[0])))

    def publish_columns(self, payloads: Any) -> None:
        self.seen.append((COLUMNS, *payloads.shape))


@pytest.mark.parametrize(("way", "batch"), WAYS.items())
def test_a_call_brings_what_its_row_says(way: str, batch: int) -> None:
    publisher = Calls()
    caller(Row(way, 64, batch), publisher)()  # type: ignore[arg-type]
    assert publisher.seen == [(way, batch, 64)]
