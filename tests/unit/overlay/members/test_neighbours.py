"""Links follow the triangulation; who is silent for too long is dead, and probed now and then."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from evenflow.overlay.members.neighbours import Neighbours, News
from evenflow.overlay.members.table import MemberTable
from evenflow.overlay.protocol.events import Action, Connect, Disconnect, Probe, Transmit
from evenflow.overlay.protocol.messages import Heartbeat, Member, Members, Reach, Reached
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate

ME, *OTHERS = (
    Member(f"b{number}", Coordinate(0.1 + 0.2 * number, 0.3 + 0.1 * (number % 2)), "", 5)
    for number in range(4)
)
SETTINGS = Settings(heartbeat_s=0.25, silence_s=2.0, lease_s=1.0)


class Among:
    """Broker ``b0`` and its neighbours."""

    def __init__(self) -> None:
        self.members = MemberTable(ME)
        self.actions: list[Action] = []
        self.neighbours = Neighbours(self.members, SETTINGS, self.actions.append, 0.0)

    def link_all(self, now: float = 0.0) -> None:
        for member in OTHERS:
            self.neighbours.on_linked(member, now)
        self.neighbours.relink(now)
        self.actions.clear()

    def done(self, kind: Any) -> list[Any]:
        found = [action for action in self.actions if isinstance(action, kind)]
        self.actions.clear()
        return found


def test_a_new_link_is_told_all_and_its_broker_is_news_to_the_others() -> None:
    among = Among()
    assert among.neighbours.on_linked(OTHERS[0], 0.0) is News.CHANGED
    assert among.done(Transmit)[0] == Transmit("b1", Members((ME,)))
    among.neighbours.on_linked(OTHERS[1], 0.0)
    told = {(action.link, action.message.members) for action in among.done(Transmit)}
    assert ("b1", (OTHERS[1],)) in told


def test_news_goes_on_to_all_but_its_source_and_only_once() -> None:
    among = Among()
    among.link_all()
    dead = replace(OTHERS[2], alive=False)
    assert among.neighbours.learn([dead], "b1") is News.CHANGED
    assert [action.link for action in among.done(Transmit)] == ["b2", "b3"]
    assert among.neighbours.learn([dead], "b2") is News.NOTHING
    assert among.actions == []


def test_news_of_our_own_death_is_contradicted_under_a_higher_incarnation() -> None:
    among = Among()
    among.link_all()
    assert among.neighbours.learn([replace(ME, alive=False)], "b1") is News.OWN_DEATH
    assert among.members.me == replace(ME, incarnation=6)
    assert [action.link for action in among.done(Transmit)] == ["b1", "b2", "b3"]


def test_links_are_asked_for_and_given_up_as_the_triangulation_says() -> None:
    among = Among()
    among.members.merge(OTHERS)
    among.neighbours.relink(0.0)
    wanted = among.members.neighbours()
    assert {action.member.name for action in among.done(Connect)} == wanted
    gone = sorted(wanted)[0]
    among.members.merge([replace(among.members[gone], alive=False)])
    among.neighbours.relink(0.0)
    assert [action.name for action in among.done(Disconnect)] == [gone]


def test_heartbeats_carry_a_digest_and_a_differing_one_is_answered_with_all() -> None:
    among = Among()
    among.link_all()
    among.neighbours.tick(0.0)
    beats = among.done(Transmit)
    assert {action.link for action in beats} == {"b1", "b2", "b3"}
    assert beats[0].message == Heartbeat(among.members.digest())
    among.neighbours.on_heartbeat("b1", Heartbeat(among.members.digest()))
    assert among.actions == []
    among.neighbours.on_heartbeat("b1", Heartbeat(1))
    assert among.done(Transmit) == [Transmit("b1", Members(among.members.everyone()))]


def hear_from(among: Among, names: set[str], now: float) -> None:
    for name in names:
        among.neighbours.on_heard(name, now)


def suspected(among: Among, now: float = 2.0) -> tuple[str, list[str]]:
    """Let a neighbour fall silent; return it and who is asked about it."""
    silent = sorted(among.members.neighbours())[0]
    hear_from(among, {"b1", "b2", "b3"} - {silent}, now - 0.1)
    among.actions.clear()
    assert among.neighbours.tick(now) is News.NOTHING
    asked = [one.link for one in among.done(Transmit) if one.message == Reach(silent)]
    return silent, asked


def test_a_neighbour_that_is_silent_and_that_nobody_reaches_is_dead() -> None:
    among = Among()
    among.link_all()
    silent, asked = suspected(among)
    assert asked
    assert among.members.alive(silent)
    for link in asked:
        news = among.neighbours.on_reached(link, Reached(silent, False), 2.0)
    assert news is News.CHANGED
    assert not among.members.alive(silent)


def test_those_who_do_not_answer_are_not_waited_for_for_ever() -> None:
    among = Among()
    among.link_all()
    silent, _ = suspected(among)
    hear_from(among, {"b1", "b2", "b3"} - {silent}, 2.9)
    assert among.neighbours.tick(2.9) is News.NOTHING
    assert among.neighbours.tick(3.0) is News.CHANGED


def test_a_neighbour_that_another_reaches_lives_and_is_reached_by_way_of_it() -> None:
    among = Among()
    among.link_all()
    silent, asked = suspected(among)
    assert among.neighbours.on_reached(asked[0], Reached(silent, True), 2.0) is News.NOTHING
    assert among.members.alive(silent)
    assert among.neighbours.relays == {silent: asked[0]}
    assert silent not in among.neighbours.links  # it is made anew
    among.neighbours.on_linked(among.members[silent], 2.5)
    among.neighbours.on_heard(silent, 2.6)
    assert among.neighbours.relays == {}


def test_a_link_that_is_made_again_and_again_and_brings_nothing_is_no_sign_of_life() -> None:
    """Else nobody would ask who reaches that neighbour, and mail for it would have no way."""
    among = Among()
    among.link_all()
    for each in range(4, 10):
        for member in OTHERS[1:]:
            among.neighbours.on_heard(member.name, each / 4)
        among.neighbours.on_unlinked("b1", each / 4)
        among.neighbours.tick(each / 4)
        among.neighbours.on_linked(OTHERS[0], each / 4)
    asked = [action.link for action in among.done(Transmit) if action.message == Reach("b1")]
    assert asked
    among.neighbours.on_reached(asked[0], Reached("b1", reached=True), 2.3)
    among.neighbours.on_linked(OTHERS[0], 2.4)
    among.neighbours.on_unlinked("b1", 2.4)
    assert among.neighbours.relays == {"b1": asked[0]}


def test_who_is_asked_says_whether_it_hears_of_another() -> None:
    among = Among()
    among.link_all()
    among.neighbours.on_reach("b1", Reach("b2"), 0.9)
    among.neighbours.on_reach("b1", Reach("b2"), 1.0)
    among.neighbours.on_reach("b1", Reach("b9"), 0.0)
    answers = [one.message.reached for one in among.done(Transmit)]
    assert answers == [True, False, False]


def test_a_broken_link_shortens_the_patience_to_a_quarter() -> None:
    among = Among()
    among.link_all()
    broken = sorted(among.members.neighbours())[0]
    hear_from(among, {"b1", "b2", "b3"}, 1.0)
    among.neighbours.on_unlinked(broken, 1.0)
    among.actions.clear()
    among.neighbours.tick(1.49)
    assert not [one for one in among.done(Transmit) if one.message == Reach(broken)]
    among.neighbours.tick(1.5)
    assert [one for one in among.done(Transmit) if one.message == Reach(broken)]


def test_what_is_read_after_a_link_broke_is_no_sign_of_life() -> None:
    among = Among()
    among.link_all()
    broken = sorted(among.members.neighbours())[0]
    hear_from(among, {"b1", "b2", "b3"}, 1.0)
    among.neighbours.on_unlinked(broken, 1.0)
    among.neighbours.on_heard(broken, 1.4)  # it waited behind much else
    among.actions.clear()
    among.neighbours.tick(1.5)
    assert [one for one in among.done(Transmit) if one.message == Reach(broken)]


def test_after_a_pause_of_our_own_nobody_was_silent() -> None:
    among = Among()
    among.link_all()
    among.neighbours.on_paused(50.0)
    assert among.neighbours.tick(50.0) is News.NOTHING
    assert not [one for one in among.done(Transmit) if isinstance(one.message, Reach)]


def test_the_dead_are_probed_one_after_the_other() -> None:
    among = Among()
    among.members.merge([replace(member, alive=False) for member in OTHERS])
    for number in range(4):
        among.neighbours.tick(2.0 * number)
    probed = [action.member.name for action in among.done(Probe)]
    assert len(probed) == 4
    assert set(probed) == {"b1", "b2", "b3"}


def test_a_link_by_which_we_joined_is_closed_when_it_is_no_neighbour() -> None:
    among = Among()
    among.link_all()
    (needless,) = among.neighbours.links - among.members.neighbours()
    hear_from(among, {"b1", "b2", "b3"}, 3.9)
    among.neighbours.tick(3.9)
    assert among.done(Disconnect) == []
    among.neighbours.tick(4.2)
    assert among.done(Disconnect) == [Disconnect(needless)]
    assert needless not in among.neighbours.links


def test_a_broker_that_leaves_tells_its_neighbours_that_it_is_not_alive_by_its_own_will() -> None:
    among = Among()
    among.link_all()
    farewell = Members((replace(ME, alive=False, left=True),))
    assert among.neighbours.goodbye() == [Transmit(link, farewell) for link in ("b1", "b2", "b3")]
    assert among.members.me == ME
