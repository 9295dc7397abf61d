"""Online clusterings beside one another: ours, plain forgetful k-means, scikit-learn and river.

All learn one observation at a time and then say its level: the rank of the nearest centre in the
order of load. The libraries are no dependency: those that are not installed are left out.
"""

from __future__ import annotations

import time
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from evenflow.qos.controller.load_levels import LoadLevels
from evenflow.qos.controller.settings import ControllerSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenflow_experiments.qos.traces import Point, Trace


class Contender(Protocol):
    """Learns loads one by one."""

    def learn(self, point: Point) -> int:
        """Learn an observation; return its level, 1 to K."""


def first_centres(levels: int) -> list[Point]:
    """Even steps: everybody begins with the same."""
    return [((number + 0.5) / levels,) * 2 for number in range(levels)]


def ours(levels: int) -> Contender:
    """The load levels of the controller."""
    settings = ControllerSettings()
    return LoadLevels(first_centres(levels), settings.forgetting, settings.resolution)


class Forgetful:
    """Forgetful k-means and nothing else: the nearest centre moves by a constant share."""

    def __init__(self, levels: int) -> None:
        self.centres = first_centres(levels)

    def learn(self, point: Point) -> int:
        """Move the nearest centre."""
        index = _nearest(self.centres, point)
        used, kept = self.centres[index]
        moved = used + 0.2 * (point[0] - used), kept + 0.2 * (point[1] - kept)
        self.centres[index] = moved
        return _rank(self.centres, moved)


class MiniBatch:
    """``sklearn.cluster.MiniBatchKMeans``, one observation a batch."""

    def __init__(self, levels: int) -> None:
        numpy, cluster = import_module("numpy"), import_module("sklearn.cluster")
        self._array = numpy.array
        self._model = cluster.MiniBatchKMeans(levels, random_state=1, n_init=1)
        self._model.partial_fit(self._array(first_centres(levels)))

    def learn(self, point: Point) -> int:
        """Fit, and ask for the nearest centre."""
        row = self._array([point])
        self._model.partial_fit(row)
        centres = [tuple(map(float, each)) for each in self._model.cluster_centers_]
        return _rank(centres, centres[int(self._model.predict(row)[0])])


class River:
    """A clustering of river: ``KMeans`` (a halflife), ``STREAMKMeans``, ``CluStream``."""

    def __init__(self, levels: int, name: str, **options: Any) -> None:
        cluster = import_module("river.cluster")
        self._model = getattr(cluster, name)(n_clusters=levels, seed=1, **options)
        for used, kept in first_centres(levels) * 2:
            self._model.learn_one({"used": used, "kept": kept})

    def learn(self, point: Point) -> int:
        """Learn, and ask for the nearest centre."""
        row = {"used": point[0], "kept": point[1]}
        self._model.learn_one(row)
        found = self._model.predict_one(row)
        centres = {key: (each["used"], each["kept"]) for key, each in self._model.centers.items()}
        return _rank(list(centres.values()), centres[found])


CONTENDERS: dict[str, Callable[[int], Contender]] = {
    "evenflow": ours,
    "forgetful k-means": Forgetful,
    "sklearn MiniBatchKMeans": MiniBatch,
    "river KMeans": lambda levels: River(levels, "KMeans", halflife=0.2),
    "river STREAMKMeans": lambda levels: River(levels, "STREAMKMeans", chunk_size=10, halflife=0.2),
}


def compare(
    all_traces: Sequence[Trace], contenders: Mapping[str, Callable[[int], Contender]] = CONTENDERS
) -> list[dict[str, Any]]:
    """One row a contender and trace: accuracy, microseconds of CPU time, switches."""
    rows = []
    for name, make in contenders.items():
        for trace in all_traces:
            try:
                contender = make(trace.levels)
            except ModuleNotFoundError:
                continue
            began = time.process_time()
            levels = [contender.learn(point) for point in trace.points]
            took = time.process_time() - began
            right = sum(a == b for a, b in zip(levels, trace.truth, strict=True))
            switches = sum(a != b for a, b in pairwise(levels))
            truly = sum(a != b for a, b in pairwise(trace.truth))
            rows.append(
                {
                    "contender": name, "trace": trace.name,
                    "accuracy": round(right / len(levels), 4),
                    "us_per_observation": round(took / len(levels) * 1e6, 2),
                    "switches": switches, "true_switches": truly,
                }
            )  # fmt: skip
    return rows


def _nearest(centres: Sequence[Point], point: Point) -> int:
    distances = [abs(point[0] - used) + abs(point[1] - kept) for used, kept in centres]
    return distances.index(min(distances))


def _rank(centres: Sequence[Any], centre: Any) -> int:
    return 1 + sum(bool(sum(each) < sum(centre)) for each in centres)
