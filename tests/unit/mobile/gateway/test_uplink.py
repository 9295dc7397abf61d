"""Items into units: in order, without gaps, safe when they are on disk and not before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.mobile.gateway.harness import RUN, Harness, closed, hello, sent

from evenflow.edge.actions import Accept, Pause, Resume
from evenflow.mobile.gateway.events import UnitSynced
from evenflow.mobile.link import frames


def test_items_gather_for_the_linger_and_are_safe_when_synced():
    gateway = Harness()
    link = gateway.attach()
    gateway.publish(link, 1, b"a", b"b")
    assert not gateway.units
    gateway.wait(0.01)
    (unit,) = gateway.units
    assert unit.unit == 0
    assert unit.chunks[0].payloads == (b"a", b"b")
    assert unit.marks["car-1", RUN].number == 2
    assert not sent(gateway.log, link, frames.Safe)
    assert sent(gateway.sync(), link) == [frames.Safe("items", 2)]


def test_units_of_a_topic_follow_one_another_and_topics_do_not_wait():
    gateway = Harness()
    link = gateway.attach()
    gateway.publish(link, 1, b"a")
    gateway.wait()
    gateway.publish(link, 2, b"b")
    gateway.publish(link, 1, b"x", topic="logs")
    gateway.wait()
    assert [(one.topic, one.unit) for one in gateway.units] == [("items", 0), ("logs", 0)]
    gateway.sync()
    assert gateway.marks["car-1", RUN] == {"items": 2, "logs": 1}
    accepts = [one for one in gateway.log if isinstance(one, Accept) and one.topic == "items"]
    assert [one.marks["car-1", RUN].before for one in accepts] == [0, 1]


def test_a_full_unit_does_not_wait_and_is_not_added_to():
    gateway = Harness(unit_bytes=1_000)
    link = gateway.attach()
    gateway.publish(link, 1, b"a" * 2_000)
    assert [one.chunks[0].first for one in gateway.units] == [1]
    gateway.publish(link, 2, b"b" * 2_000)
    gateway.publish(link, 3, b"c" * 2_000)
    first = gateway.units.pop()
    gateway.write(first)
    gateway.handle(UnitSynced("items", 0))
    assert [[chunk.first for chunk in one.chunks] for one in gateway.units] == [[2]]


def test_a_gap_ends_the_connection():
    gateway = Harness()
    link = gateway.attach()
    gateway.publish(link, 1, b"a")
    ended = closed(gateway.publish(link, 3, b"c"), link)
    assert ended is not None
    assert ended.reason == "item 3 of items came after 1: numbers must follow"
    assert gateway.core.door.refused["out of place"] == 1
    gateway.settle()
    assert gateway.accepted["car-1", RUN, "items"] == [b"a"]


def test_the_first_items_of_a_link_may_begin_behind_those_of_another_gateway():
    gateway = Harness()
    gateway.marks["car-1", RUN]["items"] = 10
    link = gateway.attach()
    assert sent(gateway.log, link, frames.Welcome)[0].accepted == {"items": 10}
    gateway.publish(link, 21, b"u")
    gateway.settle()
    assert gateway.marks["car-1", RUN]["items"] == 21


def test_what_is_accepted_or_taken_is_not_taken_again():
    gateway = Harness()
    gateway.marks["car-1", RUN]["items"] = 2
    link = gateway.attach()
    gateway.publish(link, 1, b"1", b"2", b"3")
    gateway.publish(link, 2, b"2", b"3", b"4")
    gateway.publish(link, 1, b"1")
    gateway.settle()
    assert gateway.accepted["car-1", RUN, "items"] == [b"3", b"4"]
    assert gateway.core.acceptance.uplink.repeated == 5


def test_a_topic_that_the_token_does_not_allow_ends_the_connection():
    gateway = Harness()
    link = gateway.attach()
    ended = closed(gateway.publish(link, 1, b"a", topic="other"), link)
    assert ended is not None
    assert ended.reason == "this client may not publish to topic other"


def test_a_node_that_returns_is_let_in_when_its_items_are_on_disk():
    """Welcome settles what it sent over its former connection: it must be known by then."""
    gateway = Harness()
    old = gateway.attach(connection=1)
    gateway.publish(old, 1, b"a", b"b")
    gateway.lose(old)
    new = gateway.link()
    actions = gateway.say(new, hello(connection=2))
    assert not sent(actions, new)
    actions = gateway.wait()
    assert not sent(actions, new)
    assert sent(gateway.sync(), new, frames.Welcome)[0].accepted == {"items": 2}


def test_items_before_welcome_are_out_of_place():
    gateway = Harness()
    link = gateway.link()
    ended = closed(gateway.publish(link, 1, b"a"), link)
    assert ended is not None
    assert ended.reason == "Items before Welcome"


def test_a_client_that_has_used_its_share_is_not_read_until_half_of_it_is_free():
    gateway = Harness(in_flight_bytes=4_096)
    link, other = gateway.attach(), gateway.attach("car-2")
    actions = gateway.publish(link, 1, b"x" * 5_000)
    assert [one for one in actions if isinstance(one, Pause)] == [Pause(link)]
    assert Pause(other) not in gateway.publish(other, 1, b"y")
    actions = gateway.settle()
    assert [one for one in actions if isinstance(one, Resume)] == [Resume(link)]
    assert gateway.core.acceptance.room.held == 0


def test_when_all_together_have_used_the_whole_nobody_who_sends_is_read():
    gateway = Harness(buffer_bytes=10_000)
    links = [gateway.attach(f"car-{number}") for number in range(20)]
    for link in links:
        gateway.publish(link, 1, b"x" * 800)
    paused = [one.link for one in gateway.log if isinstance(one, Pause)]
    assert paused == links[10:]
    resumed = [one.link for one in gateway.settle() if isinstance(one, Resume)]
    assert resumed == paused
    assert gateway.core.acceptance.room.held == 0


def test_a_client_that_comes_again_and_again_by_a_new_run_has_no_more_room_than_one():
    gateway = Harness(in_flight_bytes=1_000)
    for connection in range(1, 20):
        link = gateway.attach(connection=connection, run=f"{connection:016x}")
        gateway.publish(link, 1, b"x" * 1_000)
        gateway.lose(link)
    assert gateway.core.acceptance.room.held < 2_000
    gateway.settle()
    again = gateway.attach(connection=20, run=f"{20:016x}")
    assert sent(gateway.log, again, frames.Welcome)


def test_a_lost_client_holds_no_room_for_ever():
    gateway = Harness(in_flight_bytes=2_000)
    link = gateway.attach()
    gateway.publish(link, 1, b"x" * 5_000)
    gateway.lose(link)
    actions = gateway.settle()
    assert gateway.core.acceptance.room.held == 0
    assert Resume(link) not in actions


steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(0, 2), st.integers(-3, 1), st.integers(1, 5)),
        st.tuples(st.just("wait"), st.just(0), st.just(0), st.just(0)),
        st.tuples(st.just("sync"), st.just(0), st.just(0), st.just(0)),
        st.tuples(st.just("reconnect"), st.integers(0, 2), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@given(steps)
def test_whatever_comes_each_item_is_accepted_once_and_in_order(moves):
    """Rules 1 and 2: also when clients repeat what they have sent, and come back at any time."""
    gateway = Harness(in_flight_bytes=1 << 20, unit_bytes=1_500)
    nodes = ["car-0", "car-1", "car-2"]
    connections = dict.fromkeys(nodes, 1)
    links = {node: gateway.attach(node) for node in nodes}
    for what, which, back, count in moves:
        node = nodes[which]
        if what == "publish":
            session = gateway.core.sessions.by_link.get(links[node])
            if session is None or session.stage.name != "ATTACHED":
                continue
            newest = session.taken.get("items", session.accepted.get("items", 0))
            first = max(1, newest + 1 + min(back, 0))
            payloads = [str(number).encode() for number in range(first, first + count)]
            gateway.publish(links[node], first, *payloads)
        elif what == "wait":
            gateway.wait()
        elif what == "sync":
            gateway.sync()
        else:
            connections[node] += 1
            links[node] = gateway.attach(node, connections[node])
    gateway.settle()
    for node in nodes:
        items = gateway.accepted[node, RUN, "items"]
        assert items == [str(number).encode() for number in range(1, len(items) + 1)]
        assert gateway.marks[node, RUN].get("items", 0) == len(items)
        safe = sent(gateway.log, links[node], frames.Safe)
        assert [one.number for one in safe] == sorted(one.number for one in safe)
    assert gateway.core.acceptance.room.held == 0
