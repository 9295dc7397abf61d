"""Random schedules of doors and clients: datagrams get lost, clients move, doors stop and die.

A range of seeds by one command: ``python -m evenflow.testing.edge.schedules FIRST COUNT``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from evenflow.edge.settings import EdgeSettings
from evenflow.testing.edge.door import TOPICS
from evenflow.testing.edge.world import EdgeWorld
from evenflow.testing.seeds import run_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.testing.edge.door import SimDoor


def edge_schedule(seed: int, steps: int = 200) -> EdgeWorld:
    """Run one schedule.

    Raises:
        Violation: An item is lost, comes twice or out of order.
    """
    tight = seed % 3 == 0
    settings = EdgeSettings(
        in_flight_bytes=500 if tight else 1 << 20,
        buffer_bytes=1_000 if tight else 1 << 20,
        unit_bytes=400 if tight else 1 << 20,
        settle_s=0.5,
    )
    world = EdgeWorld(seed, settings, doors=2 + seed % 2, clients=1 + seed % 3)
    faults = world.random.choice([0.05, 0.2, 0.4])
    restless = world.random.random() < 0.5
    for _ in range(steps):
        choice = world.random.random()
        if choice < faults:
            (_move_client if restless else world.random.choice(FAULTS))(world)
        elif choice < 0.7:
            _publish(world)
        else:
            pause = world.random.choice([0.001, 0.02, 0.2, 0.2, 0.5 if restless else 2.0])
            world.time.run(world.time.now + pause)
    world.settle()
    return world


def _publish(world: EdgeWorld) -> None:
    client = world.random.choice(world.clients)
    topic = world.random.choice(TOPICS)
    for _ in range(world.random.choice([1, 1, 4])):
        number = len(client.streams[topic].payloads) + 1
        client.publish(topic, f"{client.name}/{client.run}/{topic}/{number}".encode())


# -- faults ----------------------------------------------------------------------------------------


def _move_client(world: EdgeWorld) -> None:
    client = world.random.choice(world.clients)
    client.go_to(world.random.choice(list(world.doors)), politely=world.random.random() < 0.5)


def _forget_client(world: EdgeWorld) -> None:
    if world.random.random() < 0.3:
        world.random.choice(world.clients).begin_run()


def _kill_door(world: EdgeWorld) -> None:
    door = world.random.choice(list(world.doors.values()))
    if door.alive:
        door.kill()
        world.time.later(world.random.choice([0.01, 0.5, 3.0]), _starting(door))


def _starting(door: SimDoor) -> Callable[[], None]:
    def start() -> None:
        if not door.alive:
            door.start()

    return start


def _stop_or_go_on(world: EdgeWorld) -> None:
    door = world.random.choice(list(world.doors.values()))
    if door.stopped:
        world.time.go_on(door)
    elif door.alive:
        door.stopped = True


def _cut_or_mend(world: EdgeWorld) -> None:
    if world.cuts:
        world.cuts.clear()
    else:
        one = world.random.choice(list(world.doors))
        world.cuts = {(one, other) for other in world.doors if other != one}


FAULTS: tuple[Callable[[EdgeWorld], None], ...] = (
    _move_client, _move_client, _move_client, _forget_client, _kill_door, _stop_or_go_on,
    _stop_or_go_on, _cut_or_mend, _cut_or_mend,
)  # fmt: skip


if __name__ == "__main__":
    sys.exit(run_seeds(edge_schedule))
