"""Where a serving node listens."""

from __future__ import annotations

import psutil
import pytest

from evenflow.errors import DomainError
from evenflow.slices.node.serving.flight_server import address_of


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_address_is_taken_as_it_is(address: str) -> None:
    assert address_of(address) == address


def test_a_name_is_looked_up() -> None:
    [loopback] = [
        name
        for name, addresses in psutil.net_if_addrs().items()
        if any(one.address == "127.0.0.1" for one in addresses)
    ]
    assert address_of(loopback) == "127.0.0.1"


def test_an_interface_without_address_says_what_to_set() -> None:
    with pytest.raises(DomainError, match=r"set domain\.interface"):
        address_of("no-such-interface")
