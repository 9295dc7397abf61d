"""What stock Cyclone makes of exclusive ownership: it is decided for each instance by itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow_experiments.replicas.results import (
    RELEASE_S,
    RESULTS,
    Input,
    Keying,
    Results,
    quality,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.domain]
STRONG, WEAK = 20, 10
PATIENCE_S = 30.0
MOMENT_S = 0.3


class Replicas:
    """A stronger and a weaker writer of results, and their reader, in one process."""

    def __init__(self, participant: Participant, keying: Keying) -> None:
        config = participant.config
        self._reader = Input(participant, RESULTS, keying.type, quality(config))
        self.strong = Results(participant, keying, quality(config, STRONG))
        self.weak = Results(participant, keying, quality(config, WEAK))

    def heard(self, count: int) -> list[int]:
        """The numbers of as many results as are expected, and of all that come soon after."""
        found: list[int] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(found) < count and time.monotonic() < deadline:
            found += [item.number for item in self._reader.take()]
            time.sleep(0.01)
        time.sleep(MOMENT_S)
        return found + [item.number for item in self._reader.take()]


@pytest.fixture
def replicas(domain_id: int) -> Iterator[Callable[[Keying], Replicas]]:
    config = Config.load(None, {"domain.id": domain_id})
    with Participant(config.domain) as participant:
        yield lambda keying: Replicas(participant, keying)


def test_one_instance_is_the_stronger_writers_and_nothing_of_the_weaker_one_is_heard(
    replicas: Callable[[Keying], Replicas],
) -> None:
    both = replicas(Keying.UNKEYED)
    both.strong.write(1, 0, 0.0)
    assert both.heard(1) == [1]
    both.weak.write(2, 0, 0.0)
    both.strong.write(3, 0, 0.0)
    assert both.heard(1) == [3]


@pytest.mark.parametrize("keying", [Keying.KEYED, Keying.RELEASED])
def test_an_instance_of_its_own_comes_from_whoever_wrote_it_and_again_from_the_stronger_one(
    replicas: Callable[[Keying], Replicas], keying: Keying
) -> None:
    both = replicas(keying)
    both.strong.write(1, 0, 0.0)
    assert both.heard(1) == [1]
    both.weak.write(1, 0, 0.0)
    both.weak.write(2, 0, 0.0)
    assert both.heard(1) == [2]
    both.strong.write(2, 0, 0.0)
    assert both.heard(1) == [2]


def test_who_comes_after_an_instance_was_unregistered_is_heard_again(
    replicas: Callable[[Keying], Replicas],
) -> None:
    both = replicas(Keying.RELEASED)
    both.strong.write(1, 0, 0.0)
    both.strong.release(RELEASE_S / 2)
    both.weak.write(1, 0, 0.0)
    assert both.heard(1) == [1]
    both.strong.release(RELEASE_S)
    both.weak.write(1, 0, 0.0)
    assert both.heard(1) == [1]
