"""After any disorder, once things are calm, every topic has a leader and all its copies."""

from __future__ import annotations

import pytest

from .overload import Overload


# Those by number were found by a long search: copies that waited for one another, two groups of
# brokers that each took the other for dead, a message whose acknowledgement a move swallowed.
@pytest.mark.parametrize("seed", [*range(4), 31, 68, 182])
def test_a_store_recovers_from_overload(seed: int) -> None:
    Overload(seed).run()


@pytest.mark.parametrize("seed", [1003, 1008, 3135, 3354])
def test_a_store_that_balances_recovers_from_overload(seed: int) -> None:
    Overload(seed, balance_s=4.0).run()


@pytest.mark.parametrize("selection", ["local", "regional"])
def test_a_store_that_balances_by_asking_recovers_from_overload(selection: str) -> None:
    Overload(1003, balance_s=4.0, selection=selection).run()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5000, 5040))
def test_many_more(seed: int) -> None:
    Overload(seed, balance_s=4.0 * (seed % 2)).run()
