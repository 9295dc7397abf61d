"""The image application answers every image, with what it has cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.batch import Item
from evenflow.model.sample import Sample
from evenflow_experiments.slices.image_replies import ImageReplies, costs_us
from evenflow_experiments.slices.images import colour_jpeg

if TYPE_CHECKING:
    from evenflow.model.batch import Rows


class Replies:
    """A writer that is full every other time."""

    def __init__(self) -> None:
        self.written: list[Rows] = []
        self._full = False

    def write_encoded(self, encoded: bytes) -> bool:
        self._full = not self._full
        if not self._full:
            self.written.append(Sample(encoded).rows)
        return not self._full


def test_each_image_is_answered_once_with_its_cost() -> None:
    replies = Replies()
    once, often = ImageReplies(replies), ImageReplies(replies, rounds=8)  # type: ignore[arg-type]
    item = Item("car", 7, 1_000, colour_jpeg())
    once.answer(item)
    once.answer(item)
    often.answer(item)
    assert [rows.ids.tolist() for rows in replies.written] == [[7]] * 3
    costs = [int(costs_us(rows)[0]) for rows in replies.written]
    assert 100 < costs[1] < costs[2]
