"""Real packets through the lossy relay: what it loses, and that a mobile node loses nothing."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from tests.integration.mobile_stub import StubGateway

from evenflow.access.keys import init_keys
from evenflow.mobile import Patience, connect_async
from evenflow.mobile.link.address import parse_link_address
from evenflow.processes import wait_until
from evenflow.testing.loss.gilbert_elliott import GilbertElliott
from evenflow.testing.loss.relay import MOST_SENDERS, LossyRelay

if TYPE_CHECKING:
    from pathlib import Path

SOON = Patience(first_s=0.01, backoff_s=0.05, most_backoff_s=0.2)


def udp() -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("127.0.0.1", 0))
    one.settimeout(10.0)
    return one


def test_packets_go_there_and_back() -> None:
    with udp() as far, udp() as near, udp() as other:
        with LossyRelay(far.getsockname(), GilbertElliott(0.0)) as relay:
            for one in (near, other):
                one.sendto(b"ping", relay.address)
                packet, way = far.recvfrom(100)
                far.sendto(packet + b"-pong", way)
                assert one.recv(100) == b"ping-pong"
        assert (relay.there.packets, relay.back.packets, relay.refused) == (2, 2, 0)


def test_what_arrives_is_what_the_relay_did_not_lose() -> None:
    count = 5_000
    with udp() as far, udp() as near:
        with LossyRelay(far.getsockname(), GilbertElliott(0.3, 4.0), seed=5) as relay:
            arrived = set()
            for first in range(0, count, 100):  # few at a time: no buffer is ever full
                for number in range(first, first + 100):
                    near.sendto(b"%d" % number, relay.address)
                assert wait_until(lambda end=first + 100: relay.there.packets == end, 10.0)
                while len(arrived) < relay.there.packets - relay.there.lost:
                    arrived.add(int(far.recv(100)))
        assert relay.refused == 0
        assert len(arrived) == count - relay.there.lost
        assert relay.there.plr == pytest.approx(0.3, rel=0.15)
        assert relay.there.abl == pytest.approx(4.0, rel=0.15)


def test_more_senders_than_it_takes_are_refused_and_counted() -> None:
    with (
        ExitStack() as open_,  # a port that was closed may be given out again
        udp() as far,
        LossyRelay(far.getsockname(), GilbertElliott(0.0)) as relay,
    ):
        for _ in range(MOST_SENDERS + 3):
            open_.enter_context(udp()).sendto(b"x", relay.address)
        assert wait_until(lambda: relay.refused == 3, 10.0)


@pytest.mark.processes
def test_a_mobile_node_behind_loss_in_bursts_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """5 % of the packets, five in a row, both ways; up and down, in order."""
    init_keys(tmp_path)
    asyncio.run(_drive_through_loss(tmp_path))


async def _drive_through_loss(keys: Path) -> None:
    gateway = StubGateway("north", keys)
    address = parse_link_address(await gateway.start("quic://127.0.0.1:0"))
    heard: list[int] = []
    with LossyRelay((address.host, address.port), GilbertElliott(0.05, 5.0), seed=3) as relay:
        async with await connect_async(
            str(address.with_port(relay.address[1])),
            node="car-7", token="t", trust=keys / "ca.pem", patience=SOON, timeout_s=60.0,
            on_message=lambda message: heard.append(int(message.payload)),
        ) as car:  # fmt: skip
            for number in range(1_500):
                await car.publish(b"%d" % number + b"." * 400)
                if number % 10 == 0:
                    await asyncio.sleep(0.005)
            await car.flush(60)
            for number in range(1, 21):
                await gateway.message("car-7", number)
            async with asyncio.timeout(60):
                while len(heard) < 20:  # noqa: ASYNC110 - what changes is inside the client
                    await asyncio.sleep(0.01)
        assert relay.there.bursts > 5
        assert relay.back.bursts > 1
    await gateway.stop()
    numbers = [int(item.partition(b".")[0]) for item in gateway.items["car-7"]]
    assert numbers == list(range(1_500))
    assert heard == list(range(1, 21))
