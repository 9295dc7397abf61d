"""The controller: Algorithm 1 to the letter, and what goes beyond it, switch by switch."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import UsageError
from evenflow.qos.consistency import Policies, problems
from evenflow.qos.controller import Clustered, Controller, ControllerSettings, Decision
from evenflow.qos.use import Use

LIMIT = 10_000
shares = st.floats(0.0, 1.0)
histories = st.lists(shares, max_size=80)
rngs = st.integers(0, 2**32).map(random.Random)


def filled(*ratios: float) -> list[Use]:
    """Writers that are so full, in both counters."""
    return [
        Use(f"w{number}", round(ratio * LIMIT), LIMIT, round(ratio * LIMIT), LIMIT)
        for number, ratio in enumerate(ratios)
    ]


def run(controller: Controller, ratios: list[float], period_s: float = 1.0) -> list[Decision]:
    times = itertools.count(0.0, period_s)
    return [controller.observe(filled(ratio), next(times)) for ratio in ratios]


settings_of_any_kind = st.builds(
    ControllerSettings,
    performance_ratio=st.floats(0.1, 1.0),
    levels=st.integers(1, 8),
    separation_most_s=st.floats(0.01, 10.0),
    policies=st.builds(
        Policies,
        deadline_s=st.one_of(st.just(math.inf), st.floats(0.05, 20.0)),
        latency_budget_s=st.floats(0.0, 0.04),
        lifespan_s=st.one_of(st.just(math.inf), st.floats(0.05, 20.0)),
    ),
    clustered=st.sampled_from(Clustered),
    fits=st.booleans(),
    holds=st.booleans(),
    returns=st.booleans(),
    tunes_ratio=st.booleans(),
    tunes_levels=st.booleans(),
    tunes_separation=st.booleans(),
)


# -- what always holds -----------------------------------------------------------------------------


@given(settings_of_any_kind, histories)
def test_a_separation_goes_with_the_policies(
    settings: ControllerSettings, ratios: list[float]
) -> None:
    controller = Controller(settings)
    for decision in run(controller, ratios):
        assert problems(settings.policies, decision.separation_s) == []
        assert 0 <= decision.level <= controller.levels or not settings.holds
        assert (decision.level == 0) <= (decision.separation_s == 0.0)


@given(settings_of_any_kind, histories)
def test_the_same_observations_give_the_same_decisions(
    settings: ControllerSettings, ratios: list[float]
) -> None:
    assert run(Controller(settings), ratios) == run(Controller(settings), ratios)


@given(settings_of_any_kind, histories)
def test_without_writers_nothing_is_overloaded(
    settings: ControllerSettings, ratios: list[float]
) -> None:
    controller = Controller(settings)
    run(controller, ratios)
    decision = controller.observe([], 1_000.0)
    assert (decision.performance, decision.overloaded) == (0.0, False)


# -- Algorithm 1 -----------------------------------------------------------------------------------


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=5), st.floats(0.1, 1.0))
def test_overload_is_a_mean_use_above_the_ratio(
    writers: list[tuple[float, float]], ratio: float
) -> None:
    uses = [Use("w", round(u * 100), 100, round(k * 50), 50) for u, k in writers]
    decision = Controller(ControllerSettings.algorithm_1(ratio, 3, 1.0)).observe(uses, 0.0)
    mean = sum((use.used / 100 + use.kept / 50) / 2 for use in uses) / len(uses)
    assert decision.performance == pytest.approx(mean)
    assert decision.overloaded == (decision.performance > ratio)


@given(st.integers(1, 8), st.floats(0.01, 10.0), histories)
def test_the_separation_is_the_level_times_a_step(
    levels: int, most_s: float, ratios: list[float]
) -> None:
    for decision in run(Controller(ControllerSettings.algorithm_1(0.5, levels, most_s)), ratios):
        assert decision.separation_s == pytest.approx(decision.level * (most_s / levels))
        assert decision.separation_s <= most_s


@given(histories)
def test_to_the_letter_nothing_changes_without_overload(ratios: list[float]) -> None:
    decisions = run(Controller(ControllerSettings.algorithm_1(0.5, 4, 1.0)), ratios)
    for before, after in itertools.pairwise(decisions):
        if not after.overloaded:
            assert (after.level, after.separation_s) == (before.level, before.separation_s)


def test_to_the_letter_a_separation_beyond_the_deadline_is_not_set() -> None:
    controller = Controller(ControllerSettings.algorithm_1(0.5, 4, 1.0, deadline_s=0.5))
    light, heavy = run(controller, [0.55, 0.99])
    assert (light.level, light.separation_s) == (1, 0.25)
    assert (heavy.overloaded, heavy.level, heavy.separation_s) == (True, 1, 0.25)


def test_beyond_the_letter_the_largest_separation_below_the_deadline_is_set() -> None:
    settings = ControllerSettings(0.5, 4, 1.0, Policies(deadline_s=0.5, latency_budget_s=0.1))
    (heavy,) = run(Controller(settings), [0.99])
    assert heavy.level == 4
    assert heavy.separation_s == pytest.approx(0.4)
    assert heavy.separation_s < 0.4


def test_heavier_loads_have_higher_levels() -> None:
    controller = Controller(ControllerSettings.algorithm_1(0.2, 3, 0.9))
    decisions = run(controller, [0.3, 0.6, 0.9] * 10)
    assert [each.level for each in decisions[-3:]] == [1, 2, 3]
    assert [each.separation_s for each in decisions[-3:]] == pytest.approx([0.3, 0.6, 0.9])


def test_the_two_readings_differ_in_what_level_1_is() -> None:
    """All observations: the lightest there is. Only those in overload: the lightest overload."""
    loads = [0.1, 0.6, 0.75, 0.95] * 10
    levels = {}
    for clustered in Clustered:
        settings = replace(ControllerSettings.algorithm_1(0.5, 4, 1.0), clustered=clustered)
        levels[clustered] = [each.level for each in run(Controller(settings), loads)[-3:]]
    assert levels[Clustered.EVERYTHING] == [2, 3, 4]
    assert levels[Clustered.OVERLOAD][0] < levels[Clustered.EVERYTHING][0]


# -- hysteresis and the way back -------------------------------------------------------------------


@given(st.floats(0.05, 1.0), st.integers(2, 6), st.sampled_from(Clustered), rngs)
def test_a_constant_load_does_not_flutter(
    load: float, levels: int, clustered: Clustered, rng: random.Random
) -> None:
    """Noise included, wherever the load lies: also right at the bound."""
    controller = Controller(ControllerSettings(0.8, levels, 1.0, clustered=clustered))
    noisy = [load * (1 + rng.uniform(-0.03, 0.03)) for _ in range(600)]
    run(controller, noisy[:20])
    taken = [
        controller.observe(filled(ratio), float(number)).level
        for number, ratio in enumerate(noisy[20:], 20)
    ]
    levels_in_turn = [level for level, _ in itertools.groupby(taken)]
    assert len(set(levels_in_turn)) == len(levels_in_turn), "no level is come back to"
    assert len(levels_in_turn) <= 3


@given(histories)
def test_the_load_is_gone_and_the_full_rate_is_back(ratios: list[float]) -> None:
    settings = ControllerSettings(0.5, 4, 1.0)
    controller = Controller(settings)
    run(controller, ratios)
    level, now = 0, float(len(ratios))
    for number in range(1_000):
        level = controller.observe(filled(0.1), now + number).level
    assert level == 0


def test_a_level_falls_one_by_one_when_it_was_not_asked_for() -> None:
    controller = Controller(ControllerSettings(0.5, 4, 1.0, calm_s=3.0))
    levels = [each.level for each in run(controller, [0.99, *[0.1] * 14])]
    assert levels == [4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0]


def test_without_hysteresis_the_full_rate_is_back_at_once() -> None:
    controller = Controller(ControllerSettings(0.5, 4, 1.0, holds=False))
    assert [each.level for each in run(controller, [0.99, 0.1])] == [4, 0]


def test_a_load_that_comes_back_is_tried_ever_more_seldom() -> None:
    """A closed loop: the load is gone at level 2, and back at level 1."""
    controller = Controller(ControllerSettings(0.5, 2, 1.0, calm_s=3.0))
    level, falls = 0, []
    for number in range(1_000):
        decision = controller.observe(filled(0.2 if level == 2 else 0.95), float(number))
        if decision.level < level:
            falls.append(number)
        level = decision.level
    gaps = [after - before for before, after in itertools.pairwise(falls)]
    assert gaps[:3] == sorted(gaps[:3])
    assert gaps[-1] >= 8 * gaps[0]
    assert max(gaps) <= 3.0 * 2**5 + 2


# -- parameters that tune themselves ---------------------------------------------------------------


def test_the_ratio_follows_what_is_normal() -> None:
    controller = Controller(ControllerSettings(0.55, 3, 1.0, tunes_ratio=True))
    run(controller, [0.5] * 300)
    assert controller.performance_ratio == pytest.approx(0.75, abs=0.01)
    assert controller.observe(filled(0.9), 301.0).overloaded


def test_the_ratio_has_a_bound() -> None:
    controller = Controller(ControllerSettings(0.9, 3, 1.0, tunes_ratio=True))
    run(controller, [0.9, *[i / 2_000 for i in range(1_800, 2_000)]])
    assert controller.performance_ratio <= 0.95
    assert controller.observe(filled(1.0), 300.0).overloaded


@given(rngs)
def test_more_levels_where_loads_differ(rng: random.Random) -> None:
    settings = ControllerSettings(
        0.1, 2, 1.0, tunes_levels=True, clustered=Clustered.EVERYTHING, resolution=0.03
    )
    controller = Controller(settings)
    steps = [step for load in (0.15, 0.25, 0.4, 0.65, 1.0) for step in [load] * 12]
    run(controller, [load * (1 + rng.uniform(-0.03, 0.0)) for load in steps * 20])
    assert controller.levels > 2


@given(rngs)
def test_fewer_levels_where_they_change_all_the_time(rng: random.Random) -> None:
    controller = Controller(ControllerSettings(0.1, 8, 1.0, tunes_levels=True))
    run(controller, [rng.uniform(0.2, 1.0) for _ in range(1_000)])
    assert controller.levels == 2


def test_the_largest_separation_grows_until_the_overload_ends() -> None:
    settings = ControllerSettings(0.5, 2, 0.5, tunes_separation=True, calm_s=2.0)
    controller = Controller(settings)
    separation_s, now = 0.0, 0.0
    for number in range(40):
        now = float(number)
        separation_s = controller.observe(
            filled(0.95 if separation_s < 2.0 else 0.2), now
        ).separation_s
    assert controller.separation_most_s > 1.0
    for number in range(400):
        separation_s = controller.observe(filled(0.1), now + number).separation_s
    assert (separation_s, controller.separation_most_s) == (0.0, 0.5)


def test_nothing_tunes_itself_unless_told() -> None:
    controller = Controller(ControllerSettings(0.5, 3, 1.0))
    run(controller, [0.1, 0.9, 0.4, 1.0] * 100)
    tuned = (controller.performance_ratio, controller.levels, controller.separation_most_s)
    assert tuned == (0.5, 3, 1.0)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"performance_ratio": 0.0}, "performance_ratio"),
        ({"performance_ratio": math.nan}, "performance_ratio"),
        ({"levels": 0}, "levels is 1 to 32"),
        ({"levels": 33}, "levels is 1 to 32"),
        ({"separation_most_s": math.inf}, "separation_most_s"),
        ({"forgetting": 1.0}, "forgetting"),
        ({"resolution": 1.0}, "resolution"),
        ({"margin": 0.9}, "margin"),
        ({"calm_s": -1.0}, "calm_s"),
        ({"policies": Policies(deadline_s=0.1, latency_budget_s=0.2)}, "latency budget"),
    ],
)
def test_bad_settings_are_refused_in_words(fault: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        ControllerSettings(**fault)  # type: ignore[arg-type]


@pytest.mark.parametrize("numbers", [(-1, 1, 1, 1), (1, -1, 1, 1), (1, 1, -1, 1), (1, 1, 1, -1)])
def test_a_use_below_nothing_is_refused(numbers: tuple[int, int, int, int]) -> None:
    with pytest.raises(UsageError, match="below 0"):
        Use("w", *numbers)


@pytest.mark.parametrize(
    ("use", "ratio"),
    [
        (Use("w", 50, 100, 10, 10), 0.75),
        (Use("w", 50, 100, 10, 0), 0.5),
        (Use("w", 50, 0, 9, 10), 0.9),
        (Use("w", 50, 0, 9, 0), 0.0),
    ],
)
def test_a_part_without_limit_does_not_count(use: Use, ratio: float) -> None:
    assert use.ratio == ratio
    assert Controller(ControllerSettings()).observe([use], 0.0).performance == ratio


def test_a_writer_without_any_limit_does_not_count() -> None:
    controller = Controller(ControllerSettings())
    unlimited = [Use(f"u{number}", 50, 0, 50, 0) for number in range(9)]
    decision = controller.observe([*filled(0.95), *unlimited], 0.0)
    assert (decision.performance, decision.overloaded) == (0.95, True)
    assert controller.observe(unlimited, 1.0).performance == 0.0


@given(settings_of_any_kind, st.floats(0.0, 1e6))
def test_it_goes_on_from_what_another_has_set(
    settings: ControllerSettings, separation_s: float
) -> None:
    controller = Controller(settings)
    controller.resume(separation_s, 0.0)
    decision = controller.observe(filled(0.0), 0.0)
    assert problems(settings.policies, decision.separation_s) == []
    assert decision.separation_s <= settings.separation_most_s
    if not settings.returns or (settings.holds and settings.calm_s > 0.0):
        assert (decision.level > 0) is (separation_s > 0.0 and controller.switches > 0)


@pytest.mark.parametrize("parts", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("clustered", Clustered)
def test_whichever_counters_there_are_the_fullest_is_level_k(
    parts: tuple[bool, bool], clustered: Clustered
) -> None:
    has_used, has_kept = parts
    use = Use("w", LIMIT, LIMIT * has_used, LIMIT, LIMIT * has_kept)
    controller = Controller(ControllerSettings(levels=4, clustered=clustered))
    for time in range(100):
        assert controller.observe([use], float(time)).level == 4


class Plant:
    """A topic whose load needs a level for good: below it a buffer fills, from it on it empties.

    Args:
        needs: The level.
        fill_s: How long the buffer takes to fill at full rate.
    """

    def __init__(self, needs: int, fill_s: float) -> None:
        self.needs, self.fill_s, self.used = needs, fill_s, 0.0
        self.controller = Controller(ControllerSettings(levels=4))
        self.level = self.switches = self.full_s = self.now = 0
        self.loaded = True

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            excess = (self.needs - self.level) / self.needs if self.loaded else -1.0
            step = excess if excess > 0 else -1.0
            self.used = min(1.0, max(0.0, self.used + step / self.fill_s))
            self.full_s += self.used >= 1.0
            decision = self.controller.observe(
                [Use("w", round(self.used * LIMIT), LIMIT, 0, 0)], float(self.now)
            )
            self.switches += decision.level != self.level
            self.level = decision.level
            self.now += 1


@pytest.mark.parametrize("needs", [1, 2, 3, 4])
@pytest.mark.parametrize("fill_s", [2.0, 5.0, 20.0, 60.0, 300.0, 1_200.0])
def test_a_topic_that_is_overloaded_for_good_is_neither_full_nor_does_it_flutter(
    needs: int, fill_s: float
) -> None:
    plant = Plant(needs, fill_s)
    plant.run(3_600)
    plant.switches = plant.full_s = 0
    plant.run(3_600)
    assert plant.switches <= 360
    assert plant.full_s <= 60
    plant.loaded = False
    plant.run(400 + round(fill_s))
    assert plant.level == 0, "the load is gone"
