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


def test_a_cut_loses_what_is_posted_on_it_while_it_lasts() -> None:
    network = Network(lambda _: None)
    network.post(Parcel("b", "on its way", sender="a"))
    network.cut("a", "b", both=False)
    network.post(Parcel("b", "lost", sender="a"))
    network.post(Parcel("a", "back", sender="b"))
    network.post(Parcel("c", "beside", sender="a"))
    network.post(Parcel("b", "a death", sender="a", certain=True))
    network.heal("b", "a")
    network.post(Parcel("b", "healed", sender="a"))
    expected = ["on its way", "back", "beside", "a death", "healed"]
    assert [parcel.what for parcel in network.parcels] == expected


def test_a_cut_breaks_both_directions_unless_told_otherwise() -> None:
    network = Network(lambda _: None)
    network.cut("a", "b")
    network.cut("a", "c")
    for one, other in (("a", "b"), ("b", "a"), ("c", "a")):
        network.post(Parcel(other, "lost", sender=one))
    assert not network.parcels
    network.heal("a", "b")
    assert network.cuts == {("a", "c"), ("c", "a")}
    network.heal()
    assert not network.cuts
