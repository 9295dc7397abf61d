"""The link over real sockets: both transports hold the same promises, and QUIC moves."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from evenflow.access.keys import init_keys
from evenflow.errors import ConfigError, LinkLost, StorageError
from evenflow.mobile.link import frames as f
from evenflow.mobile.link import quic_listener, tls_listener
from evenflow.mobile.link.connection import (
    Connection,
    Credentials,
    Frame,
    Limits,
    Listener,
    Trust,
)
from evenflow.mobile.link.dialing import open_link
from evenflow.mobile.link.listening import listen
from evenflow.mobile.link.quic_state import QuicState, client_configuration

TRANSPORTS = ("quic", "tls")
both = pytest.mark.parametrize("transport", TRANSPORTS)
DEADLINE_S = 20.0


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    init_keys(folder)
    return folder


def trust(keys: Path) -> Trust:
    return Trust(str(keys / "ca.pem"))


def credentials(keys: Path) -> Credentials:
    return Credentials(str(keys / "server.pem"), str(keys / "server.key"))


async def echo(connection: Connection) -> None:
    """Answer each question about a gateway by a `Settled` of the same names."""
    while True:
        frame = await connection.receive()
        assert isinstance(frame, f.Settle)
        await connection.send(f.Settled(frame.gateway, frame.topic, 1))


@contextlib.asynccontextmanager
async def listening(
    transport: str,
    keys: Path,
    accept: Callable[[Connection], Awaitable[None]] = echo,
    limits: Limits | None = None,
) -> AsyncIterator[Listener]:
    listener = await listen(f"{transport}://127.0.0.1:0", credentials(keys), accept, limits)
    try:
        yield listener
    finally:
        await listener.close()


async def asked(connection: Connection, name: str) -> Frame:
    await connection.send(f.Settle(name, "items"))
    async with asyncio.timeout(DEADLINE_S):
        return await connection.receive()


async def lost(connection: Connection) -> LinkLost:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                await connection.receive()
            except LinkLost as error:
                return error


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - conditions of the other side
            await asyncio.sleep(0.01)


OPENED: list[Connection] = []


async def dial(*args: object, **more: object) -> Connection:
    """Open a link that is closed when the test is over."""
    OPENED.append(await open_link(*args, **more))  # type: ignore[arg-type]
    return OPENED[-1]


def run(coroutine: Awaitable[None]) -> None:
    async def whole() -> None:
        try:
            await asyncio.wait_for(coroutine, 100)
        finally:
            while OPENED:
                await OPENED.pop().close("the test is over")

    asyncio.run(whole())


# -- frames, ends ----------------------------------------------------------------------------------


@both
def test_frames_go_both_ways_in_order(transport: str, keys: Path) -> None:
    async def main() -> None:
        async with listening(transport, keys) as listener:
            assert listener.address.startswith(f"{transport}://127.0.0.1:")
            connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            assert connection.transport == transport
            for number in range(200):
                await connection.send(f.Settle(f"g{number}", "items"))
            for number in range(200):
                assert await connection.receive() == f.Settled(f"g{number}", "items", 1)
            await connection.close("done")
            await until(lambda: listener.counts.open == 0)
            assert listener.counts.accepted == 1
            assert listener.counts.malformed == listener.counts.failed == 0

    run(main())


@both
def test_a_bye_says_why_and_whether_to_try_again(transport: str, keys: Path) -> None:
    async def refuse(connection: Connection) -> None:
        await connection.receive()
        await connection.send(f.Safe("items", 7))
        await connection.close("token expired", retry=False)

    async def main() -> None:
        async with listening(transport, keys, refuse) as listener:
            connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            await connection.send(f.Ping(), f.Settle("g", "items"))
            assert await connection.receive() == f.Safe("items", 7), "sent before the end: arrives"
            error = await lost(connection)
            assert (error.reason, error.retry, error.said) == ("token expired", False, True)
            with pytest.raises(LinkLost):
                await connection.send(f.Ping())

    run(main())


@both
def test_the_gateway_hears_why_a_client_leaves(transport: str, keys: Path) -> None:
    reasons: list[LinkLost] = []

    async def note(connection: Connection) -> None:
        try:
            await connection.receive()
        except LinkLost as error:
            reasons.append(error)

    async def main() -> None:
        async with listening(transport, keys, note) as listener:
            connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            await connection.close("handed over")
            await until(lambda: bool(reasons))
            assert (reasons[0].reason, reasons[0].said) == ("handed over", True)

    run(main())


@both
def test_closing_the_listener_says_bye_to_all(transport: str, keys: Path) -> None:
    async def main() -> None:
        async with listening(transport, keys) as listener:
            links = [
                await dial(listener.address, trust(keys), timeout_s=DEADLINE_S) for _ in range(3)
            ]
            for number, link in enumerate(links):
                await asked(link, f"g{number}")
            await listener.close("upgrade")
            assert {(await lost(link)).reason for link in links} == {"upgrade"}

    run(main())


# -- trust -----------------------------------------------------------------------------------------


@both
def test_a_gateway_of_another_ca_is_not_trusted(transport: str, keys: Path, tmp_path: Path) -> None:
    init_keys(tmp_path)

    async def main() -> None:
        async with listening(transport, keys) as listener:
            with pytest.raises(LinkLost):
                await dial(listener.address, trust(tmp_path), timeout_s=DEADLINE_S)
            await until(lambda: listener.counts.refused == 1)
            assert listener.counts.accepted == 0

    run(main())


@both
def test_a_certificate_of_the_ca_for_another_name_is_not_trusted(
    transport: str, keys: Path
) -> None:
    async def main() -> None:
        async with listening(transport, keys) as listener:
            other = Trust(str(keys / "ca.pem"), "other.example")
            with pytest.raises(LinkLost):
                await dial(listener.address, other, timeout_s=DEADLINE_S)

    run(main())


@both
def test_nobody_there(transport: str, keys: Path) -> None:
    async def main() -> None:
        with socket.socket(
            type=socket.SOCK_DGRAM if transport == "quic" else socket.SOCK_STREAM
        ) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with pytest.raises(LinkLost):
            await dial(f"{transport}://127.0.0.1:{port}", trust(keys), timeout_s=5.0)

    run(main())


def test_an_address_in_use_is_told(keys: Path) -> None:
    async def main() -> None:
        async with listening("tls", keys) as listener:
            with pytest.raises(ConfigError, match="cannot be used"):
                await listen(listener.address, credentials(keys), echo)

    run(main())


@both
@pytest.mark.parametrize("name", ["server.pem", "server.key"])
def test_credentials_that_are_none_are_told(transport: str, keys: Path, name: str) -> None:
    async def main(folder: Path, reason: str) -> None:
        with pytest.raises(StorageError, match=reason):
            await listen(f"{transport}://127.0.0.1:0", credentials(folder), echo)

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for one in ("server.pem", "server.key"):
            (folder / one).write_bytes((keys / one).read_bytes())
        (folder / name).write_text("nothing")
        run(main(folder, "evenflow keys renew"))
        (folder / name).unlink()
        run(main(folder, "evenflow keys init"))


# -- back-pressure ---------------------------------------------------------------------------------


@both
def test_a_gateway_that_takes_nothing_holds_the_client_back(transport: str, keys: Path) -> None:
    """What a client sends stays with it, except a fixed amount, until the gateway reads."""
    limits = Limits(received_bytes=1 << 15, unsent_bytes=1 << 15)
    may_read, taken = asyncio.Event(), 0

    async def slow(connection: Connection) -> None:
        nonlocal taken
        await may_read.wait()
        while True:
            frame = await connection.receive()
            assert isinstance(frame, f.Items)
            assert frame.first == taken + 1
            taken += 1

    async def main() -> None:
        async with listening(transport, keys, slow, limits) as listener:
            connection = await dial(
                listener.address, trust(keys), timeout_s=DEADLINE_S, limits=limits
            )
            sent = 0

            async def flood() -> None:
                nonlocal sent
                for number in range(1, 8_001):
                    await connection.send(f.Items("items", number, (0,), (bytes(1_000),)))
                    sent = number

            flooding = asyncio.create_task(flood())
            before = -1
            while sent != before:  # until nothing more goes
                before = sent
                await asyncio.sleep(0.5)
            assert 0 < sent < 8_000
            if transport == "quic":  # TCP also has the kernel's buffers, whose size we do not set
                assert sent * 1_000 < 4 * (limits.received_bytes + limits.unsent_bytes)
            may_read.set()
            async with asyncio.timeout(60):
                await flooding
            await until(lambda: taken == 8_000)
            await connection.close("done")

    run(main())


@both
def test_the_end_is_noticed_by_who_takes_nothing(transport: str, keys: Path) -> None:
    ends: list[LinkLost] = []

    async def deaf(connection: Connection) -> None:
        ends.append(await connection.ended())

    async def main() -> None:
        async with listening(transport, keys, deaf) as listener:
            connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            await connection.send(f.Settle("g1", "items"))
            await connection.close("enough")
            await until(lambda: bool(ends))

    run(main())


@both
def test_a_client_that_takes_nothing_holds_the_gateway_back(transport: str, keys: Path) -> None:
    limits = Limits(received_bytes=1 << 15, unsent_bytes=1 << 15)
    sent = 0

    async def flood(connection: Connection) -> None:
        nonlocal sent
        await connection.receive()
        for number in range(1, 8_001):
            await connection.send(f.Message("box", number, 0, "", 0, "", bytes(1_000)))
            sent = number
        await connection.receive()

    async def main() -> None:
        async with listening(transport, keys, flood, limits) as listener:
            connection = await dial(
                listener.address, trust(keys), timeout_s=DEADLINE_S, limits=limits
            )
            await connection.send(f.Settle("g", "items"))
            before = -1
            while sent != before or not sent:
                before = sent
                await asyncio.sleep(0.5)
            assert sent < 8_000
            for number in range(1, 8_001):
                async with asyncio.timeout(DEADLINE_S):
                    frame = await connection.receive()
                assert isinstance(frame, f.Message)
                assert frame.number == number
            await connection.close("done")

    run(main())


@both
def test_a_frame_larger_than_the_buffers_passes(transport: str, keys: Path) -> None:
    large = f.Items("items", 1, (0,), (bytes(900_000),))
    got: list[Frame] = []

    async def take(connection: Connection) -> None:
        await connection.receive()
        got.append(await connection.receive())

    async def main() -> None:
        async with listening(transport, keys, take) as listener:
            connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            await connection.send(f.Settle("g", "items"), large)
            await until(lambda: bool(got))
            assert got == [large]

    run(main())


# -- silence and moving ----------------------------------------------------------------------------


@both
def test_a_silent_client_is_given_up_and_one_that_is_kept_alive_is_not(
    transport: str, keys: Path
) -> None:
    async def main() -> None:
        async with listening(transport, keys, limits=Limits(idle_s=1.0)) as listener:
            address = listener.address
            alive = await dial(address, trust(keys), timeout_s=5, limits=Limits(keep_alive_s=0.2))
            mute = await dial(address, trust(keys), timeout_s=5, limits=Limits(keep_alive_s=60))
            assert await asked(alive, "g")
            assert await asked(mute, "g")
            error = await lost(mute)
            assert not (error.said and not error.retry)
            await until(lambda: listener.counts.idle == 1)
            assert await asked(alive, "still") == f.Settled("still", "items", 1)
            await alive.close("done")

    run(main())


@pytest.mark.parametrize("local_host", ["", "127.0.0.2"])
def test_a_client_moves_and_it_is_the_same_connection(local_host: str, keys: Path) -> None:
    """Another port, another address: nothing lost, nothing repeated, no handshake."""
    received: list[int] = []
    peers: set[str] = set()

    async def count(connection: Connection) -> None:
        while True:
            frame = await connection.receive()
            assert isinstance(frame, f.Items)
            received.append(frame.first)
            peers.add(connection.peer)
            await connection.send(f.Safe("items", frame.first))

    async def main() -> None:
        limits = Limits(connections=1)  # a second handshake would be refused
        async with listening("quic", keys, count, limits) as listener:
            connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            for number in range(1, 301):
                if number % 50 == 0:
                    assert await connection.move(local_host)
                await connection.send(f.Items("items", number, (0,), (b"x",)))
                if number % 7 == 0:
                    await asyncio.sleep(0.002)
            for number in range(1, 301):
                async with asyncio.timeout(DEADLINE_S):
                    assert await connection.receive() == f.Safe("items", number)
            assert received == list(range(1, 301))
            assert listener.counts.accepted == 1
            assert listener.counts.migrated >= 1
            assert len(peers) > 1
            if local_host:
                assert any(local_host in peer for peer in peers)
            await connection.close("done")

    run(main())


def test_tls_says_that_it_cannot_move(keys: Path) -> None:
    async def main() -> None:
        async with listening("tls", keys) as listener:
            connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            assert not await connection.move()

    run(main())


def test_a_gateway_that_was_started_anew_says_that_it_knows_nobody(keys: Path) -> None:
    """Its clients must not wait for the idle time until they connect again."""

    async def main() -> None:
        limits = Limits(idle_s=300)
        listener = await listen("quic://127.0.0.1:0", credentials(keys), echo, limits)
        connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S, limits=limits)
        await asked(connection, "g")
        _kill(listener)
        again = await listen(listener.address, credentials(keys), echo, limits)
        await connection.send(f.Settle("g", "items"))
        await lost(connection)
        await again.close()

    run(main())


def test_a_gateway_that_died_is_noticed_at_once(keys: Path) -> None:
    async def main() -> None:
        limits = Limits(idle_s=300)
        listener = await listen("quic://127.0.0.1:0", credentials(keys), echo, limits)
        connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S, limits=limits)
        await asked(connection, "g")
        _kill(listener)
        await connection.send(f.Settle("g", "items"))
        assert (await lost(connection)).reason == "nobody listens there"

    run(main())


def _kill(listener: Listener) -> None:
    """End a listener as the end of its process would: without a word."""
    loop = asyncio.get_running_loop()
    loop.remove_reader(listener._socket)  # type: ignore[attr-defined]
    listener._socket.close()  # type: ignore[attr-defined]


# -- what clients can do ---------------------------------------------------------------------------


@both
def test_too_many_connections_are_turned_away(transport: str, keys: Path) -> None:
    async def main() -> None:
        async with listening(transport, keys, limits=Limits(connections=2)) as listener:
            first, second = [
                await dial(listener.address, trust(keys), timeout_s=DEADLINE_S) for _ in range(2)
            ]
            await asked(first, "a")
            await asked(second, "b")
            with pytest.raises(LinkLost):
                await dial(listener.address, trust(keys), timeout_s=1.0)
            assert listener.counts.refused > 0
            await second.close("done")
            await until(lambda: listener.counts.open == 1)
            third = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            assert await asked(third, "c")

    run(main())


def test_connections_do_not_take_the_last_files_of_a_gateway(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has none left cannot write down what it has accepted: it would end."""
    room = psutil.Process().num_fds() + 12
    monkeypatch.setattr(tls_listener, "files_for_connections", lambda: room)

    async def main() -> None:
        async with listening("tls", keys) as listener:
            host, _, port = listener.address.removeprefix("tls://").rpartition(":")
            pairs = [await asyncio.open_connection(host, int(port)) for _ in range(20)]
            await until(lambda: listener.counts.refused > 5)
            # Those it refuses hear of it one after the other.
            await until(lambda: sum(not reader.at_eof() for reader, _ in pairs) < 10)
            assert any(not reader.at_eof() for reader, _ in pairs)
            for _, writer in pairs:
                writer.transport.abort()
            await until(lambda: listener.counts.refused == 20)
            client = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            assert await asked(client, "a")

    run(main())


@both
def test_one_host_does_not_take_all_places_by_handshakes_that_it_does_not_end(
    transport: str, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quic_listener, "MOST_HANDSHAKES", 4)
    limits = Limits(handshake_s=60.0, connections=4, idle_s=120.0)
    half_open: list[socket.socket] = []

    def begin(address: str) -> None:
        kind = socket.SOCK_DGRAM if transport == "quic" else socket.SOCK_STREAM
        opened = socket.socket(socket.AF_INET, kind)
        half_open.append(opened)
        opened.bind(("127.0.0.9", 0))
        opened.connect(("127.0.0.1", int(address.rpartition(":")[2])))
        if transport == "quic":
            state = QuicState(configuration=client_configuration(trust(keys), Limits()))
            state.connect(("127.0.0.1", 1), now=0.0)
            for data, _ in state.datagrams_to_send(now=0.0):
                opened.send(data)

    async def main() -> None:
        async with listening(transport, keys, limits=limits) as listener:
            for _ in range(8):
                begin(listener.address)
            await until(lambda: listener.counts.refused >= 4)
            client = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            assert await asked(client, "a")

    run(main())
    for opened in half_open:
        opened.close()


def test_many_at_once_prove_their_addresses(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond some handshakes at a time every client comes twice; all of them get in."""
    from evenflow.mobile.link import quic_listener  # noqa: PLC0415

    asked_again = []
    make = quic_listener.make_token
    monkeypatch.setattr(quic_listener, "PROOF_ABOVE", 3)
    monkeypatch.setattr(
        quic_listener, "make_token", lambda *args: asked_again.append(1) or make(*args)
    )

    async def main() -> None:
        async with listening("quic", keys) as listener:
            links = await asyncio.gather(
                *(dial(listener.address, trust(keys), timeout_s=DEADLINE_S) for _ in range(40))
            )
            for number, link in enumerate(links):
                assert await asked(link, f"g{number}") == f.Settled(f"g{number}", "items", 1)
            assert len(asked_again) > 10
            for link in links:
                await link.close("done")

    run(main())


def test_many_at_once_leave_the_loop_to_those_connected(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn of the loop begins few connections."""
    from evenflow.mobile.link import quic_listener  # noqa: PLC0415

    begun: list[int] = []
    read = quic_listener.QuicListener._on_readable

    def counted(listener: quic_listener.QuicListener) -> None:
        before = len(listener._handshakes)
        read(listener)
        begun.append(len(listener._handshakes) - before)

    monkeypatch.setattr(quic_listener.QuicListener, "_on_readable", counted)

    async def main() -> None:
        async with listening("quic", keys) as listener:
            links = await asyncio.gather(
                *(dial(listener.address, trust(keys), timeout_s=DEADLINE_S) for _ in range(40))
            )
            for number, link in enumerate(links):
                assert await asked(link, f"g{number}") == f.Settled(f"g{number}", "items", 1)

    run(main())
    assert 0 < max(begun) <= quic_listener.BEGIN_A_TURN


@both
def test_frames_that_do_not_fit_end_that_connection_only(transport: str, keys: Path) -> None:
    async def main() -> None:
        async with listening(transport, keys) as listener:
            address = listener.address
            good = await dial(address, trust(keys), timeout_s=DEADLINE_S)
            await asked(good, "before")
            for content, kind in ((b"\x00\x00\x00\x02\xc1\xc1", "malformed"),
                                  (b"\x7f\xff\xff\xff", "oversized")):  # fmt: skip
                bad = await dial(address, trust(keys), timeout_s=DEADLINE_S)
                bad._write(content)  # type: ignore[attr-defined]
                error = await lost(bad)
                assert error.said
                assert not error.retry
                assert "frame" in error.reason
                assert getattr(listener.counts, kind) == 1
            assert await asked(good, "after") == f.Settled("after", "items", 1)
            assert listener.counts.failed == 0

    run(main())


def test_random_datagrams_do_not_disturb_who_is_served(keys: Path) -> None:
    """100,000 random and mutated datagrams, some of real handshakes: others are served on."""
    rng = random.Random(3)

    async def main() -> None:
        async with listening("quic", keys, limits=Limits(handshake_s=1.0)) as listener:
            connection = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            await asked(connection, "before")
            real = _first_datagrams(keys)
            port = int(listener.address.rpartition(":")[2])
            with socket.socket(type=socket.SOCK_DGRAM) as attacker:
                attacker.settimeout(0)
                attacker.connect(("127.0.0.1", port))
                before = 0
                for number in range(100_000):
                    with contextlib.suppress(OSError):
                        attacker.send(_hostile(real, number, rng))
                    if number % 200 == 0:
                        assert await asked(connection, f"g{number}")
                    if number == 30_000:
                        gc.collect()
                        before = psutil.Process().memory_info().rss
            await asyncio.sleep(1.5)
            assert await asked(connection, "after") == f.Settled("after", "items", 1)
            gc.collect()
            grown = psutil.Process().memory_info().rss - before
            assert grown < 48 << 20
            fresh = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            assert await asked(fresh, "fresh")

    run(main())


def _first_datagrams(keys: Path) -> list[bytes]:
    from evenflow.mobile.link.quic_state import QuicState, client_configuration  # noqa: PLC0415

    found = []
    for _ in range(20):
        state = QuicState(configuration=client_configuration(trust(keys), Limits()))
        state.connect(("127.0.0.1", 1), now=0.0)
        found += [data for data, _ in state.datagrams_to_send(0.0)]
    return found


def _hostile(real: list[bytes], number: int, rng: random.Random) -> bytes:
    if number % 3 == 0:
        return rng.randbytes(rng.choice([0, 1, 8, 9, 20, 43, 100, 1_200, 1_400]))
    data = bytearray(rng.choice(real))
    for _ in range(rng.randint(0, 3)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if number % 7 == 0:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


@both
def test_random_frames_do_not_disturb_who_is_served(transport: str, keys: Path) -> None:
    rng = random.Random(4)

    async def main() -> None:
        async with listening(transport, keys) as listener:
            good = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
            for number in range(60):
                bad = await dial(listener.address, trust(keys), timeout_s=DEADLINE_S)
                for _ in range(20):
                    bad._write(rng.randbytes(rng.randrange(1, 300)))  # type: ignore[attr-defined]
                await lost(bad)
                assert await asked(good, f"g{number}")
            assert listener.counts.malformed + listener.counts.oversized == 60
            await until(lambda: listener.counts.open == 1)

    run(main())


def test_a_stream_of_no_tls_is_refused(keys: Path) -> None:
    async def main() -> None:
        async with listening("tls", keys, limits=Limits(handshake_s=1.0)) as listener:
            host, port = "127.0.0.1", int(listener.address.rpartition(":")[2])
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            async with asyncio.timeout(DEADLINE_S):
                await reader.read()
            writer.close()
            reader, writer = await asyncio.open_connection(host, port)  # says nothing at all
            async with asyncio.timeout(DEADLINE_S):
                await reader.read()
            writer.close()
            await until(lambda: listener.counts.refused == 2)
            old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            old.load_verify_locations(keys / "ca.pem")
            old.maximum_version = ssl.TLSVersion.TLSv1_2
            with pytest.raises(ssl.SSLError):
                await asyncio.open_connection(
                    host, port, ssl=old, server_hostname="server.evenflow.internal"
                )

    run(main())
