"""What other programs leave to the nodes of a machine."""

from __future__ import annotations

from dataclasses import replace

from evenflow.model.messages import NodeReport
from evenflow.slices.balancer.machines import LEAST, Machines

PLAIN = NodeReport("items", "a~1", 1, 0, False, (), (), (), 0, 0, 0, 0, 0, 0, 0, 0.0, "one", 7)


def report(node: str, host: str, pid: int, cpu: float, process_cpu: float) -> NodeReport:
    return replace(PLAIN, node=node, host=host, pid=pid, cpu=cpu, process_cpu=process_cpu)


def rooms(*reports: NodeReport, seconds: int = 100) -> dict[str, float]:
    machines = Machines()
    for second in range(seconds):
        for each in reports:
            machines.observe(each, float(second))
    return machines.headrooms({each.node: each for each in reports})


def test_a_machine_that_is_busy_with_its_nodes_has_all_its_room() -> None:
    a, b = report("a~1", "one", 1, 95.0, 60.0), report("b~1", "one", 2, 95.0, 30.0)
    assert rooms(a, b) == {"a~1": 1.0, "b~1": 1.0}


def test_other_work_takes_room_from_all_nodes_of_that_machine_and_no_other() -> None:
    a, b = report("a~1", "one", 1, 90.0, 20.0), report("b~1", "one", 2, 90.0, 10.0)
    c = report("c~1", "two", 3, 30.0, 30.0)
    assert rooms(a, b, c) == {"a~1": 0.4, "b~1": 0.4, "c~1": 1.0}


def test_nodes_of_one_process_count_it_once() -> None:
    a, b = report("a~1", "one", 1, 90.0, 45.0), report("b~1", "one", 1, 90.0, 45.0)
    assert rooms(a, b) == {"a~1": 0.6, "b~1": 0.6}


def test_a_little_other_work_counts_as_none_and_too_much_leaves_something() -> None:
    assert rooms(report("a~1", "one", 1, 25.0, 10.0)) == {"a~1": 1.0}
    assert rooms(report("a~1", "one", 1, 100.0, 0.0)) == {"a~1": LEAST}


def test_a_short_peak_changes_little_and_a_node_that_is_gone_is_forgotten() -> None:
    machines = Machines()
    calm, hot = report("a~1", "one", 1, 10.0, 10.0), report("a~1", "one", 1, 100.0, 10.0)
    for second in range(60):
        machines.observe(calm, float(second))
    machines.observe(hot, 61.0)
    assert machines.headrooms({"a~1": hot}) == {"a~1": 1.0}
    machines.forget("a~1")
    machines.observe(hot, 62.0)
    assert machines.headrooms({"a~1": hot}) == {"a~1": LEAST}


def test_what_is_no_percentage_spoils_nothing() -> None:
    machines = Machines()
    good = report("a~1", "one", 1, 60.0, 60.0)
    for second, cpu in enumerate((float("nan"), float("inf"), 1e300, -1e300)):
        for process_cpu in (cpu, 0.0):
            machines.observe(report("a~1", "one", 1, cpu, process_cpu), float(second))
            machines.observe(report("a~1", "one", 1, 0.0, cpu), float(second))
    for second in range(10, 200):
        machines.observe(good, float(second))
    assert machines.headrooms({"a~1": good}) == {"a~1": 1.0}
