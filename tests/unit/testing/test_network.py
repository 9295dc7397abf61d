"""The simulated network does what it is told with what is on its way."""

from __future__ import annotations

import pytest

from evenflow.testing.network import Network, Parcel


@pytest.fixture
def arrived() -> list[object]:
    return []


@pytest.fixture
def network(arrived: list[object]) -> Network:
    found = Network(lambda parcel: arrived.append(parcel.what))
    for what in ("a", "b", "c"):
        found.post(Parcel("somebody", what))
    return found


def test_delivers_in_any_order(network: Network, arrived: list[object]) -> None:
    for index in (2, 0, 0):
        network.deliver(index)
    assert (arrived, network.parcels) == (["c", "a", "b"], [])


def test_what_is_repeated_arrives_again(network: Network, arrived: list[object]) -> None:
    network.repeat(1)
    network.deliver(1)
    assert arrived == ["b", "b"]


def test_a_message_may_be_lost_and_a_fact_may_not(network: Network, arrived: list[object]) -> None:
    network.post(Parcel("somebody", "a death", certain=True))
    network.lose(3)
    network.lose(0)
    assert [parcel.what for parcel in network.parcels] == ["b", "c", "a death"]
    assert arrived == []
