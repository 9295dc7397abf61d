"""CONNECT: who is answered, by whom, and how devices leave."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.bridge.harness import GUID, Bench, key_of, record

from evenflow.bridge import events as ev
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.kinds import Refusal, Role
from evenflow.bridge.settings import BridgeSettings

KEY = bytes(range(32))


def test_the_owner_answers() -> None:
    bench = Bench()
    assert bench.connect() == [dg.Datagram(GUID, 1, 0, dg.Accepted("a", 5, 1000, 0))]
    (published,) = bench.did(ev.PublishRecord)
    assert (published.record.bridge, published.record.session) == ("a", 1)


def test_the_others_are_silent() -> None:
    bench = Bench()
    bench.ring.owned = False
    assert bench.connect() == []
    assert bench.refused == {"not_owned": 1}
    assert len(bench.core.sessions) == 0


def test_who_asks_one_bridge_alone_is_told_the_owner() -> None:
    bench = Bench()
    bench.ring.owned = False
    (answer,) = bench.tell(dg.Connect("d", 5, 0, 500, "", direct=True))
    assert answer.body == dg.Refused(Refusal.ELSEWHERE, 5, 0, 0, "10.0.0.2:7")
    assert len(bench.core.sessions) == 0


def test_an_isolated_bridge_answers_who_has_tried_three_times() -> None:
    bench = Bench()
    bench.ring.is_isolated = True
    assert [bool(bench.connect(tried=tried)) for tried in range(5)] == [
        False, False, False, True, True,
    ]  # fmt: skip


def test_a_connect_that_comes_again_is_answered_as_before() -> None:
    bench = Bench()
    assert bench.connect() == bench.connect(tried=1)
    assert len(bench.core.sessions) == 1


def test_a_later_session_keeps_the_entities() -> None:
    bench = Bench()
    bench.set_up()
    (answer,) = bench.connect(session=2)
    assert answer.body == dg.Accepted("a", 5, 1001, 1)
    assert not bench.did(ev.DropEntity)


def test_an_older_session_is_stale() -> None:
    bench = Bench()
    bench.connect(session=2)
    assert bench.connect(session=1) == []
    assert bench.refused == {"stale": 1}


def test_a_later_run_begins_anew() -> None:
    bench = Bench()
    bench.set_up()
    (answer,) = bench.connect(session=1, run=6)
    assert answer.body == dg.Accepted("a", 6, 1001, 0)
    assert bench.did(ev.DropEntity) == [ev.DropEntity(GUID, 0)]


def test_an_earlier_run_is_told_the_floor() -> None:
    bench = Bench()
    bench.connect(run=7)
    (answer,) = bench.connect(run=5)
    assert answer.body == dg.Refused(Refusal.EARLIER, 5, 7, 0)


def test_a_full_bridge_says_so() -> None:
    bench = Bench(BridgeSettings(most_devices=1))
    bench.connect()
    bench.tell(dg.Heartbeat(0, 0, 0, 1000, ""))
    (answer,) = bench.tell(dg.Connect("e", 5, 0, 500, ""), guid=bytes(12))
    assert answer.body == dg.Refused(Refusal.FULL, 5, 0, 2000)


def test_what_another_bridge_had_is_made_at_once() -> None:
    bench = Bench()
    bench.ring.owned = False
    bench.handle(ev.RecordHeard(record()))
    bench.ring.owned = True
    (answer,) = bench.connect(session=4)
    assert answer.body == dg.Accepted("a", 5, 1000, 2)
    assert [made.topic for made in bench.did(ev.MakeEntity)] == ["up", "down"]


def test_a_device_leaves() -> None:
    bench = Bench()
    bench.set_up()
    (answer,) = bench.tell(dg.Goodbye(5, "b"))
    assert answer.body == dg.Bye()
    assert bench.did(ev.DropEntity)
    assert bench.did(ev.WithdrawRecord)
    assert bench.core.sessions.get(GUID) is None
    (again,) = bench.tell(dg.Goodbye(5, "b"))
    assert again.body == dg.Bye()


def test_a_goodbye_of_a_former_session_changes_nothing() -> None:
    bench = Bench()
    bench.connect(session=2)
    assert bench.tell(dg.Goodbye(5, "b"), session=1) == []
    assert bench.core.sessions.get(GUID) is not None


def test_a_silent_device_is_let_go() -> None:
    bench = Bench()
    bench.set_up()
    assert not any(isinstance(action, ev.DropEntity) for action in bench.wait(2.9))
    assert any(isinstance(action, ev.WithdrawRecord) for action in bench.wait(0.3))
    assert bench.refused == {"silent": 1}


def test_a_stranger_is_told_to_look_for_its_bridge() -> None:
    bench = Bench()
    (answer,) = bench.tell(dg.Heartbeat(0, 0, 0, 0, ""), session=9)
    assert (answer.session, answer.body) == (9, dg.Moved(""))


def test_a_session_with_another_salt_is_unknown() -> None:
    bench = Bench()
    bench.connect()
    assert bench.tell(dg.Heartbeat(0, 0, 0, 1000, ""))[0].body == dg.Alive(0, 0, 0)
    assert bench.tell(dg.Heartbeat(0, 0, 0, 999, ""))[0].body == dg.Moved("")


def test_a_bridge_that_stops_sends_its_devices_away() -> None:
    bench = Bench()
    bench.connect()
    bench.handle(ev.Stop())
    assert bench.bodies() == [dg.Moved("")]


def test_devices_that_were_never_heard_again_give_way_when_the_bridge_is_full() -> None:
    """Else a few datagrams with made-up GUIDs keep everybody out, for six periods of a minute."""
    bench = Bench(BridgeSettings(most_devices=3))
    bench.connect()
    bench.tell(dg.Heartbeat(0, 0, 0, 1000, ""))
    strangers = [bytes([index]) * 12 for index in range(1, 5)]
    for guid in strangers:
        (answer,) = bench.tell(dg.Connect("x", 5, 0, 60_000, ""), guid=guid)
        assert isinstance(answer.body, dg.Accepted)
        bench.tell(dg.Create(0, Role.PUBLISHER), guid=guid)  # needs nothing of the answer
    assert [one.guid for one in bench.core.sessions] == [GUID, *strangers[2:]]
    assert bench.refused == {"half_open": 2}
    for guid in strangers[2:]:
        salt = bench.core.sessions.get(guid).salt  # type: ignore[union-attr]
        bench.tell(dg.Heartbeat(0, 0, 0, salt, ""), guid=guid)
    (answer,) = bench.tell(dg.Connect("x", 5, 0, 500, ""), guid=strangers[0], session=2)
    assert answer.body == dg.Refused(Refusal.FULL, 5, 0, 2000)


# -- keys ------------------------------------------------------------------------------------------


def keyed() -> Bench:
    bench = Bench(keys={GUID: KEY})
    bench.tell(dg.Connect("d", 5, 0, 500, ""), key=KEY, counter=6)
    return bench


def test_a_device_with_a_key_is_served() -> None:
    bench = keyed()
    (answer,) = bench.said()
    assert answer.body == dg.Accepted("a", 6, 1000, 0)
    inside = key_of(1, 1000, KEY)
    (answer,) = bench.tell(dg.Create(0, Role.PUBLISHER), number=1, key=inside, counter=7)
    assert isinstance(answer.body, dg.Done)


@pytest.mark.parametrize(
    ("key", "counter", "reason"),
    [
        (None, 0, "no_key"),
        (KEY, 9, "forged"),  # the device's key, but not that of the session
        (bytes(32), 9, "forged"),
        ("session", 6, "replayed"),
        ("session", 5, "replayed"),
    ],
)
def test_without_the_key_or_an_old_counter_nothing_is_done(
    key: bytes | str | None, counter: int, reason: str
) -> None:
    bench = keyed()
    used = key_of(1, 1000, KEY) if isinstance(key, str) else key
    assert bench.tell(dg.Create(0, Role.PUBLISHER), key=used, counter=counter) == []
    assert bench.refused == {reason: 1}
    session = bench.core.sessions.get(GUID)
    assert session is not None
    assert session.entities == []


def test_a_replayed_connect_is_told_the_floor_and_changes_nothing() -> None:
    bench = keyed()
    (answer,) = bench.tell(dg.Connect("d", 5, 0, 500, ""), session=9, key=KEY, counter=6)
    assert answer.body == dg.Refused(Refusal.REPLAYED, 6, 6, 0)
    session = bench.core.sessions.get(GUID)
    assert session is not None
    assert session.number == 1


def test_a_recorded_conversation_is_worth_nothing_after_a_restart() -> None:
    bench = keyed()
    again = keyed()  # the same CONNECT; but the salt is another
    again.core.sessions.get(GUID).session_key = key_of(1, 77, KEY)  # type: ignore[union-attr]
    inside = key_of(1, 1000, KEY)
    assert bench.tell(dg.Create(0, Role.PUBLISHER), key=inside, counter=7) != []
    assert again.tell(dg.Create(0, Role.PUBLISHER), key=inside, counter=7) == []
    assert again.refused == {"forged": 1}


def test_the_floor_of_another_bridge_holds_here() -> None:
    bench = Bench(keys={GUID: KEY})
    bench.ring.owned = False
    bench.handle(ev.RecordHeard(replace(record(), counter=50)))
    bench.ring.owned = True
    (answer,) = bench.tell(dg.Connect("d", 5, 0, 500, ""), session=4, key=KEY, counter=50)
    assert answer.body == dg.Refused(Refusal.REPLAYED, 50, 50, 0)
    (answer,) = bench.tell(dg.Connect("d", 5, 0, 500, ""), session=4, key=KEY, counter=51)
    assert isinstance(answer.body, dg.Accepted)


def test_a_bridge_may_serve_devices_with_keys_alone() -> None:
    bench = Bench(BridgeSettings(keyed_only=True))
    (answer,) = bench.connect()
    assert answer.body == dg.Refused(Refusal.NO_KEY, 5, 0, 0)
    assert len(bench.core.sessions) == 0


def test_a_seal_of_a_device_without_a_key_is_refused() -> None:
    bench = Bench()
    assert bench.tell(dg.Connect("d", 5, 0, 500, ""), key=KEY, counter=6) == []
    assert bench.refused == {"unknown_key": 1}


def test_a_device_that_is_struck_off_or_given_a_key_begins_anew() -> None:
    bench = keyed()
    bench.handle(ev.KeysChanged())
    assert len(bench.core.sessions) == 1, "its key is the same"
    del bench.keys[GUID]
    bench.handle(ev.KeysChanged())
    assert bench.did(ev.WithdrawRecord)
    inside = key_of(1, 1000, KEY)
    assert bench.tell(dg.Create(0, Role.PUBLISHER), key=inside, counter=7) == []
    bench.connect(session=2)
    bench.keys[GUID] = KEY
    bench.handle(ev.KeysChanged())
    assert len(bench.core.sessions) == 0
    assert bench.refused["other_key"] == 2
