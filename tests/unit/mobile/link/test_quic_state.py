"""Two state machines of QUIC and a clock of our own: how many datagrams an item costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest

from evenflow.access.keys import init_keys
from evenflow.mobile.link.connection import Credentials, Limits, Trust
from evenflow.mobile.link.quic_state import (
    NODE_ACK_DELAY_MS,
    QuicState,
    client_configuration,
    server_configuration,
)

NODE, GATEWAY = ("192.0.2.1", 1_000), ("192.0.2.2", 2_000)
PERIOD_S = 0.1


@dataclass
class Line:
    """A node and a gateway, a millisecond apart."""

    node: QuicState
    gateway: QuicState
    now: float = 0.0
    sent: Counter[str] = field(default_factory=Counter)

    def exchange(self) -> None:
        """Carry what is due, and what that leads to."""
        while up := self.node.datagrams_to_send(self.now):
            self._carry("up", up, self.gateway, NODE)
        while down := self.gateway.datagrams_to_send(self.now):
            self._carry("down", down, self.node, GATEWAY)
            self.exchange()

    def _carry(
        self, way: str, datagrams: list[tuple[bytes, object]], to: QuicState, sender: object
    ) -> None:
        self.sent[way] += len(datagrams)
        self.now += 0.001
        for data, _ in datagrams:
            to.take(data, sender, self.now)

    def run(self, until: float) -> None:
        """Let time pass, with both timers."""
        while True:
            timers = [(one.get_timer() or inf, one) for one in (self.node, self.gateway)]
            due, who = min(timers, key=lambda timer: timer[0])
            if due > until:
                break
            self.now = max(self.now, due)
            who.handle_timer(self.now)
            self.exchange()
        self.now = until

    def datagrams(self) -> tuple[int, int]:
        """How many went up and down since this was last asked."""
        counts = self.sent["up"], self.sent["down"]
        self.sent.clear()
        return counts


@pytest.fixture
def line(tmp_path: Path) -> Line:
    init_keys(tmp_path)
    trust = Trust(str(tmp_path / "ca.pem"))
    credentials = Credentials(str(tmp_path / "server.pem"), str(tmp_path / "server.key"))
    node = QuicState(configuration=client_configuration(trust, Limits()))
    gateway = QuicState(
        configuration=server_configuration(credentials, Limits()),
        original_destination_connection_id=node.original_destination_connection_id,
        reset_key=b"key",
    )
    made = Line(node, gateway)
    node.connect(GATEWAY, now=0.0)
    made.exchange()
    node.send_stream_data(0, b"hello")
    made.exchange()
    made.run(1.0)
    made.datagrams()
    return made


def test_acknowledgements_travel_with_items_and_with_their_answers(line: Line) -> None:
    for _ in range(20):
        line.node.send_stream_data(0, b"item")
        line.exchange()
        line.run(line.now + 0.015)
        line.gateway.send_stream_data(0, b"safe")
        line.exchange()
        line.run(line.now + PERIOD_S - 0.015)
    assert line.datagrams() == (20, 20)


def test_an_item_without_an_answer_is_acknowledged_before_it_is_taken_for_lost(line: Line) -> None:
    line.node.send_stream_data(0, b"item")
    line.exchange()
    line.run(line.now + 0.025)
    assert line.datagrams() == (1, 1)
    assert line.node.unsent_bytes == 0


def test_a_message_without_an_answer_is_acknowledged_before_it_is_taken_for_lost(
    line: Line,
) -> None:
    line.gateway.send_stream_data(0, b"message")
    line.exchange()
    line.run(line.now + NODE_ACK_DELAY_MS / 1e3)
    assert line.datagrams() == (1, 1)
    assert line.gateway.unsent_bytes == 0


def test_every_second_packet_is_acknowledged_at_once(line: Line) -> None:
    for _ in range(2):
        line.gateway.send_stream_data(0, b"message")
        line.exchange()
    assert line.datagrams() == (1, 2)
    assert line.gateway.unsent_bytes == 0
