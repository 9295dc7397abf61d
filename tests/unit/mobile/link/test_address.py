from __future__ import annotations

import pytest

from evenflow.errors import ConfigError
from evenflow.mobile.link.address import LinkAddress, parse_link_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("quic://10.0.0.1:7000", LinkAddress("quic", "10.0.0.1", 7000)),
        ("tls://gateway.example:0", LinkAddress("tls", "gateway.example", 0)),
        ("quic://[::1]:7000", LinkAddress("quic", "::1", 7000)),
    ],
)
def test_an_address_is_read_and_written(text: str, address: LinkAddress) -> None:
    assert parse_link_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "host:1", "udp://h:1", "quic://h", "quic://:1", "quic://h:x", "quic://h:65536",
     "quic://h:-1", "quic://h:²", "quic://a b:1", "quic://user@h:1", "quic://h/x:1"],
)  # fmt: skip
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"gateway\.addresses"):
        parse_link_address(text, "gateway.addresses")
