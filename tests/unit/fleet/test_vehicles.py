from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.fleet.rules import (
    DEVIATION,
    FIRST_LATITUDE,
    LANE_DEGREES,
    LATE_S,
    OFF_DEGREES,
    SLOW_M_S,
    STOP,
    WINDOW_S,
)
from evenflow.fleet.vehicles import SECOND, Fleet, Trouble

START = 1_000_000 * SECOND


def everybody(fleet: Fleet) -> np.ndarray:
    return np.arange(fleet.size)


def drive(fleet: Fleet, begin: int, seconds: float, per_s: int = 2) -> list[dict[str, object]]:
    """Let all vehicles report for some time; their reports with sender and time."""
    found = []
    for step in range(int(seconds * per_s)):
        reports = fleet.report(everybody(fleet), begin + step * SECOND // per_s)
        for payload, sender, time in zip(
            reports.payloads, reports.senders, reports.times, strict=True
        ):
            found.append({"sender": sender, "time": time, **json.loads(payload)})
    return found


def is_well(report: dict[str, object]) -> bool:
    road = FIRST_LATITUDE + report["route"] * LANE_DEGREES
    return report["speed"] >= SLOW_M_S and abs(report["lat"] - road) <= OFF_DEGREES


def troubled(fleet: Fleet) -> Trouble:
    (trouble,) = all_troubles(fleet)
    return trouble


def all_troubles(fleet: Fleet) -> list[Trouble]:
    return [trouble for troubles in fleet._troubles for trouble in troubles]


def test_vehicles_on_their_way_report_that_all_is_well() -> None:
    fleet = Fleet(30, reports_per_s=2)
    reports = drive(fleet, START, 5)
    assert len(reports) == 300
    assert all(is_well(report) for report in reports)
    assert len({report["lon"] for report in reports if report["sender"] == "vehicle-001"}) == 10


def test_each_vehicle_counts_its_reports() -> None:
    fleet = Fleet(3, reports_per_s=2)
    assert fleet.report(np.array([0, 2]), START).ids == [1, 1]
    assert fleet.report(everybody(fleet), START + 1).ids == [2, 1, 2]
    assert fleet.books().reports == 5


@pytest.mark.parametrize("seed", range(8))
def test_a_trouble_shows_in_the_reports_of_one_vehicle_until_it_is_told(seed: int) -> None:
    fleet = Fleet(5, reports_per_s=2, seed=seed)
    drive(fleet, START, 2)
    fleet.make_trouble()
    trouble = troubled(fleet)
    later = START + 2 * SECOND
    ill = [report for report in drive(fleet, later, 10) if not is_well(report)]
    assert {report["sender"] for report in ill} == {trouble.vehicle}
    assert len(ill) == 20
    assert fleet.in_trouble == 1
    first_window = trouble.well // SECOND + 1
    until = (first_window + WINDOW_S) * SECOND
    fleet.tell(trouble.vehicle, trouble.kind, until, until - 1, later + 10 * SECOND)
    assert fleet.in_trouble == 0
    assert all(is_well(report) for report in drive(fleet, later + 10 * SECOND, 2))
    books = fleet.books()
    assert (books.planted, books.found, books.false, books.answers) == (1, 1, 0, 1)


def test_a_trouble_is_planted_when_the_reports_show_it_for_long_enough() -> None:
    fleet = Fleet(2, reports_per_s=2)
    drive(fleet, START, 1)
    fleet.make_trouble()
    due = troubled(fleet).due()
    assert due == START + (1 + WINDOW_S + LATE_S) * SECOND
    fleet.report(everybody(fleet), due - 1)
    assert fleet.books().planted == 0
    fleet.report(everybody(fleet), due)
    assert (fleet.books().planted, fleet.books().found) == (1, 0)


def test_answers_that_come_again_are_no_new_findings_and_foreign_ones_are_false() -> None:
    fleet = Fleet(4, reports_per_s=2)
    drive(fleet, START, 1)
    fleet.make_trouble()
    trouble = troubled(fleet)
    drive(fleet, START + SECOND, 8)
    until = START + (1 + WINDOW_S) * SECOND
    told = START + 9 * SECOND
    fleet.tell(trouble.vehicle, trouble.kind, until, until - 1, told)
    drive(fleet, told, 2)
    fleet.tell(trouble.vehicle, trouble.kind, until + SECOND, until, told + SECOND)
    assert (fleet.books().found, fleet.books().false) == (1, 0)
    other = STOP if trouble.kind == DEVIATION else DEVIATION
    fleet.tell(trouble.vehicle, other, until, until, told)
    fleet.tell(trouble.vehicle, trouble.kind, told + 2 * SECOND, told, told)  # it was well by then
    fleet.tell(trouble.vehicle, trouble.kind, START + WINDOW_S * SECOND, START, told)  # and before
    fleet.tell("stranger", STOP, until, until, told)
    assert (fleet.books().found, fleet.books().false, fleet.books().answers) == (1, 4, 6)


def test_the_end_of_the_window_and_the_wait_for_late_reports_are_asked_for() -> None:
    fleet = Fleet(1, reports_per_s=2)
    until, reported, now = START + 4 * SECOND, START + 3.7 * SECOND, START + 6.5 * SECOND
    fleet.tell(fleet.names[0], STOP, until, int(reported), int(now))
    (trip,) = fleet.books().round_trips
    assert trip.whole_s == pytest.approx(2.8)
    assert trip.asked_s == pytest.approx(0.3 + LATE_S)
    assert trip.own_s == pytest.approx(1.5)


def test_an_answer_to_a_trouble_before_the_newest_is_known() -> None:
    fleet = Fleet(1, reports_per_s=2)
    drive(fleet, START, 1)
    fleet.make_trouble()
    first = troubled(fleet)
    drive(fleet, START + SECOND, 8)
    until = START + (1 + WINDOW_S) * SECOND
    fleet.tell(first.vehicle, first.kind, until, until, START + 9 * SECOND)
    drive(fleet, START + 9 * SECOND, 1)
    fleet.make_trouble()
    fleet.tell(first.vehicle, first.kind, until + SECOND, until, START + 10 * SECOND)
    assert (fleet.books().found, fleet.books().false, fleet.in_trouble) == (1, 0, 1)


@given(st.lists(st.sampled_from(["drive", "trouble", "tell"]), max_size=40))
def test_no_more_is_found_than_was_planted_and_every_told_vehicle_is_well(
    events: list[str],
) -> None:
    fleet = Fleet(3, reports_per_s=2)
    now = START
    for event in events:
        if event == "drive":
            drive(fleet, now, 7)
            now += 7 * SECOND
        elif event == "trouble":
            fleet.make_trouble()
        else:
            for trouble in all_troubles(fleet):
                if trouble.due() <= now and not trouble.told:
                    until = trouble.due() - LATE_S * SECOND
                    fleet.tell(trouble.vehicle, trouble.kind, until, until, now)
        books = fleet.books()
        assert books.found <= books.planted
        assert books.false == 0
        assert fleet.in_trouble == sum(not one.told for one in all_troubles(fleet))
