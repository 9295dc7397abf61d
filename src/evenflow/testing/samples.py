"""Samples for tests and simulations, made from single items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenflow.model.batch import Item, offsets_of
from evenflow.model.encoding import encode_sample
from evenflow.model.given_headers import given_headers
from evenflow.model.headers import headers_of

Runs = Mapping[int, tuple[int, Sequence[Item]]]
"""Of each slice the number of the first item, and the items."""


def encode_items(writer: int, serial: int, epoch: int, runs: Runs) -> bytes:
    """Encode single items as a sample."""
    return encode_sample(writer, serial, epoch, *columns_of(runs))


def headers_of_item(item: int) -> dict[str, bytes]:
    """The headers that an item of a simulation has, by its id; every third has some."""
    return {"item": b"%d" % item} if item % 3 == 0 else {}


def columns_of(runs: Runs) -> tuple[Any, ...]:
    """The columns of a sample, as its encoder wants them."""
    slices = sorted(runs)
    items = [item for slice_id in slices for item in runs[slice_id][1]]
    names = [item.sender.encode() for item in items]
    payloads = [item.payload for item in items]
    return (
        slices,
        [len(runs[slice_id][1]) for slice_id in slices],
        [runs[slice_id][0] for slice_id in slices],
        np.array([item.id for item in items], np.int64),
        np.array([item.time for item in items], np.int64),
        offsets_of([len(name) for name in names]),
        b"".join(names),
        offsets_of([len(payload) for payload in payloads]),
        b"".join(payloads),
        headers_of([given_headers(item.headers) for item in items]),
    )
