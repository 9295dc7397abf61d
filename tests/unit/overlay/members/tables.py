"""Tables of brokers that all know one another."""

from __future__ import annotations

import random

from evenflow.overlay.members.table import MemberTable
from evenflow.overlay.protocol.messages import Member
from evenflow.overlay.space.coordinate import Coordinate


def member(number: int, rng: random.Random) -> Member:
    place = Coordinate(rng.uniform(0.01, 0.99), rng.uniform(0.01, 0.99))
    return Member(f"b{number}", place, "", 1)


def overlay(seed: int, count: int) -> dict[str, MemberTable]:
    rng = random.Random(seed)
    members = [member(number, rng) for number in range(count)]
    tables = {one.name: MemberTable(one) for one in members}
    for table in tables.values():
        table.merge(members)
    return tables
