"""Random schedules: each message once, in order, whatever happens to anybody."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.mobile.mailbox.settings import MailboxSettings
from evenflow.testing.mail.checks import check, check_books
from evenflow.testing.mail.world import FOREVER_S, MailWorld

SMALL = MailboxSettings(
    node_messages=12,
    node_window=3,
    gateway_window=5,
    longest_pause_s=4.0,
    longest_s=1e7,
    repeat_s=0.5,
)
WIDE = MailboxSettings(longest_pause_s=4.0, longest_s=1e7)


def send_something(world: MailWorld) -> None:
    rng = world.rng
    lifetime_s = FOREVER_S if rng.random() < 0.7 else rng.uniform(0.05, 3.0)
    some = tuple(rng.sample(list(world.nodes), rng.randint(1, 3)))
    world.send(*(((), "*") if rng.random() < 0.3 else (some, "")), lifetime_s)


def fill_or_empty_the_disk(world: MailWorld) -> None:
    world.disk_is_full = not world.disk_is_full


HAPPENINGS = {
    send_something: 8,
    lambda world: world.attach(world.some_node(), world.some_gateway()): 4,
    lambda world: world.detach(world.some_node()): 1,
    lambda world: world.kill_gateway(world.some_gateway()): 0.7,
    lambda world: world.start_gateway(world.some_gateway()): 1.5,
    lambda world: world.core and world.kill_mailbox(): 0.7,
    lambda world: world.start_mailbox(): 1.5,
    lambda world: world.advance(world.rng.choice((0.01, 0.1, 0.5))): 14,
    lambda world: world.advance(world.rng.uniform(1.0, 10.0)): 0.3,
    fill_or_empty_the_disk: 0.7,
}


def run(seed: int, settings: MailboxSettings, steps: int = 150) -> MailWorld:
    world = MailWorld(Random(seed), settings=settings)
    for _ in range(steps):
        [happening] = world.rng.choices(list(HAPPENINGS), list(HAPPENINGS.values()))
        happening(world)
        check_books(world)
    world.heal()
    check(world)
    return world


@given(st.integers(0, 1 << 40), st.sampled_from([SMALL, WIDE]))
def test_each_message_once_and_in_order(seed: int, settings: MailboxSettings) -> None:
    run(seed, settings)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(4))
def test_many_schedules(part: int) -> None:
    for seed in range(part * 100, part * 100 + 100):
        run(seed, SMALL if seed % 2 else WIDE)


def test_the_schedules_reach_everything() -> None:
    """The random schedules are of use only if all that may happen happens in them."""
    worlds = [run(seed, SMALL) for seed in range(12)]
    cores = [core for world in worlds for core in (*world.lives, world.core) if core is not None]
    assert len(cores) > 2 * len(worlds)
    assert sum(len(world.disk.kept) for world in worlds) > 100
    assert sum(core.delivery.repeated for core in cores) > 10
    assert sum(core.delivery.returned for core in cores) > 10
    assert {type(one).__name__ for world in worlds for one in world.results.values()} >= {
        "Sent",
        "SendRefused",
    }
