"""The domain with real processes: both codecs, damage, death, partitions, waiting, closing."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from cyclonedds.core import DDSException

from evenflow.config import DomainConfig
from evenflow.domain import channels
from evenflow.domain.channels import Gone
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.errors import ClosedError, DomainError
from evenflow.model.batch import Item
from evenflow.model.encoding import encode_item
from evenflow.model.messages import Attachment, Beat, MapPage, MoveReply, NodeReport, Order, Step
from evenflow.model.slice_map import SliceMap, page_count, page_slices
from evenflow.testing.samples import encode_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.domain.cyclone import Reader

pytestmark = pytest.mark.domain

STOCK = """
    import sys, time
    from cyclonedds.core import Policy, Qos
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.pub import DataWriter, Publisher
    from cyclonedds.sub import DataReader, Subscriber
    from cyclonedds.topic import Topic
    from evenflow.config import DomainConfig
    from evenflow.domain.settings import cyclone_xml
    from evenflow.domain.types import idl_type
    from evenflow.model.messages import MoveReply
    from evenflow.model.sample import Sample

    config = DomainConfig(id=int(sys.argv[1]))
    domain = Domain(config.id, cyclone_xml(config))
    participant = DomainParticipant(config.id)
    reliable = Policy.Reliability.Reliable(1_000_000_000)
    items = Topic(participant, "evenflow/data/items", idl_type(Sample))
    replies = Topic(participant, "evenflow/replies", idl_type(MoveReply))
    kept = Qos(reliable, Policy.Durability.TransientLocal, Policy.History.KeepAll)
    every = Qos(reliable, Policy.History.KeepAll)
    north = Qos(Policy.Partition(["north"]))
"""

OURS = """
    import sys, time
    from cyclonedds.core import DDSException
    from evenflow.config import DomainConfig
    from evenflow.domain import channels
    from evenflow.domain.cyclone import Participant
    from evenflow.model.batch import Item
    from evenflow.model.messages import Beat, NodeReport
    from evenflow.model.encoding import encode_item
    from evenflow.testing.samples import encode_items

    participant = Participant(DomainConfig(id=int(sys.argv[1])))
"""

REPORT = NodeReport(
    "items", "north~1", 1, 2, False, (1, 2), (0, 1), (3, 4), 5, 6, 7, 8, 10, 11, 12, 1.5, "h", 1
)


@pytest.fixture
def participant(domain_config: DomainConfig) -> Iterator[Participant]:
    with Participant(domain_config) as one:
        yield one


@pytest.fixture
def collect(eventually: Callable[..., None]) -> Callable[..., list[Any]]:
    """Take from a reader until there are so many."""

    def collect(reader: Reader, count: int) -> list[Any]:
        taken: list[Any] = []
        eventually(lambda: taken.extend(reader.take()) or len(taken) >= count, f"{count} samples")
        return taken

    return collect


def item(number: int) -> Item:
    return Item(f"sender {number}", number, number * 10, b"x" * number)


@pytest.mark.parametrize("fault", [IndexError(), DDSException(-1)])
def test_readers_that_change_while_they_are_listed_are_counted_at_the_next_look(
    participant: Participant, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    writer = participant.writer(channels.data("items"), "north")
    participant.reader(channels.data("items"), ["north"])
    listed, faults = writer._writer.get_matched_subscriptions, [fault]

    def changing() -> list[int]:
        if faults:
            raise faults.pop()
        return list(listed())

    monkeypatch.setattr(writer._writer, "get_matched_subscriptions", changing)
    looks = [writer.matched() for _ in range(2)]
    assert looks == [0, 1]
    assert not faults


def test_we_read_what_a_stock_writer_writes(
    participant: Participant, python: Callable[..., Any], collect: Callable[..., list[Any]]
) -> None:
    data = participant.reader(channels.data("items"), ["north"])
    replies = participant.reader(channels.REPLIES)
    python(
        STOCK
        + """
    data = DataWriter(Publisher(participant, north), items, every)
    control = DataWriter(participant, replies, kept)
    while not data.get_matched_subscriptions():
        time.sleep(0.01)
    head = [7, 4, 2, [3, 8], [2, 1], [1, 9]]
    columns = [[5, 6, 7], [50, 60, 70], [0, 1, 3, 3], b"abb", [0, 0, 4, 5], b"loads"]
    data.write(idl_type(Sample)(*head, *columns))
    control.write(idl_type(MoveReply)("items", 9, True, "because", 11))
    time.sleep(60)
    """,
        participant.config.id,
    )
    (sample,) = collect(data, 1)
    assert (sample.writer, sample.serial, sample.epoch) == (7, 4, 2)
    assert [(batch.slice, batch.first, list(batch)) for batch in sample.batches()] == [
        (3, 1, [Item("a", 5, 50, b""), Item("bb", 6, 60, b"load")]),
        (8, 9, [Item("", 7, 70, b"s")]),
    ]
    assert collect(replies, 1) == [MoveReply("items", 9, True, "because", 11)]
    assert data.damaged == replies.damaged == 0


def test_a_stock_reader_reads_what_we_write(
    participant: Participant, python: Callable[..., Any], eventually: Callable[..., None]
) -> None:
    data = participant.writer(channels.data("items"), "north")
    replies = participant.writer(channels.REPLIES)
    stock = python(
        STOCK
        + """
    data = DataReader(Subscriber(participant, north), items, every)
    control = DataReader(participant, replies, kept)
    found = []
    while len(found) < 2:
        found += data.take(10) + control.take(10)
        time.sleep(0.01)
    for sample in sorted(found, key=lambda sample: type(sample).__name__, reverse=True):
        print([getattr(sample, name) for name in sample.__annotations__])
    """,
        participant.config.id,
    )
    eventually(data.matched)
    eventually(replies.matched)
    assert data.write_encoded(encode_items(7, 4, 2, {8: (9, [item(2)]), 3: (1, [item(1)])}))
    assert replies.write(MoveReply("items", 9, True, "because", 11))
    out, _ = stock.communicate(timeout=20)
    first, second = out.splitlines()
    senders = list(b"sender 1sender 2")
    payloads = [120] * 3
    head = [7, 4, 2, [3, 8], [1, 1], [1, 9]]
    assert first == str([*head, [1, 2], [10, 20], [0, 8, 16], senders, [0, 1, 3], payloads])
    assert second == str(["items", 9, True, "because", 11])


def test_damaged_and_foreign_samples_are_counted_and_skipped(
    participant: Participant, python: Callable[..., Any], collect: Callable[..., list[Any]]
) -> None:
    data = participant.reader(channels.data("items"), ["north"])
    replies = participant.reader(channels.REPLIES)
    orders = participant.reader(channels.ORDERS, ["north"])
    python(
        STOCK
        + """
    from evenflow.domain import channels
    from evenflow.domain.codec import encode
    from evenflow.model.messages import Order
    from cyclonedds._clayer import ddspy_write

    data = DataWriter(Publisher(participant, north), items, every)
    control = DataWriter(participant, replies, kept)
    order = Topic(participant, channels.ORDERS.name, idl_type(Order))
    orders = DataWriter(Publisher(participant, Qos(Policy.Partition(["north"]))), order, kept)
    while not data.get_matched_subscriptions():
        time.sleep(0.01)
    def sample(serial, ids, offsets, slices=(3,), counts=(1,), firsts=(1,)):
        head = [7, serial, 2, list(slices), list(counts), list(firsts)]
        return idl_type(Sample)(*head, ids, ids, offsets, b"ab", offsets, b"bc")
    data.write(sample(1, [5], [0, 2]))
    data.write(sample(2, [5], [0, 9]))                              # offsets beyond the bytes
    data.write(sample(2, [5, 6], [0, 2]))                           # columns of different lengths
    data.write(sample(2, [], []))                                   # items that are not there
    data.write(sample(2, [], [0], (), (), ()))                      # nothing
    data.write(sample(2, [5, 6], [0, 1, 2], (4, 3), (1, 1), (1, 1)))  # slices in no order
    data.write(sample(2, [5, 6], [0, 1, 2], (3, 4), (1, 1), (1,)))  # a head of different lengths
    data.write(sample(2, [5], [0, 2], firsts=(0,)))                 # a number before the first
    data.write(sample(2, [5, 6], [0, 1, 2], (3, 4), (1, 1), (1, 1)))
    no_utf8 = encode(MoveReply("items", 1, True, "<->", 1)).replace(b"<->", b"\\xff" * 3)
    ddspy_write(control._ref, no_utf8)
    control.write(idl_type(MoveReply)("items", 2, True, "", 2))
    orders.write(idl_type(Order)("items", "north", 1, 99, [], ""))  # a step nobody knows
    orders.write(idl_type(Order)("items", "north", 1, 1, [], ""))
    time.sleep(60)
    """,
        participant.config.id,
    )
    assert [(sample.serial, sample.count) for sample in collect(data, 2)] == [(1, 1), (2, 2)]
    assert data.damaged == 7
    assert collect(replies, 1) == [MoveReply("items", 2, True, "", 2)]
    assert replies.damaged == 1
    assert collect(orders, 1) == [Order("items", "north", 1, Step.FREEZE, (), "")]
    assert orders.damaged == 1


def test_bytes_that_are_no_sample_cannot_be_written(participant: Participant) -> None:
    writer = participant.writer(channels.data("items"), "north")
    with pytest.raises(DomainError, match=r"evenflow/data/items: write"):
        writer.write_encoded(b"\x00\x01\x00\x00 this is no sample at all ")


def test_the_death_of_a_process_is_told_with_the_key(
    participant: Participant, python: Callable[..., Any], collect: Callable[..., list[Any]]
) -> None:
    reports = participant.reader(channels.REPORTS)
    other = python(
        OURS
        + f"""
    writer = participant.writer(channels.REPORTS)
    writer.write({REPORT!r})
    time.sleep(60)
    """,
        participant.config.id,
    )
    assert collect(reports, 1) == [REPORT]
    other.send_signal(signal.SIGKILL)
    assert collect(reports, 1) == [Gone(NodeReport, ("items", "north~1"))]


def test_a_death_before_the_message_was_taken_is_told_after_it(
    participant: Participant, python: Callable[..., Any], eventually: Callable[..., None]
) -> None:
    reports = participant.reader(channels.REPORTS)
    other = python(
        OURS
        + f"""
    writer = participant.writer(channels.REPORTS)
    writer.write({REPORT!r})
    time.sleep(60)
    """,
        participant.config.id,
    )
    waiter = participant.waiter()
    waiter.attach(reports)
    assert waiter.wait(20.0)
    other.send_signal(signal.SIGKILL)
    eventually(lambda: reports.matched() == 0)
    assert reports.take() == [REPORT, Gone(NodeReport, ("items", "north~1"))]
    assert reports.take() == []


def test_an_instance_is_gone_with_its_last_writer(
    participant: Participant, collect: Callable[..., list[Any]]
) -> None:
    beats = participant.reader(channels.BEATS)
    old, new = participant.writer(channels.BEATS), participant.writer(channels.BEATS)
    old.write(Beat("items", 1, 1, (), (), ()))
    new.write(Beat("items", 2, 1, (), (), ()))
    assert collect(beats, 1)[-1] == Beat("items", 2, 1, (), (), ())
    old.close()
    assert beats.take() == []
    new.close()
    assert collect(beats, 1) == [Gone(Beat, ("items",))]


def test_what_is_withdrawn_is_gone_and_late_comers_do_not_hear_of_it(
    participant: Participant, collect: Callable[..., list[Any]]
) -> None:
    def attachment(node: str, *, attached: bool) -> Attachment:
        return Attachment("g1", node, 1, attached, "{}", 0.0)

    reader, writer = (
        participant.reader(channels.ATTACHMENTS),
        participant.writer(channels.ATTACHMENTS),
    )
    left, stays = attachment("a", attached=False), attachment("b", attached=True)
    writer.write(left)
    writer.write(stays)
    assert collect(reader, 2) == [left, stays]
    writer.withdraw(left)
    assert collect(reader, 1) == [Gone(Attachment, ("g1", "a"))]
    writer.withdraw(left)
    late = participant.reader(channels.ATTACHMENTS)
    assert collect(late, 1) == [stays]
    back = attachment("a", attached=True)
    writer.write(back)
    assert collect(late, 1) == [back], "and nothing of before"
    assert collect(reader, 1) == [back]


def test_what_is_disposed_is_told_from_what_is_heard_no_more(
    participant: Participant, collect: Callable[..., list[Any]]
) -> None:
    def attachment(node: str) -> Attachment:
        return Attachment("g1", node, 1, True, "{}", 0.0)

    reader, writer = (
        participant.reader(channels.ATTACHMENTS),
        participant.writer(channels.ATTACHMENTS),
    )
    over, left = attachment("over"), attachment("left")
    writer.write(over)
    writer.write(left)
    assert collect(reader, 2) == [over, left]
    writer.dispose(over)
    assert collect(reader, 1) == [Gone(Attachment, ("g1", "over"), disposed=True)]
    late = participant.reader(channels.ATTACHMENTS)
    assert collect(late, 1) == [left], "and nothing of what is over"
    writer.write(over)
    assert collect(reader, 1) == [over], "it is back"
    assert collect(late, 1) == [over]
    writer.close()
    gone = sorted(collect(reader, 2), key=lambda one: one.key)
    assert gone == [Gone(Attachment, ("g1", "left")), Gone(Attachment, ("g1", "over"))]


def test_who_comes_late_is_given_the_newest_of_every_page(
    participant: Participant, collect: Callable[..., list[Any]]
) -> None:
    slices = 10_000

    def page(number: int, version: int, node: str) -> MapPage:
        rows = len(page_slices(number, slices))
        return MapPage("items", number, 1, version, slices, (node,), (1,) * rows, (version,) * rows)

    writer = participant.writer(channels.MAPS)
    for number in range(page_count(slices)):
        assert writer.write(page(number, 1, "a"))
    assert writer.write(page(3, 2, "b"))
    late = participant.reader(channels.MAPS)
    known = SliceMap()
    for told in collect(late, page_count(slices)):
        known.apply(told)
    assert known.is_complete
    assert known.by_node()["b"] == tuple(page_slices(3, slices))
    assert writer.write(page(5, 3, "b"))
    assert collect(late, 1) == [page(5, 3, "b")]


def test_a_stopped_process_is_heard_again(
    participant: Participant, python: Callable[..., Any], collect: Callable[..., list[Any]]
) -> None:
    reports = participant.reader(channels.REPORTS)
    other = python(
        OURS
        + f"""
    writer = participant.writer(channels.REPORTS)
    while True:
        writer.write({REPORT!r})
        time.sleep(0.05)
    """,
        participant.config.id,
    )
    assert collect(reports, 1)[0] == REPORT
    other.send_signal(signal.SIGSTOP)
    assert collect(reports, 1)[-1] == Gone(NodeReport, ("items", "north~1"))
    other.send_signal(signal.SIGCONT)
    assert collect(reports, 1)[-1] == REPORT


def test_a_sample_reaches_only_the_node_it_is_for_and_who_reads_along(
    domain_config: DomainConfig, participant: Participant, python: Callable[..., Any]
) -> None:
    data = channels.data("items")
    nodes = [f"node-{i}~1" for i in range(20)]
    readers = [participant.reader(data, [channels.node_partition(node)]) for node in nodes[::2]]
    along = participant.reader(data, ["*"])
    tenth = participant.reader(data, ["node-1?~1"])
    elsewhere = participant.reader(channels.data("other"), nodes)
    writer = python(
        OURS
        + """
    nodes = [f"node-{i}~1" for i in range(20)]
    writers = [participant.writer(channels.data("items"), node) for node in nodes]
    readers = [1 + (i % 2 == 0) + (i >= 10) for i in range(20)]
    def matched():
        try:
            return [len(writer._writer.get_matched_subscriptions()) for writer in writers]
        except (DDSException, IndexError):
            return None  # they change at this moment
    while matched() != readers:
        time.sleep(0.01)
    print([writer.matched() for writer in writers])
    for i, writer in enumerate(writers):
        writer.write_encoded(encode_item(1, i, 1, 3, 1, Item("s", i, 0, b"")))
    print(all(writer.wait_acked(20.0) for writer in writers))
    """,
        domain_config.id,
    )
    out, _ = writer.communicate(timeout=20)
    assert out.splitlines() == [str([1, 0] * 10), "True"], "who reads along does not count"
    for number, reader in zip(range(0, 20, 2), readers, strict=True):
        assert [sample.serial for sample in reader.take()] == [number]
    assert sorted(sample.serial for sample in along.take()) == list(range(20))
    assert sorted(sample.serial for sample in tenth.take()) == list(range(10, 20))
    assert elsewhere.take() == []


def test_late_readers_get_what_is_kept_and_present_ones_get_all(
    participant: Participant, collect: Callable[..., list[Any]], eventually: Callable[..., None]
) -> None:
    present = participant.reader(channels.ORDERS, ["north"])
    writer = participant.writer(channels.ORDERS, "north")
    for term in range(200):
        assert writer.write(Order("items", "north", term, Step.TAKE, (), ""))
    assert [order.term for order in collect(present, 200)] == list(range(200))
    late = participant.reader(channels.ORDERS, ["north"])
    assert [order.term for order in collect(late, 64)] == list(range(136, 200))
    volatile = participant.writer(channels.data("items"), "north")
    volatile.write_encoded(encode_item(1, 1, 1, 3, 1, item(1)))
    later = participant.reader(channels.data("items"), ["north"])
    eventually(volatile.matched)
    volatile.write_encoded(encode_item(1, 2, 1, 3, 2, item(2)))
    assert [sample.serial for sample in collect(later, 1)] == [2]


def test_a_waiter_ends_for_data_a_wake_the_time_and_its_end(participant: Participant) -> None:
    waiter = participant.waiter()
    reader = participant.reader(channels.data("items"), ["north"])
    writer = participant.writer(channels.data("items"), "north")
    waiter.attach(reader)
    assert waiter.wait(0.01) is False

    writer.write_encoded(encode_item(1, 1, 1, 3, 1, item(1)))
    assert waiter.wait(20.0) is True
    assert waiter.wait(20.0) is True, "as long as there is something to take"
    assert len(reader.take()) == 1
    assert waiter.wait(0.01) is False

    waiter.wake()
    assert waiter.wait(20.0) is True
    assert waiter.wait(0.01) is False, "a wake counts once"

    timer = threading.Timer(0.05, waiter.wake)
    timer.start()
    assert waiter.wait(20.0) is True
    timer.join()

    waiter.detach(reader)
    writer.write_encoded(encode_item(1, 2, 1, 3, 2, item(2)))
    assert waiter.wait(0.01) is False
    late = threading.Timer(0.05, waiter.attach, [reader])
    late.start()
    assert waiter.wait(20.0) is True, "a wait under way notices a reader that has something"
    late.join()

    reader.close()
    assert waiter.wait(0.01) is False
    end = threading.Timer(0.05, waiter.close)
    end.start()
    assert waiter.wait(20.0) is False
    end.join()
    waiter.wake()
    assert waiter.wait(20.0) is False


def test_waiting_lets_other_threads_run(participant: Participant) -> None:
    waiter = participant.waiter()
    ran = threading.Event()
    waiting = threading.Thread(target=waiter.wait, args=(60.0,))
    waiting.start()
    threading.Thread(target=ran.set).start()
    assert ran.wait(20.0)
    assert waiting.is_alive()
    participant.close()
    waiting.join(20.0)
    assert not waiting.is_alive()


def test_a_stopped_reader_fills_its_own_writer_and_no_other(
    participant: Participant, python: Callable[..., Any], eventually: Callable[..., None]
) -> None:
    stopped = participant.writer(channels.data("items"), "north")
    other = participant.writer(channels.data("items"), "south")
    own = participant.reader(channels.data("items"), ["south"])
    reader = python(
        OURS
        + """
    reader = participant.reader(channels.data("items"), ["north"])
    while True:
        reader.take()
        time.sleep(0.001)
    """,
        participant.config.id,
    )
    eventually(stopped.matched)
    sample = encode_item(1, 1, 1, 3, 1, Item("s", 1, 1, bytes(8_000)))
    assert stopped.write_encoded(sample)
    reader.send_signal(signal.SIGSTOP)
    written = 0
    while stopped.write_encoded(sample):
        written += len(sample)
        assert written < 4_000_000, "what a stopped reader lacks is bounded"
    for _ in range(50):
        stopped.write_encoded(sample)
        assert other.write_encoded(sample)
    assert len(own.take()) == 50
    reader.send_signal(signal.SIGCONT)
    eventually(lambda: stopped.write_encoded(sample), "room again")
    assert stopped.wait_acked(20.0)


def test_closing_ends_everything_and_does_not_hang(
    domain_config: DomainConfig, python: Callable[..., Any], eventually: Callable[..., None]
) -> None:
    participant = Participant(domain_config)
    writers = [participant.writer(channels.data("items"), str(i)) for i in range(50)]
    reader = participant.reader(channels.REPORTS)
    other = python(
        OURS
        + """
    reader = participant.reader(channels.data("items"), map(str, range(50)))
    time.sleep(60)
    """,
        domain_config.id,
    )
    eventually(lambda: all(writer.matched() for writer in writers))
    other.send_signal(signal.SIGSTOP)
    for writer in writers:
        writer.write_encoded(encode_item(1, 1, 1, 3, 1, item(1)))
    participant.close()
    participant.close()
    with pytest.raises(ClosedError, match="writer of evenflow/data/items"):
        writers[0].write_encoded(encode_item(1, 1, 1, 3, 1, item(1)))
    with pytest.raises(ClosedError, match="reader of evenflow/node-reports"):
        reader.take()
    with pytest.raises(ClosedError, match="participant of domain"):
        participant.reader(channels.REPORTS)
    with pytest.raises(ClosedError, match="participant of domain"):
        participant.waiter()


def test_what_was_written_last_arrives_although_the_writer_leaves(
    participant: Participant, python: Callable[..., Any], collect: Callable[..., list[Any]]
) -> None:
    reader = participant.reader(channels.data("items"), ["north"])
    writer = python(
        OURS
        + """
    writer = participant.writer(channels.data("items"), "north")
    while not writer.matched():
        time.sleep(0.01)
    for i in range(1, 1001):
        assert writer.write_encoded(encode_item(1, i, 1, 3, i, Item("s", i, 0, bytes(1_000))))
    participant.close()
    """,
        participant.config.id,
    )
    assert [sample.serial for sample in collect(reader, 1_000)] == list(range(1, 1_001))
    writer.communicate(timeout=20)
    assert writer.returncode == 0


def test_a_participant_counts_what_is_open(participant: Participant) -> None:
    writers = [participant.writer(channels.data("items"), f"node-{n}") for n in range(3)]
    reader = participant.reader(channels.REPORTS)
    assert participant.endpoints == 4
    writers[0].close()
    reader.close()
    assert participant.endpoints == 2
    participant.close()
    assert participant.endpoints == 0


def test_participants_of_one_process_share_the_domain(
    participant: Participant, collect: Callable[..., list[Any]], eventually: Callable[..., None]
) -> None:
    with Participant(participant.config) as second:
        reader = second.reader(channels.data("items"), ["north"])
        writer = participant.writer(channels.data("items"), "north")
        eventually(writer.matched)
        writer.write_encoded(encode_item(1, 1, 1, 3, 1, item(1)))
        assert len(collect(reader, 1)) == 1
    still = participant.reader(channels.data("items"), ["north"])
    writer.write_encoded(encode_item(1, 2, 1, 3, 2, item(2)))
    assert len(collect(still, 1)) == 1
    with pytest.raises(DomainError, match="already with other settings"):
        Participant(DomainConfig(id=participant.config.id, participant_lease_s=9.0))


def test_an_interface_that_is_not_there_is_a_clear_error(domain_id: int) -> None:
    with pytest.raises(DomainError, match=r"no network interface 'nosuch0'.*domain\.interface"):
        Participant(DomainConfig(id=domain_id, interface="nosuch0"))
    Participant(DomainConfig(id=domain_id)).close()


def test_large_samples_travel_whole(
    participant: Participant, python: Callable[..., Any], collect: Callable[..., list[Any]]
) -> None:
    reader = participant.reader(channels.data("items"), ["north"])
    python(
        OURS
        + """
    writer = participant.writer(channels.data("items"), "north")
    while not writer.matched():
        time.sleep(0.01)
    for serial in (1, 2):
        items = [Item("s", i, 0, i.to_bytes(8, "little") * 1_000) for i in range(1_000)]
        runs = {3: (1, items[:400]), 5: (1, items[400:])}
        assert writer.write_encoded(encode_items(1, serial, 1, runs))
    time.sleep(60)
    """,
        participant.config.id,
    )
    for sample in collect(reader, 2):
        assert [len(batch) for batch in sample.batches()] == [400, 600]
        assert [one.id for one in sample.rows] == list(range(1_000))
        assert all(one.payload == one.id.to_bytes(8, "little") * 1_000 for one in sample.rows)


@pytest.mark.timeout(30)
def test_who_listens_for_long_hears_a_signal_meanwhile(participant: Participant) -> None:
    listener = Listener(participant, (channels.BEATS,), lambda _: None)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            listener.listen(3_600.0)
    finally:
        signal.signal(signal.SIGALRM, before)
