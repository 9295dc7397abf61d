"""The paper's equations 1-10 written out set by set, slow and plain, to compare with."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.overlay.space.coordinate import Coordinate, closest_nodes


@dataclass(frozen=True, slots=True)
class Topic:
    coordinate: Coordinate
    load: float


@dataclass(frozen=True, slots=True)
class Brute:
    nodes: dict[int, Coordinate]
    topics: tuple[Topic, ...]

    def closest(self, c: Coordinate, j: int) -> int:
        return closest_nodes(c, self.nodes, 3)[j - 1]

    def kept(self, j: int, v: int) -> list[Topic]:
        return [t for t in self.topics if self.closest(t.coordinate, j) == v]

    def level_1(self, v: int) -> float:
        return sum(t.load for t in self.kept(1, v))

    def level_2(self, v: int) -> float:
        return sum(t.load for t in self.kept(1, v) + self.kept(2, v))

    def burden(self, v: int, w: int) -> float:
        return sum(
            t.load
            for t in self.kept(3, v)
            if self.closest(t.coordinate, 1) == w or self.closest(t.coordinate, 2) == w
        )

    def additional(self, v: int) -> float:
        relevant = {self.closest(u.coordinate, j) for u in self.kept(3, v) for j in (1, 2)}
        return max((self.burden(v, w) for w in relevant), default=0.0)

    def level_3(self, v: int) -> float:
        return self.level_2(v) + self.additional(v)

    def node_load(self, v: int, level: int) -> float:
        return (self.level_1, self.level_2, self.level_3)[level - 1](v)

    def touched(self, c: Coordinate, level: int) -> list[float]:
        first, second = (self.closest(c, j) for j in (1, 2))
        if level == 1:
            return [self.level_1(first)]
        if level == 2:
            return [self.level_2(first), self.level_2(second)]
        return [self.level_3(first), self.level_3(second), self.third_load(c)]

    def third_load(self, c: Coordinate) -> float:
        first, second, third = (self.closest(c, j) for j in (1, 2, 3))
        return self.level_2(third) + max(self.burden(third, w) for w in (first, second))

    def spare(self, c: Coordinate, level: int) -> float:
        if level < 3:
            return 0.0
        return self.level_3(self.closest(c, 3)) - self.third_load(c)
