"""Cyclone's configuration, made from ours."""

from __future__ import annotations

import socket
from xml.etree import ElementTree as ET

import pytest

from evenflow.config import DomainConfig
from evenflow.domain.settings import (
    check_interface,
    check_peers,
    cyclone_xml,
    is_loopback,
    why_not_entered,
)
from evenflow.errors import DomainError


def xml_of(**settings: object) -> ET.Element:
    return ET.fromstring(cyclone_xml(DomainConfig(**settings)))


def text_of(root: ET.Element, path: str) -> str | None:
    return root.findtext(f"Domain/{path}")


def interface_of(root: ET.Element) -> dict[str, str]:
    found = root.find("Domain/General/Interfaces/NetworkInterface")
    assert found is not None
    return found.attrib


def test_loopback_is_told_that_it_can_multicast() -> None:
    root = xml_of()
    assert interface_of(root) == {"name": "lo", "multicast": "true"}
    assert text_of(root, "General/AllowMulticast") == "spdp"
    assert text_of(root, "General/MaxMessageSize") == "65000B"
    assert root.find("Domain/Discovery/Peers") is None


def test_a_real_interface_keeps_its_own_sizes() -> None:
    root = xml_of(interface="eth0")
    assert interface_of(root) == {"name": "eth0"}
    assert text_of(root, "General/MaxMessageSize") is None


def test_an_interface_by_address() -> None:
    assert interface_of(xml_of(interface="10.1.2.3")) == {"address": "10.1.2.3"}
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert not is_loopback("10.1.2.3")


def test_the_lease_is_the_configured_one() -> None:
    root = xml_of(participant_lease_s=2.5)
    assert text_of(root, "Discovery/LeaseDuration") == "2.5s"


def test_peers_are_listed_and_can_be_found() -> None:
    root = xml_of(peers=["10.0.0.1", 'a"b'])
    peers = [peer.get("address") for peer in root.iterfind("Domain/Discovery/Peers/Peer")]
    assert peers == ["10.0.0.1", 'a"b']
    assert text_of(root, "Discovery/ParticipantIndex") == "auto"


@pytest.mark.parametrize("interface", ["lo", "127.0.0.1"])
def test_interfaces_of_this_machine_pass(interface: str) -> None:
    check_interface(DomainConfig(interface=interface))


@pytest.mark.parametrize("interface", ["nosuch0", "192.0.2.77", "2001:db8::77"])
def test_an_unknown_interface_is_refused_with_the_known_ones(interface: str) -> None:
    with pytest.raises(DomainError, match=rf"{interface}.*domain\.interface to one of .*\blo\b"):
        check_interface(DomainConfig(interface=interface))


@pytest.mark.parametrize(("domain", "lent"), [(97, False), (149, True)])
def test_a_port_that_another_program_has_is_named(domain: int, lent: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 7400 + 250 * domain))
        told = why_not_entered(DomainConfig(id=domain))
    assert f"UDP port {7400 + 250 * domain}, which follows from domain.id, is used" in told
    assert ("below 100" in told) is lent
    assert "domain.interface = 'lo'" in why_not_entered(DomainConfig(id=domain))


def test_a_peer_whose_name_means_no_address_is_refused_in_words() -> None:
    check_peers(
        DomainConfig(peers=("127.0.0.1", "127.0.0.1:7410", "localhost", "::1", "[::1]:7410"))
    )
    with pytest.raises(DomainError, match=r"domain.peers: 'no such host' means no address"):
        check_peers(DomainConfig(peers=("127.0.0.1", "no such host")))
