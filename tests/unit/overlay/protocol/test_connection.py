"""A connection delivers whole messages, ends when its stream is damaged, and waits for nobody."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from evenflow.overlay.protocol.codec import LINK
from evenflow.overlay.protocol.connection import MOST_UNSENT, Connection, parse_address
from evenflow.overlay.protocol.framing import LARGEST_FRAME, frame
from evenflow.overlay.protocol.messages import Envelope, Heartbeat
from evenflow.overlay.space.coordinate import Coordinate


class RecordingTransport(asyncio.Transport):
    """A transport that keeps what it is given."""

    def __init__(self, unsent: int = 0) -> None:
        super().__init__()
        self.sent = b""
        self.unsent = unsent
        self.calls: list[str] = []

    def write(self, data: Any) -> None:
        self.sent += data

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return "close" in self.calls or "abort" in self.calls

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


def connected(transport: RecordingTransport) -> tuple[Connection, list[Any]]:
    seen: list[Any] = []
    connection = Connection(
        lambda _, message: seen.append(message), lambda _: seen.append("lost"), seen.append
    )
    connection.connection_made(transport)
    assert seen.pop() is connection
    return connection, seen


def test_the_system_tells_of_a_peer_that_is_gone_with_its_host() -> None:
    with socket.socket() as tcp:
        transport = RecordingTransport()
        transport._extra = {"socket": tcp}
        connected(transport)
        assert tcp.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60


def test_messages_come_whole_however_the_stream_is_cut() -> None:
    connection, seen = connected(RecordingTransport())
    stream = frame(LINK.encode(Heartbeat(1))) + frame(LINK.encode(Heartbeat(2)))
    for at in range(0, len(stream), 3):
        connection.data_received(stream[at : at + 3])
    assert seen == [Heartbeat(1), Heartbeat(2)]


@pytest.mark.parametrize("damage", [b"\xff" * 20, frame(b"\xc1")])
def test_a_damaged_stream_closes_the_connection_and_is_marked(damage: bytes) -> None:
    transport = RecordingTransport()
    connection, seen = connected(transport)
    connection.data_received(frame(LINK.encode(Heartbeat(1))) + damage)
    assert seen == [Heartbeat(1)]
    assert connection.damaged
    assert not connection.open
    connection.connection_lost(None)
    assert seen[-1] == "lost"


def test_what_is_sent_is_framed_and_lost_after_the_end() -> None:
    transport = RecordingTransport()
    connection, _ = connected(transport)
    connection.send(Heartbeat(7))
    assert transport.sent == frame(LINK.encode(Heartbeat(7)))
    connection.close()
    connection.send(Heartbeat(8))
    assert transport.sent == frame(LINK.encode(Heartbeat(7)))


def test_a_message_that_fits_no_frame_is_not_sent() -> None:
    transport = RecordingTransport()
    connection, _ = connected(transport)
    large = bytes(LARGEST_FRAME)
    connection.send(Envelope(Coordinate(0.5, 0.5), "", 1, "", 0, 0, reply=False, body=large))
    assert transport.sent == b""
    assert connection.open


def test_a_peer_that_does_not_read_is_left() -> None:
    transport = RecordingTransport(unsent=MOST_UNSENT + 1)
    connection, _ = connected(transport)
    connection.send(Heartbeat(7))
    assert transport.calls == ["abort"]


def test_reading_pauses_and_goes_on() -> None:
    transport = RecordingTransport()
    connection, _ = connected(transport)
    connection.pause(paused=True)
    connection.pause(paused=False)
    assert transport.calls == ["pause", "resume"]


def test_an_address_is_host_and_port() -> None:
    assert parse_address("127.0.0.1:7400") == ("127.0.0.1", 7400)
    assert parse_address("::1:7400") == ("::1", 7400)
    for text in ("", "7400", "host:", ":7400", "host:x", "host:70000"):
        with pytest.raises(ValueError, match="HOST:PORT"):
            parse_address(text)
