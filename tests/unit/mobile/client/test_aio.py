"""The client for asyncio, over links in memory."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.mobile.client.lines import Gateway

from evenflow.access.keys import init_keys
from evenflow.errors import (
    ClosedError,
    ConfigError,
    EvenflowError,
    GatewayTimeout,
    LinkLost,
    NodeRefused,
    OutboxRefused,
    StorageError,
)
from evenflow.mobile.client import aio, blocking
from evenflow.mobile.client.aio import AsyncClient
from evenflow.mobile.client.disk import ClientDisk
from evenflow.mobile.client.events import Broken, DropItem, KeepItem
from evenflow.mobile.client.reaching import Patience
from evenflow.mobile.client.settings import checked_token
from evenflow.mobile.link.frames import Attributes, Position

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from evenflow.mobile.link.frames import Message

ADDRESS = "quic://127.0.0.1:7000"
AT_ONCE = Patience(first_s=0.0, backoff_s=0.001, most_backoff_s=0.001)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trust")
    init_keys(folder)
    (folder / "rubbish.pem").write_text("no certificate")
    return folder


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch, keys: Path) -> Gateway:
    found = Gateway()
    monkeypatch.chdir(keys)

    async def dial(_: object, address: str, timeout_s: float) -> Any:
        return await found.dial(address, timeout_s)

    monkeypatch.setattr(aio, "_dial", dial)
    return found


async def connected(**options: Any) -> AsyncClient:
    return await aio.connect(
        ADDRESS, node="car-7", token="t", trust="ca.pem", patience=AT_ONCE, **options
    )


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what changes is inside the client
            await asyncio.sleep(0)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_what_is_published_arrives_in_order_and_is_safe(gateway: Gateway) -> None:
    async def work() -> None:
        async with await connected() as car:
            await car.publish(b"one")
            await car.publish("two", "weather")
            await car.publish({"three": 3})
            await car.flush()
            assert car.stats.safe == 3
            assert car.stats.kept == 0
            assert car.gateway == "north"

    run(work())
    assert gateway.items == [
        ("traffic", 1, b"one"),
        ("traffic", 2, b'{"three":3}'),
        ("weather", 1, b"two"),
    ]
    assert gateway.lines[0].closed


def test_publishing_waits_for_room_in_turn(gateway: Gateway) -> None:
    async def work() -> None:
        gateway.accepting = False
        async with await connected(most_items=2) as car:
            await car.publish(b"1")
            await car.publish(b"2")
            blocked = [asyncio.create_task(car.publish(b"%d" % n)) for n in range(3, 6)]
            with pytest.raises(GatewayTimeout, match="2 items are not safe: gateway 'north'"):
                await car.publish(b"never", timeout_s=0.01)
            assert not any(task.done() for task in blocked)
            gateway.accept_all()
            await asyncio.gather(*blocked)
            await car.flush()

    run(work())
    assert [payload for _, _, payload in gateway.items] == [b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.parametrize("turn", range(20))
def test_who_waits_for_room_while_the_client_is_closed_is_told(gateway: Gateway, turn: int) -> None:
    """Room and the end come together, and either may be noticed first."""

    async def work() -> list[BaseException | None]:
        gateway.accepting = False
        car = await connected(most_items=2)
        await car.publish(b"1")
        await car.publish(b"2")
        waiting = [asyncio.ensure_future(one) for one in (car.publish(b"3"), car.close())]
        for _ in range(turn):
            await asyncio.sleep(0)
        gateway.accept_all()
        return await asyncio.gather(*waiting, return_exceptions=True)

    told, _ = asyncio.run(work())
    arrived = [payload for _, _, payload in gateway.items] == [b"1", b"2", b"3"]
    assert isinstance(told, ClosedError) != arrived, "kept and sent, or refused"


def test_old_items_are_dropped_and_counted_if_told_so(gateway: Gateway) -> None:
    async def work() -> None:
        gateway.reachable = False
        car = await connected(most_items=3, when_full="drop_oldest", timeout_s=0)
        for number in range(10):
            await car.publish(b"%d" % number)
        assert car.stats.dropped == 7
        gateway.reachable = True
        await car.flush(20)
        await car.close()

    run(work())
    assert [payload for _, _, payload in gateway.items] == [b"7", b"8", b"9"]


def test_a_lost_connection_is_made_again_and_nothing_is_sent_twice(gateway: Gateway) -> None:
    async def work() -> None:
        async with await connected() as car:
            await car.publish(b"1")
            await car.flush()
            gateway.say(LinkLost("dead spot"))
            await until(lambda: car.stats.lost == 1)
            await car.publish(b"2")
            await car.flush(20)
            assert car.stats.connections == 2

    run(work())
    assert [number for _, number, _ in gateway.items] == [1, 2]
    first, second = gateway.hellos
    assert second.connection > first.connection
    assert second.run == first.run


def test_messages_reach_the_handler_once_and_are_then_acknowledged(gateway: Gateway) -> None:
    async def work() -> None:
        seen: list[bytes] = []

        async def handle(message: Any) -> None:
            seen.append(message.payload)
            assert not gateway.received or gateway.received[-1].number < message.number
            await car.publish(b"answer to " + message.payload)
            if message.number == 2:
                raise ValueError("the application's own fault")

        async with await connected() as car:
            gateway.message(1)
            gateway.message(1)
            car.on_message(handle)
            gateway.message(2, previous=1)
            gateway.message(4, previous=3)
            await until(lambda: len(gateway.received) > 1)
            assert car.stats.failed == 1
            assert car.stats.repeated == 1
            await car.flush()
        assert seen == [b"1", b"2"]

    run(work())
    assert [one.number for one in gateway.received] == [1, 2]


def test_attributes_and_position_are_told_and_greeted_with(gateway: Gateway) -> None:
    async def work() -> None:
        async with await connected(attributes={"kind": "bus"}, position=(1.0, 2.0)) as car:
            await car.set_attributes({"kind": "tram"})
            await car.set_position(3.0, 4.0)
            with pytest.raises(ConfigError, match="position"):
                await car.set_position(100.0, 0.0)
            await until(lambda: len(gateway.others) == 2)
            gateway.say(LinkLost("dead spot"))
            await until(lambda: len(gateway.hellos) == 2)

    run(work())
    assert gateway.hellos[0].attributes == {"kind": "bus"}
    assert gateway.others == [Attributes({"kind": "tram"}), Position((3.0, 4.0))]
    assert gateway.hellos[1].position == (3.0, 4.0)


def test_a_refused_token_says_what_to_do_and_another_one_helps(gateway: Gateway) -> None:
    async def work() -> None:
        gateway.refuses = "token expired"
        with pytest.raises(NodeRefused, match="evenflow token issue"):
            await connected()
        gateway.refuses = ""
        car = await connected()
        gateway.refuses = "token revoked"
        gateway.say(LinkLost("token revoked", retry=False, said=True))
        with pytest.raises(NodeRefused, match="revoked"):
            await publish_on(car)
        gateway.refuses = ""
        await car.set_token("better")
        await car.publish(b"1")
        await car.close()

    run(work())
    assert gateway.hellos[-1].token == "better"
    assert gateway.items


async def publish_on(car: AsyncClient) -> None:
    async with asyncio.timeout(20):
        while True:
            await car.publish(b"0")
            await asyncio.sleep(0)


def test_no_gateway_in_time_says_why(gateway: Gateway) -> None:
    async def work() -> None:
        gateway.reachable = False
        with pytest.raises(GatewayTimeout, match="is not there"):
            await connected(timeout_s=0.05)

    run(work())


@pytest.mark.parametrize(
    "options",
    [
        {"gateways": []},
        {"gateways": "http://gateway"},
        {"node": "two words"},
        {"when_full": "explode"},
        {"trust": "nowhere.pem"},
        {"trust": "rubbish.pem"},
        {"most_items": 0},
        {"attributes": {"x" * 100: 1}},
        {"attributes": {"kind": "\udcff"}},
        {"attributes": {"kind": None}},
        {"attributes": {"weight": 10**400}},
        {"node": "\udcff"},
        {"node": "car 7"},
        {"position": (float("nan"), 0.0)},
    ],
)
def test_what_cannot_be_used_is_refused(gateway: Gateway, options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"gateways": ADDRESS, "node": "car-7", "token": "t", "trust": "ca.pem"}
    with pytest.raises(ConfigError):
        run(aio.connect(**{**given, **options}))  # type: ignore[arg-type]


def test_a_topic_that_the_token_does_not_allow_is_refused(gateway: Gateway) -> None:
    async def work() -> None:
        async with await connected() as car:
            with pytest.raises(ConfigError, match="allows traffic, weather"):
                await car.publish(b"1", "secrets")
            with pytest.raises(ConfigError, match="payload"):
                await car.publish(b"1" * (2 << 20))
        with pytest.raises(ClosedError):
            await car.publish(b"1")

    run(work())


def test_a_token_that_allows_none_of_the_gateways_topics_is_told(gateway: Gateway) -> None:
    gateway.topics = ()

    async def work() -> None:
        car = await connected()
        await car.publish(b"1")
        with pytest.raises(GatewayTimeout, match="the token allows no topic that gateway"):
            await car.close(0.05)

    run(work())


@pytest.mark.parametrize("time_us", [1_800_000_000_000_000_000, -(1 << 60), 1 << 70, 1.5, "now"])
def test_a_time_that_no_gateway_can_read_is_refused_before_it_is_kept(
    gateway: Gateway, time_us: Any
) -> None:
    """It would be sent again and again, and end each connection: nanoseconds are easily given."""

    async def work() -> None:
        async with await connected() as car:
            with pytest.raises(ConfigError, match="microseconds since 1970"):
                await car.publish(b"1", time_us=time_us)
            assert car.stats.published == 0

    run(work())


# -- the outbox ------------------------------------------------------------------------------------


def test_an_outbox_goes_on_where_it_was(gateway: Gateway, tmp_path: Path) -> None:
    async def first() -> None:
        gateway.accepting = False
        car = await connected(outbox=tmp_path)
        await car.publish(b"1")
        await until(lambda: len(gateway.items) == 1)
        gateway.message(1)
        await car.close(0.05)

    async def second() -> None:
        gateway.accepting = True
        async with await connected(outbox=tmp_path) as car:
            await car.publish(b"2")
            await car.flush()

    run(first())
    run(second())
    assert gateway.items == [("traffic", 1, b"1"), ("traffic", 2, b"2")]
    assert gateway.hellos[0].run == gateway.hellos[1].run


def test_items_that_nobody_accepted_are_sent_by_the_next_process(
    gateway: Gateway, tmp_path: Path
) -> None:
    async def first() -> None:
        gateway.reachable = False
        car = await connected(outbox=tmp_path, timeout_s=0)
        for number in range(3):
            await car.publish(b"%d" % number)
        await car.close(0)

    async def second() -> None:
        gateway.reachable = True
        async with await connected(outbox=tmp_path) as car:
            await car.flush()

    run(first())
    run(second())
    assert [payload for _, _, payload in gateway.items] == [b"0", b"1", b"2"]


def test_a_message_is_had_once_across_a_restart(gateway: Gateway, tmp_path: Path) -> None:
    seen = []

    async def process() -> None:
        async with await connected(outbox=tmp_path, on_message=seen.append):
            gateway.message(1)
            await until(lambda: len(gateway.received) > len(gateway.hellos) - 1)

    run(process())
    run(process())
    assert len(seen) == 1
    assert gateway.hellos[1].received == {"box": 1}


def test_a_message_is_noted_before_the_next_is_handed_out(gateway: Gateway, tmp_path: Path) -> None:
    """So after ``kill -9`` the one that was in hand comes again, and no other."""
    noted = []

    def look(_: Message) -> None:
        with closing(sqlite3.connect(tmp_path / "client.sqlite")) as disk:
            noted.append(disk.execute("SELECT number FROM marks").fetchall())

    async def work() -> None:
        async with await connected(outbox=tmp_path, on_message=look):
            for number in (1, 2, 3):
                gateway.message(number)
            await until(lambda: len(noted) == 3)

    run(work())
    assert noted == [[], [(1,)], [(2,)]]


def test_an_outbox_is_one_clients_at_a_time(gateway: Gateway, tmp_path: Path) -> None:
    async def work() -> None:
        async with await connected(outbox=tmp_path):
            with pytest.raises(OutboxRefused, match="process"):
                await connected(outbox=tmp_path)
        with pytest.raises(OutboxRefused, match="belongs to node 'car-7'"):
            await aio.connect(ADDRESS, node="car-8", token="t", trust="ca.pem", outbox=tmp_path)

    run(work())


def test_an_outbox_that_contradicts_a_gateway_is_named_by_its_folder(
    gateway: Gateway, tmp_path: Path
) -> None:
    async def work() -> None:
        async with await connected(outbox=tmp_path) as car:
            car._perform(Broken("it was put back from an older copy"))
            with pytest.raises(OutboxRefused, match="older copy") as raised:
                await car.publish(b"1")
            assert raised.value.path == str(tmp_path)

    run(work())


def test_a_full_disk_ends_the_client_with_its_reason(gateway: Gateway, tmp_path: Path) -> None:
    kept = []

    async def fill(car: AsyncClient) -> None:
        for number in range(1_000):
            payload = b"%d" % number + b"x" * 10_000
            await car.publish(payload)
            kept.append(payload)

    async def work() -> None:
        car = await connected(outbox=tmp_path)
        assert car._disk is not None
        car._disk._db.execute("PRAGMA max_page_count = 40")
        gateway.accepting = False
        with pytest.raises(StorageError, match="the disk is full"):
            await fill(car)
        with pytest.raises(StorageError, match="the disk is full"):
            await car.publish(b"2")
        await car.close()

    run(work())
    disk = ClientDisk(tmp_path, "car-7")
    assert [item.payload for item in disk.load().items] == kept
    assert kept
    assert [payload for _, _, payload in gateway.items] == kept[: len(gateway.items)]
    disk.close()


def test_a_client_whose_disk_fails_in_an_unknown_way_says_so_and_does_not_wait(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: ClientDisk, notes: object) -> None:
        raise ZeroDivisionError

    async def work() -> None:
        async with asyncio.timeout(20), await connected(outbox=tmp_path) as car:
            monkeypatch.setattr(ClientDisk, "write", broken)
            for _ in range(2):
                with pytest.raises(EvenflowError, match=r"'car-7' cannot go on: ZeroDivision"):
                    await car.publish(b"1")

    run(work())


def test_a_link_that_cannot_be_written_is_left_for_another(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with await connected() as car:
            with monkeypatch.context() as broken:
                broken.setattr(gateway, "take", None)
                await car.publish(b"1")
                await until(lambda: car.stats.lost == 1)
            await car.flush(20)

    run(work())
    assert [number for _, number, _ in gateway.items] == [1]


def test_a_disk_that_is_full_at_the_end_lets_go_of_the_outbox(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written then only saves a question."""

    def full(self: ClientDisk, notes: object) -> None:
        raise StorageError("disk", "is full")

    async def work() -> None:
        car = await connected(outbox=tmp_path)
        await car.publish(b"1")
        await car.flush()
        monkeypatch.setattr(ClientDisk, "write", full)
        await car.close()

    run(work())
    ClientDisk(tmp_path, "car-7").close()


def test_an_outbox_from_before_headers_is_read(tmp_path: Path) -> None:
    disk = ClientDisk(tmp_path, "car-7")
    disk.write([KeepItem(1, "t", 5, b"old")])
    disk.close()
    with closing(sqlite3.connect(tmp_path / "client.sqlite")) as file:
        file.execute("ALTER TABLE items DROP COLUMN headers")
        file.execute("PRAGMA user_version = 1")
        file.commit()
    for _ in range(2):
        disk = ClientDisk(tmp_path, "car-7")
        assert disk.load().items[0] == KeepItem(1, "t", 5, b"old")
        disk.write([DropItem(2), KeepItem(2, "t", 6, b"new", b"said")])
        assert disk.load().items[1] == KeepItem(2, "t", 6, b"new", b"said")
        disk.close()


@pytest.mark.parametrize("junk", [b"junk" * 2_000, b""])
def test_a_damaged_outbox_says_so(gateway: Gateway, tmp_path: Path, junk: bytes) -> None:
    run(_publish_offline(gateway, tmp_path))
    file = tmp_path / "client.sqlite"
    whole = file.read_bytes()
    file.write_bytes(junk + whole[len(junk) :] if junk else whole[: len(whole) // 2])
    with pytest.raises(StorageError, match=r"damaged|disk"):
        run(_publish_offline(gateway, tmp_path))


def test_an_outbox_with_text_that_is_none_is_damaged(gateway: Gateway, tmp_path: Path) -> None:
    run(_publish_offline(gateway, tmp_path))
    with closing(sqlite3.connect(tmp_path / "client.sqlite")) as disk:
        disk.execute("UPDATE items SET topic = CAST(x'fffe' AS TEXT) WHERE sequence = 7")
        disk.commit()
    with pytest.raises(StorageError, match="damaged"):
        run(_publish_offline(gateway, tmp_path))


async def _publish_offline(gateway: Gateway, outbox: Path) -> None:
    gateway.reachable = False
    car = await connected(outbox=outbox, timeout_s=0)
    for _ in range(100):
        await car.publish(b"x" * 500)
    await car.close(0)


# -- blocking --------------------------------------------------------------------------------------


def test_the_blocking_client_does_the_same(gateway: Gateway) -> None:
    answered: list[bytes] = []
    with blocking.connect(
        ADDRESS, node="car-7", token="t", trust="ca.pem", patience=AT_ONCE
    ) as car:

        @car.on_message
        def handle(message: Any) -> None:
            car.publish(b"answer")  # from a handler, too
            answered.append(message.payload)

        car.publish(b"1", "weather")
        car._thread._loop.call_soon_threadsafe(gateway.message, 1)
        car.flush(20)
        while not answered:
            car.flush(20)
        assert car.stats.published == 2
        assert car.gateway == "north"
    with pytest.raises(ClosedError):
        car.publish(b"2")
    assert sorted(payload for _, _, payload in gateway.items) == [b"1", b"answer"]


def test_a_blocking_client_that_is_refused_leaves_no_thread(gateway: Gateway) -> None:
    gateway.refuses = "forged"
    with pytest.raises(NodeRefused):
        blocking.connect(ADDRESS, node="car-7", token="t", trust="ca.pem", patience=AT_ONCE)


def test_a_block_that_raises_waits_until_items_are_safe_and_tells_what_is_given_up(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(aio, "AFTER_ERROR_S", 0.1)

    async def fail(**options: Any) -> None:
        async with await connected(**options) as car:
            await car.publish(b"one")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(fail())
    assert [payload for _, _, payload in gateway.items] == [b"one"]
    assert caplog.records == []
    gateway.reachable = False
    with pytest.raises(ZeroDivisionError):
        run(fail(timeout_s=0))
    assert "1 item is given up" in caplog.text


def test_a_token_is_text_and_may_end_a_line() -> None:
    assert checked_token("abc.def\n") == "abc.def"
    with pytest.raises(ConfigError, match=r"PATH.read_text\(\)"):
        checked_token(Path("car-7.token"))  # type: ignore[arg-type]
