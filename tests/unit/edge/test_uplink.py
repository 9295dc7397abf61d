"""Items into units: in order, without gaps, safe when they are on disk and not before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.edge.harness import OTHER_RUN, RUN, Harness, found

from evenflow.edge.actions import Accept, Pause, Resume, TellSafe
from evenflow.edge.sessions import Stage


def test_items_gather_for_the_linger_and_are_safe_when_synced():
    door = Harness()
    car = door.attach()
    door.publish(car, 1, b"a", b"b")
    assert not door.units
    assert door.acceptance.uplink.deadline() == door.now + 0.01
    door.wait(0.01)
    (unit,) = door.units
    assert unit.unit == 0
    assert unit.chunks[0].payloads == (b"a", b"b")
    assert unit.marks["car-1", RUN].number == 2
    assert not found(door.log, TellSafe)
    assert door.sync() == [TellSafe(car.link, "items", 2)]


def test_units_of_a_topic_follow_one_another_and_topics_do_not_wait():
    door = Harness()
    car = door.attach()
    door.publish(car, 1, b"a")
    door.wait()
    door.publish(car, 2, b"b")
    door.publish(car, 1, b"x", topic="logs")
    door.wait()
    assert [(one.topic, one.unit) for one in door.units] == [("items", 0), ("logs", 0)]
    door.sync()
    assert door.marks["car-1", RUN] == {"items": 2, "logs": 1}
    accepts = [one for one in found(door.log, Accept) if one.topic == "items"]
    assert [one.marks["car-1", RUN].before for one in accepts] == [0, 1]


def test_a_full_unit_does_not_wait_and_is_not_added_to():
    door = Harness(unit_bytes=1_000)
    car = door.attach()
    door.publish(car, 1, b"a" * 2_000)
    assert [one.chunks[0].first for one in door.units] == [1]
    door.publish(car, 2, b"b" * 2_000)
    door.publish(car, 3, b"c" * 2_000)
    first = door.units.pop()
    door.write(first)
    door.synced(first)
    assert [[chunk.first for chunk in one.chunks] for one in door.units] == [[2]]


def test_what_comes_behind_a_gap_is_refused():
    door = Harness()
    car = door.attach()
    door.publish(car, 1, b"a")
    door.publish(car, 3, b"c")
    assert door.wrong == "item 3 of items came after 1: numbers must follow"
    door.settle()
    assert door.accepted["car-1", RUN, "items"] == [b"a"]


def test_a_topic_that_the_client_may_not_publish_to_is_refused():
    door = Harness()
    door.publish(door.attach(), 1, b"a", topic="other")
    assert door.wrong == "this client may not publish to topic other"


def test_the_first_items_of_a_link_may_begin_behind_those_of_another_door():
    door = Harness()
    door.marks["car-1", RUN]["items"] = 10
    car = door.attach()
    assert car.welcomed == {"items": 10}
    door.publish(car, 21, b"u")
    door.settle()
    assert door.marks["car-1", RUN]["items"] == 21


def test_what_is_accepted_or_taken_is_not_taken_again():
    door = Harness()
    door.marks["car-1", RUN]["items"] = 2
    car = door.attach()
    door.publish(car, 1, b"1", b"2", b"3")
    door.publish(car, 2, b"2", b"3", b"4")
    assert door.publish(car, 1, b"1") == []
    door.settle()
    assert door.accepted["car-1", RUN, "items"] == [b"3", b"4"]
    assert door.acceptance.uplink.repeated == 5


# -- datagrams -------------------------------------------------------------------------------------


def test_a_datagram_that_overtakes_the_first_one_is_no_beginning():
    door = Harness()
    car = door.attach()
    door.publish(car, 6, b"6", begin=5)
    assert door.wrong == "item 6 of items came after 4: numbers must follow"
    door.publish(car, 5, b"5", begin=5)
    door.publish(car, 6, b"6", begin=5)
    assert not door.wrong
    door.settle()
    assert door.accepted["car-1", RUN, "items"] == [b"5", b"6"]


def test_a_beginning_before_what_is_accepted_here_is_of_no_use():
    door = Harness()
    door.marks["car-1", RUN]["items"] = 7
    car = door.attach()
    door.publish(car, 7, b"7", b"8", begin=3)
    door.settle()
    assert door.accepted["car-1", RUN, "items"] == [b"8"]


def test_datagrams_that_come_again_are_told_how_far_it_is_safe():
    door = Harness()
    car = door.attach()
    assert door.publish(car, 1, b"1", b"2", begin=1) == []
    assert door.publish(car, 1, b"1", begin=1) == [], "it is told when it is on disk"
    door.settle()
    assert door.publish(car, 2, b"2", begin=1) == [TellSafe(car.link, "items", 2)]


# -- room ------------------------------------------------------------------------------------------


def test_a_client_that_has_used_its_share_is_not_read_until_half_of_it_is_free():
    door = Harness(in_flight_bytes=4_096)
    car, other = door.attach(), door.attach("car-2")
    assert found(door.publish(car, 1, b"x" * 5_000), Pause) == [Pause(car.link)]
    assert not found(door.publish(other, 1, b"y"), Pause)
    assert found(door.settle(), Resume) == [Resume(car.link)]
    assert door.acceptance.room.held == 0


def test_when_all_together_have_used_the_whole_nobody_who_sends_is_read():
    door = Harness(buffer_bytes=10_000)
    cars = [door.attach(f"car-{number}") for number in range(20)]
    for car in cars:
        door.publish(car, 1, b"x" * 800)
    paused = [one.link for one in found(door.log, Pause)]
    assert paused == [car.link for car in cars[10:]]
    assert [one.link for one in found(door.settle(), Resume)] == paused
    assert door.acceptance.room.held == 0


def test_a_client_that_comes_again_and_again_by_a_new_run_has_no_more_room_than_one():
    door = Harness(in_flight_bytes=1_000)
    for connection in range(1, 20):
        car = door.attach(connection=connection, run=f"{connection:016x}")
        if car.stage is Stage.ATTACHED:
            door.publish(car, 1, b"x" * 1_000)
        door.leave(car)
    assert door.acceptance.room.held < 2_000
    door.settle()
    assert door.attach(connection=20, run=f"{20:016x}").stage is Stage.ATTACHED


def test_a_lost_client_holds_no_room_for_ever():
    door = Harness(in_flight_bytes=2_000)
    car = door.attach()
    door.publish(car, 1, b"x" * 5_000)
    door.leave(car)
    assert not found(door.settle(), Resume)
    assert door.acceptance.room.held == 0


# -- whatever comes --------------------------------------------------------------------------------

steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(0, 2), st.integers(-3, 1), st.integers(1, 5)),
        st.tuples(st.just("wait"), st.just(0), st.just(0), st.just(0)),
        st.tuples(st.just("sync"), st.just(0), st.just(0), st.just(0)),
        st.tuples(st.just("reconnect"), st.integers(0, 2), st.just(0), st.just(0)),
        st.tuples(st.just("begin a run"), st.integers(0, 2), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@given(steps)
def test_whatever_comes_each_item_is_accepted_once_and_in_order(moves):
    """Rules 1 and 2: also when clients repeat what they have sent, and come back at any time."""
    door = Harness(unit_bytes=1_500)
    names = ["car-0", "car-1", "car-2"]
    runs = dict.fromkeys(names, RUN)
    cars = {name: door.attach(name) for name in names}
    for what, which, back, count in moves:
        name = names[which]
        car = cars[name]
        if what == "publish" and car.stage is Stage.ATTACHED:
            newest = car.taken.get("items", car.accepted.get("items", 0))
            first = max(1, newest + 1 + min(back, 0))
            door.publish(car, first, *(b"%d" % n for n in range(first, first + count)))
            assert not door.wrong
        elif what == "wait":
            door.wait()
        elif what == "sync":
            door.sync()
        elif what in ("reconnect", "begin a run"):
            runs[name] = OTHER_RUN if what == "begin a run" else runs[name]
            cars[name] = door.attach(name, car.connection + 1, runs[name])
    door.settle()
    for (name, run, topic), items in door.accepted.items():
        assert items == [b"%d" % number for number in range(1, len(items) + 1)]
        assert door.marks[name, run][topic] == len(items)
    for car in cars.values():
        safe = [one.number for one in found(door.log, TellSafe) if one.link == car.link]
        assert safe == sorted(safe)
        assert car.stage is Stage.ATTACHED
    assert door.acceptance.room.held == 0


def test_headers_stay_with_their_items_when_old_ones_are_dropped():
    door = Harness()
    car = door.attach()
    uplink = door.acceptance.uplink
    assert uplink.take(car, "items", 1, (1,), (b"a",), door.now) == ""
    both = (b"a", b"b"), door.now
    assert uplink.take(car, "items", 1, (1, 2), *both, headers=(b"", b"block")) == ""
    door.wait()
    assert [(one.payloads, one.headers) for one in door.units[0].chunks] == [
        ((b"a",), ()),
        ((b"b",), (b"block",)),
    ]
