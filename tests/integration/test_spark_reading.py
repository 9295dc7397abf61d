"""Reading a served topic over Flight, with real nodes and publishers and without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import flight

from evenflow.cli import main
from evenflow.config import Config
from evenflow.domain.channels import MOVES
from evenflow.domain.cyclone import Participant
from evenflow.errors import ConfigError, DomainError, ReadFailed
from evenflow.model.ids import Position
from evenflow.model.messages import MoveRequest
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.consumer.planning import reached
from evenflow.slices.consumer.reading import read_share
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher

pytestmark = pytest.mark.domain
Eventually = Callable[..., None]
START = Position()


@pytest.fixture
def more() -> dict[str, object]:
    """Settings beside the usual ones."""
    return {}


@pytest.fixture
def config(domain_id: int, more: dict[str, object]) -> Config:
    return Config.load(
        None,
        {
            "domain.id": domain_id,
            "topics": {"items": {"slices": 8, "served": True, "assignment": "modulo:id"}},
            "balancer.settle_s": 0.2,
            "publisher.epoch_ms": 20,
            **more,
        },
    )


@pytest.fixture
def participant(config: Config) -> Iterator[Participant]:
    with Participant(config.domain) as one:
        yield one


@pytest.fixture
def balancer(config: Config) -> Iterator[Balancer]:
    with Balancer(config=config) as one:
        yield one


@pytest.fixture
def nodes(
    config: Config, participant: Participant, balancer: Balancer, eventually: Eventually
) -> Iterator[list[Node]]:
    nodes = [
        Node("items", None, name=f"node-{i}", config=config, participant=participant)
        for i in (1, 2)
    ]
    eventually(lambda: [len(node.slices) for node in nodes] == [4, 4], "slices are shared out")
    yield nodes
    for node in nodes:
        node.close()


@pytest.fixture
def follower(config: Config, nodes: list[Node]) -> Iterator[Follower]:
    follower = Follower("items", "spark", config, read_timeout_s=20.0)
    follower.wait_until_served()
    follower.register(START)
    yield follower
    follower.close()


def ids_between(follower: Follower, start: Position, end: Position) -> list[int]:
    return [
        number
        for share in follower.shares(start, end)
        for batch in read_share(share)
        for number in batch.column("id").to_pylist()
    ]


@pytest.fixture
def published(
    config: Config, participant: Participant, follower: Follower, eventually: Eventually
) -> Iterator[tuple[Publisher, Position]]:
    """100 items, 0 to 99, that can be read."""
    publisher = Publisher("items", config=config, participant=participant)
    for number in range(100):
        publisher.publish(b"x" * 10, id=number)
    eventually(
        lambda: len(ids_between(follower, START, follower.latest(START))) == 100,
        "all items can be read",
    )
    end = follower.latest(START)
    yield publisher, end
    follower.commit(end)
    publisher.close()


def test_every_item_is_read_once(follower: Follower, published: tuple[Publisher, Position]) -> None:
    _, end = published
    assert sorted(ids_between(follower, START, end)) == list(range(100))
    assert sorted(ids_between(follower, START, end)) == list(range(100))
    assert ids_between(follower, end, end) == []


def test_a_commit_lets_publisher_and_nodes_forget(
    follower: Follower, published: tuple[Publisher, Position], eventually: Eventually
) -> None:
    publisher, end = published
    before = Position({writer: epoch - 1 for writer, epoch in end.items()})
    follower.commit(end)
    eventually(lambda: publisher.stats.uncommitted == 0, "the publisher forgets")
    eventually(lambda: ids_between(follower, START, end) == [], "the nodes forget")
    if min(before.values(), default=0) > 0:
        with pytest.raises(ReadFailed, match="forgotten"):
            ids_between(follower, before, end)


def test_a_reader_follows_slices_that_moved_and_nodes_that_left(
    follower: Follower,
    nodes: list[Node],
    participant: Participant,
    published: tuple[Publisher, Position],
    eventually: Eventually,
) -> None:
    _, end = published
    planned = follower.shares(START, end)
    request = MoveRequest("items", 1, nodes[0].id, nodes[1].id, 3, ())
    participant.writer(MOVES).write(request)
    eventually(lambda: len(nodes[1].slices) == 7, "three slices have moved")
    eventually(lambda: len(nodes[0].slices) == 1, "the giver has dropped them")
    ids = [i for share in planned for batch in read_share(share) for i in batch["id"].to_pylist()]
    assert sorted(ids) == list(range(100))
    nodes[0].close()
    eventually(lambda: len(nodes[1].slices) == 8, "the other node takes over")
    ids = [i for share in planned for batch in read_share(share) for i in batch["id"].to_pylist()]
    assert sorted(ids) == list(range(100))


@pytest.mark.parametrize(
    "more", [{"node.cache_bytes": 1 << 20, "publisher.retention_bytes": 1 << 20,
              "publisher.spill_bytes": 1 << 30}],
)  # fmt: skip
def test_what_memory_has_no_room_for_waits_on_disk(
    config: Config,
    participant: Participant,
    follower: Follower,
    nodes: list[Node],
    eventually: Eventually,
) -> None:
    """Nobody commits, at the publisher and at the nodes there is little memory, a node leaves."""
    count, size = 20_000, 1_000
    with Publisher("items", config=config, participant=participant) as publisher:
        payloads = [b"%0*d" % (size, number) for number in range(count)]
        publisher.publish_many(payloads, ids=range(count), timeout=20)
        eventually(
            lambda: len(ids_between(follower, START, follower.latest(START))) == count,
            "all can be read",
        )
        backlog = sum(node._core.cache.size for node in nodes)
        assert backlog > count * size > 8 * config.node.cache_bytes
        end = follower.latest(START)
        nodes[0].close()
        eventually(lambda: len(nodes[1].slices) == 8, "the other node takes over")
        eventually(
            lambda: sorted(ids_between(follower, START, end)) == list(range(count)),
            "all again",
        )
        follower.commit(end)
        eventually(lambda: publisher.stats.uncommitted == 0, "the publisher forgets")
        eventually(lambda: nodes[1]._core.cache.size == 0, "the node forgets")


def test_a_share_of_slices_that_nobody_has_fails_in_words(
    follower: Follower, published: tuple[Publisher, Position]
) -> None:
    _, end = published
    share = follower.shares(START, end)[0]
    beyond = replace(share, asked=replace(share.asked, slices=(99,)), timeout_s=0.3)
    with pytest.raises(ReadFailed, match="evenflow nodes"):
        list(read_share(beyond))


def test_a_wrong_ticket_is_refused_and_harms_nobody(
    follower: Follower, published: tuple[Publisher, Position]
) -> None:
    _, end = published
    address = follower.shares(START, end)[0].address
    with flight.FlightClient(address) as client:
        for ticket in (b"", b"{}", json.dumps({"topic": "other"}).encode()):
            with pytest.raises(flight.FlightServerError) as caught:
                client.do_get(flight.Ticket(ticket)).read_all()
            assert caught.value.extra_info == b"wrong"
    assert sorted(ids_between(follower, START, end)) == list(range(100))


@pytest.mark.parametrize("more", [{"publisher.epoch_ms": 60_000}])
def test_what_is_flushed_can_be_read_at_once(
    config: Config, participant: Participant, follower: Follower
) -> None:
    with Publisher("items", config=config, participant=participant) as publisher:
        publisher.publish_many([b"x"] * 10)
        publisher.flush(10.0)
        end = reached(follower, Position({publisher.writer: 1}), 20.0)
        assert len(ids_between(follower, START, end)) == 10
        follower.commit(end)


def test_a_port_that_is_taken_is_an_error_that_says_so(
    config: Config, participant: Participant, nodes: list[Node]
) -> None:
    taken = int(nodes[0]._core.serving.address.rpartition(":")[2])  # type: ignore[union-attr]
    other = replace(config, node=replace(config.node, flight_port=taken))
    with pytest.raises(DomainError, match=r"listens there: stop it, or set node\.flight_port to"):
        Node("items", None, name="late", config=other, participant=participant)


def test_says_that_nobody_serves(config: Config) -> None:
    follower = Follower("items", "spark", config)
    try:
        with pytest.raises(DomainError, match="start 'evenflow balancer'"):
            follower.wait_until_served()
    finally:
        follower.close()


def test_two_queries_cannot_have_one_name(config: Config, follower: Follower) -> None:
    second = Follower("items", "spark", config)
    try:
        with pytest.raises(DomainError, match="choose another name"):
            second.check_alone()
    finally:
        second.close()


@pytest.mark.usefixtures("balancer")
def test_of_two_queries_with_one_name_that_start_at_once_one_stops(config: Config) -> None:
    followers = [Follower("items", "spark", config) for _ in range(2)]
    try:
        for follower in followers:
            follower.register(START)
        # The one that began later goes on.
        with pytest.raises(DomainError, match="has taken this name over: choose another name"):
            reached(followers[0], Position({1: 1}), 20.0)
        with pytest.raises(DomainError, match="has taken this name over"):
            followers[0].commit(Position({1: 1}))
        followers[1].commit(Position({1: 1}))
    finally:
        for follower in followers:
            follower.close()


def test_what_two_queries_read_is_kept_until_both_have_committed(
    config: Config,
    follower: Follower,
    published: tuple[Publisher, Position],
    eventually: Eventually,
) -> None:
    publisher, end = published
    other = Follower("items", "other", config)
    try:
        other.wait_until_served()
        other.register(START)
        eventually(
            lambda: publisher._core.consumers.names() == ("other", "spark"), "both are registered"
        )
        follower.commit(end)
        assert sorted(ids_between(other, START, end)) == list(range(100))
        assert publisher.stats.uncommitted == 100
        other.commit(end)
        eventually(lambda: publisher.stats.uncommitted == 0, "all is forgotten")
        # A query that ended stays registered: what comes now is kept for it.
    finally:
        other.commit(Position({writer: epoch + 1_000 for writer, epoch in end.items()}))
        other.close()


def test_a_consumer_that_will_not_come_back_is_forgotten(
    config: Config,
    published: tuple[Publisher, Position],
    follower: Follower,
    eventually: Eventually,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    publisher, end = published
    file = tmp_path / "evenflow.toml"
    file.write_text(config.as_toml())
    with closing(Follower("items", "other", config)) as other:
        other.register(START)
        eventually(
            lambda: publisher._core.consumers.names() == ("other", "spark"), "both are registered"
        )
        assert main(["consumers", "forget", "other", "--config", str(file)]) == 1
        assert "is running" in capsys.readouterr().err
    follower.commit(end)
    assert main(["consumers", "--json", "--config", str(file)]) == 0
    listed = json.loads(capsys.readouterr().out)["consumers"]
    assert [(row["consumer"], row["running"]) for row in listed] == [
        ("other", False),
        ("spark", True),
    ]
    assert publisher.stats.uncommitted == 100
    assert main(["consumers", "forget", "other", "--config", str(file)]) == 0
    eventually(lambda: publisher.stats.uncommitted == 0, "nothing is kept for it any more")
    forget = ["consumers", "forget", "other", "--config", str(file)]
    eventually(lambda: main(forget) == 2, "the nodes have forgotten it")
    assert "unknown consumer" in capsys.readouterr().err


def test_an_application_and_a_served_topic_do_not_go_together(config: Config) -> None:
    with pytest.raises(ConfigError, match="served"):
        Node("items", len, config=config)
    plain = Config.load(None, {"domain.id": config.domain.id, "topics": {"items": {}}})
    with pytest.raises(ConfigError, match="served"):
        Node("items", None, config=plain)


def test_the_configuration_written_for_other_processes_is_the_same(
    config: Config, tmp_path: Path
) -> None:
    file = tmp_path / "evenflow.toml"
    file.write_text(config.as_toml())
    assert Config.load(file).topic("items").served
