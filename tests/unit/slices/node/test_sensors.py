"""What a node shows of itself: totals, rates, and how long items have waited."""

from __future__ import annotations

import pytest

from evenflow.slices.node.sensors import Vitals, node_sensors

IDLE = Vitals(0, 0, 0.0, 0, 0, None, 0.0, 0)


class Patient:
    """Something whose vitals a test sets."""

    def __init__(self, vitals: Vitals = IDLE) -> None:
        self.now = vitals

    def vitals(self) -> Vitals:
        return self.now


def test_the_nodes_of_a_process_count_together() -> None:
    nodes = [Patient(IDLE._replace(backlog_items=3, slices=2)), Patient(IDLE._replace(slices=5))]
    sensors = node_sensors(nodes)
    assert (sensors["backlog_items"](), sensors["slices"]()) == (3.0, 7.0)


def test_rates_are_over_the_time_since_the_last_look() -> None:
    node, now = Patient(), [10.0]
    sensors = node_sensors([node], clock=lambda: now[0])
    node.now = IDLE._replace(items=100, busy_s=1.0)
    now[0] = 12.0
    assert (sensors["items"](), sensors["busy"]()) == (50.0, 50.0)
    assert sensors["items"]() == 0.0
    now[0] = 14.0
    assert sensors["items"]() == 0.0


def test_the_oldest_item_of_all_nodes_says_how_long_items_wait() -> None:
    nodes = [Patient(), Patient(IDLE._replace(backlog_since=90.0)), Patient(IDLE)]
    sensors = node_sensors(nodes, wall=lambda: 100.0)
    assert sensors["backlog_s"]() == pytest.approx(10.0)
    nodes[1].now = IDLE
    assert sensors["backlog_s"]() == 0.0


def test_the_slowest_node_gives_the_delay() -> None:
    nodes = [Patient(IDLE._replace(delay_s=0.5)), Patient(IDLE._replace(delay_s=2.0))]
    assert node_sensors(nodes)["delay_s"]() == 2.0
