"""Half-open connections: who gives way to whom."""

from __future__ import annotations

import pytest

from evenflow.mobile.link.handshakes import Handshakes, network_of


def test_a_host_that_has_more_gives_its_oldest_up_for_one_that_has_fewer() -> None:
    under_way: Handshakes[int] = Handshakes()
    for number in range(5):
        under_way.add(number, "10.0.0.1")
    under_way.add(10, "10.0.0.2")
    assert under_way.give_way("10.0.0.1") is None, "it would have the most"
    assert under_way.give_way("10.0.0.3") == 0
    under_way.remove(0)
    assert under_way.give_way("10.0.0.2") == 1
    under_way.remove(1)
    under_way.remove(1)
    assert (len(under_way), 1 in under_way, 2 in under_way) == (4, False, True)


def test_hosts_with_as_many_give_nothing_up_for_one_another() -> None:
    under_way: Handshakes[int] = Handshakes()
    assert under_way.give_way("10.0.0.1") is None
    for number in range(4):
        under_way.add(number, f"10.0.0.{number % 2}")
    assert under_way.give_way("10.0.0.0") is None
    assert under_way.give_way("10.0.0.1") is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
        ("?", "?", True),
    ],
)
def test_addresses_that_one_client_can_choose_from_are_one(
    one: str, other: str, same: bool
) -> None:
    assert (network_of(one) == network_of(other)) is same
