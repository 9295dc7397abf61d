"""Random schedules: whatever happens, when it is quiet everybody says the same.

As many of each as ``EVENFLOW_TEST_RING`` says.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from evenflow.bridge.ring.arc_table import arc_table
from evenflow.bridge.ring.circle import NOBODY, Circle
from evenflow.bridge.ring.identifiers import GUID_BYTES, POINTS, guid_of, hashed

from .simulated import QUIET_S, Domain

NAMES = [f"b{number}" for number in range(9)]
GUIDS = [guid_of(f"device-{number}") for number in range(200)]
SEEDS = range(int(os.environ.get("EVENFLOW_TEST_RING", "8")))


def disturb(domain: Domain, random: Random) -> None:
    """Do one thing to it."""
    here, away = sorted(domain.bridges), [name for name in NAMES if name not in domain.bridges]
    what = random.choice(["join", "join", "leave", "fail", "cut", "split", "heal", "drain", "plan"])
    if what == "join" and away:
        domain.join(random.choice(away))
    elif what in ("leave", "fail") and len(here) > 1:
        getattr(domain, what)(random.choice(here))
    elif what == "cut" and len(here) > 1:
        domain.cut_between(*random.sample(here, 2))
    elif what == "split" and len(here) > 1:
        domain.split(set(random.sample(here, random.randrange(1, len(here)))))
    elif what == "heal":
        domain.heal()
    elif what == "drain":
        domain.drain(random.choice(here), on=random.random() < 0.5)
    elif what == "plan":
        given_away = {random.getrandbits(64): random.choice(NAMES) for _ in range(4)}
        table = arc_table(given_away, random.randrange(3), random.randrange(20))
        domain.plan(random.choice(here), table)


@pytest.mark.parametrize("seed", SEEDS)
def test_when_it_is_quiet_every_device_has_one_owner_and_all_agree(seed: int) -> None:
    random = Random(seed)
    domain = Domain(seed)
    domain.loss = random.choice([0.0, 0.1, 0.4])
    domain.join("b0")
    for _ in range(40):
        disturb(domain, random)
        domain.run(random.choice([0.1, 0.3, 1.0, 3.0]))
    domain.heal()
    domain.run(QUIET_S)
    agreed(domain)


def agreed(domain: Domain) -> None:
    cores = [bridge.core for bridge in domain.bridges.values()]
    assert len({core.members for core in cores}) == 1
    assert len({(core.arcs.term, core.arcs.number, core.arcs.arcs) for core in cores}) == 1
    assert not any(core.is_isolated for core in cores if len(cores) > 1)
    members = cores[0].members
    assert set(members) == {core.me.name for core in cores if core.circle.bridges} & set(members)
    for guid in GUIDS:
        (owner,) = domain.owners(guid)
        assert owner in members or (owner == NOBODY and not members)
        assert domain.claims(guid) == ([owner] if members else [])


@pytest.mark.parametrize("seed", SEEDS)
def test_each_side_of_a_cut_agrees_within_itself(seed: int) -> None:
    random = Random(seed)
    domain = Domain(seed)
    for name in NAMES:
        domain.join(name)
    domain.run(QUIET_S)
    side = set(random.sample(NAMES, random.randrange(1, len(NAMES))))
    domain.split(side)
    domain.run(QUIET_S)
    for part in (side, set(NAMES) - side):
        for name in part:
            assert set(domain.bridges[name].core.members) == part
            assert domain.bridges[name].core.is_isolated == (len(part) == 1)
    domain.heal()
    domain.run(QUIET_S)
    agreed(domain)


@pytest.mark.parametrize("seed", SEEDS)
def test_broken_paths_make_nobody_disagree_if_each_misses_one_at_most(seed: int) -> None:
    random = Random(seed)
    domain = Domain(seed)
    here = NAMES[: random.randrange(3, len(NAMES) + 1)]
    for name in here:
        domain.join(name)
    domain.run(QUIET_S)
    shuffled = random.sample(here, len(here))
    for one, other in zip(shuffled[::2], shuffled[1::2], strict=False):
        domain.cut_between(one, other)
    domain.run(QUIET_S)
    agreed(domain)


# -- how many move ---------------------------------------------------------------------------------


@pytest.mark.parametrize("many", range(1, 21))
def test_a_join_moves_few_devices_with_virtual_nodes_and_a_leave_only_its_own(many: int) -> None:
    """At most 1.5 / (M + 1) of the devices, and all of them to the one that joins."""
    random = Random(many)
    guids = [random.randbytes(GUID_BYTES) for _ in range(10_000)]
    for world in range(5):
        names = [f"{world}-{number}" for number in range(many + 1)]
        before = Circle.of(dict.fromkeys(names[:-1], POINTS), hashed()).owners(guids)
        after = Circle.of(dict.fromkeys(names, POINTS), hashed()).owners(guids)
        moved = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
        assert len(moved) <= 1.5 / (many + 1) * len(guids)
        assert {other for _, other in moved} == {names[-1]}
        assert len(moved) == after.count(names[-1]), "when it leaves only its own go back"
