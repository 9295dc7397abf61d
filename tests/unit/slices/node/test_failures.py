"""What the application could not process: given again, one by one, in order, and never done."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from evenflow.model.messages import CacheChunk, Commit, Step
from evenflow.slices.node.failures import LONGEST_PAUSE_S, Failures
from evenflow.slices.node.lease import Lease

from .alone import OTHER, TERM, WRITER, Node, answer, batch, map_page, order, owner_of

RETRIES = 2


class Application:
    """Processes everything but some items, which it refuses some times or always."""

    def __init__(self, node: Node, refused: dict[int, int], *, tells: bool = False) -> None:
        self.node = node
        self.refused = dict(refused)
        self.tells = tells
        self.given: list[list[int]] = []
        self.processed: list[int] = []
        self.given_up: list[int] = []

    def work(self) -> None:
        """Process what there is now."""
        core, now = self.node.core, self.node.now
        while (one := core.next_delivery(now)) is not None:
            numbers = one.ids.tolist()
            self.given.append(numbers)
            bad = next((n for n in numbers if self.refused.get(n)), None)
            if bad is None:
                self.processed += numbers
                core.delivered(0.01)
                continue
            self.refused[bad] -= 1
            if self.tells:
                self.processed += numbers[: numbers.index(bad)]
            exhausted, _ = core.failed(0.01, now, numbers.index(bad) if self.tells else None)
            if exhausted:
                self.given_up.append(bad)
                core.delivered(0.0, ok=False)

    def work_for(self, seconds: float) -> None:
        """Process what comes, looking every 10 ms."""
        end = self.node.now + seconds
        while self.node.now < end:
            self.node.now += 0.01
            self.work()


def working_node(*slices: int, items: int = 10) -> Node:
    node = owner_of(*slices)
    node.core.delivery.failures = Failures(RETRIES, 0.1)
    node.core.delivery._most_items = items
    node.core.lease = Lease(1e9, 1e9, 0.0)
    return node


def committed(node: Node) -> int:
    commits = [one for one in node.does(node.core.writers.commit()) if isinstance(one, Commit)]
    return max((upto for one in commits for upto in one.upto), default=0)


def test_a_failed_batch_is_given_item_by_item_and_what_can_be_processed_is() -> None:
    node = working_node(0)
    node.gets(batch(first=1, count=4))
    application = Application(node, {3: 100})
    application.work_for(2.0)
    assert application.given == [[1, 2, 3, 4], [1], [2], *[[3]] * (RETRIES + 1), [4]]
    assert (application.processed, application.given_up) == ([1, 2, 4], [3])
    assert committed(node) == 4
    delivery = node.core.delivery
    assert (delivery.items, delivery.failed, delivery.failures.retried) == (4, 1, RETRIES + 2)


def test_what_fails_for_a_while_is_processed_and_not_given_up() -> None:
    node = working_node(0)
    node.gets(batch(first=1, count=3))
    application = Application(node, {2: RETRIES + 1})
    application.work_for(2.0)
    assert (application.processed, application.given_up) == ([1, 2, 3], [])


def test_an_application_that_tells_which_item_it_was_is_not_given_the_others_again() -> None:
    node = working_node(0)
    node.gets(batch(first=1, count=5))
    application = Application(node, {3: 100}, tells=True)
    application.work_for(2.0)
    assert application.given == [[1, 2, 3, 4, 5], *[[3]] * RETRIES, [4, 5]]
    assert (application.processed, application.given_up) == ([1, 2, 4, 5], [3])


def test_an_index_outside_of_the_batch_counts_as_none() -> None:
    node = working_node(0)
    node.gets(batch(first=1, count=2))
    node.core.next_delivery(node.now)
    assert node.core.failed(0.01, node.now, 2) == (False, [])
    assert node.core.cache.held[0].track(WRITER).done == 0


def test_nothing_behind_a_failed_item_is_given_before_it_and_other_slices_go_on() -> None:
    node = working_node(0, 1)
    node.gets(batch(0, first=1, count=1), batch(0, first=2, count=1), batch(1, first=1, count=1))
    one = node.core.next_delivery(node.now)
    assert one is not None
    assert (one.slice, one.first) == (0, 1)
    node.core.failed(0.01, node.now)
    other = node.core.next_delivery(node.now)
    assert other is not None
    assert other.slice == 1
    node.core.delivered(0.01)
    node.gets(batch(0, first=3, count=1))
    assert node.core.next_delivery(node.now) is None
    assert committed(node) == 1  # of slice 1
    assert node.core.cache.held[0].track(WRITER).done == 0
    node.now += 0.2
    assert node.works() == [1, 2, 3]


def test_pauses_double_up_to_the_longest() -> None:
    node = working_node(0)
    node.core.delivery.failures = Failures(1_000, 0.1)
    node.gets(batch(first=1, count=1))
    pauses = []
    for _ in range(10):
        assert node.core.delivery.begin(node.now) is not None
        node.core.failed(0.0, node.now)
        [failing] = node.core.delivery.failures._failing.values()
        pauses.append(round(failing.until - node.now, 3))
        node.now = failing.until
    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8]
    assert pauses[-1] == LONGEST_PAUSE_S


def test_a_slice_that_is_given_away_takes_its_failed_items_along_at_once() -> None:
    node = working_node(0)
    node.gets(batch(first=1, count=3))
    node.core.next_delivery(node.now)
    steps = (Step.FREEZE, Step.REMOVE, Step.SEND_CACHE)
    node.hears(*(order(step, 0, term=TERM + 1) for step in steps))
    exhausted, actions = node.core.failed(0.01, node.now, 1)
    _, chunk = node.does(actions)
    assert not exhausted
    assert isinstance(chunk, CacheChunk)
    assert (chunk.done, chunk.repeated) == ((1,), 0)
    assert chunk.batches


def test_a_slice_that_was_lost_and_taken_anew_begins_anew() -> None:
    node = working_node(0)
    node.gets(batch(first=1, count=1))
    node.core.next_delivery(node.now)
    node.core.failed(0.01, node.now)
    node.hears(map_page({0: OTHER}, term=TERM + 1, version=TERM + 1))
    node.hears(order(Step.TAKE, 0, term=TERM + 2))
    node.hears(answer({0: 0}, last=1))
    node.gets(batch(first=1, count=1), replayed=True)
    application = Application(node, {1: RETRIES})
    application.work_for(2.0)
    assert (application.processed, application.given_up) == ([1], [])


def test_what_is_stopped_with_is_uncommitted_and_still_here() -> None:
    node = working_node(0)
    node.gets(batch(first=1, count=2))
    node.core.next_delivery(node.now)
    node.core.delivery.put_back()
    assert committed(node) == 0
    assert node.works() == [1, 2]


@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    refused=st.dictionaries(st.integers(1, 30), st.integers(1, 6)),
    tells=st.booleans(),
    most=st.integers(1, 7),
)
def test_each_item_is_processed_or_given_up_once_it_counts_as_committed(
    counts: list[int], refused: dict[int, int], tells: bool, most: int
) -> None:
    node = working_node(0, items=most)
    first = 1
    for count in counts:
        node.gets(batch(first=first, count=count))
        first += count
    application = Application(node, refused, tells=tells)
    settled: set[int] = set()
    while settled != set(range(1, first)) and node.now < 60:
        node.now += 0.1
        application.work()
        settled = {*application.processed, *application.given_up}
        assert set(range(1, committed(node) + 1)) <= settled
    assert settled == set(range(1, first))
    assert node.core.delivery.failed == len(application.given_up)
    assert node.core.cache.backlog == 0
    assert not set(application.processed) & set(application.given_up) or not tells
