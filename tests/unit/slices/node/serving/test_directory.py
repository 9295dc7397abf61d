from __future__ import annotations

from evenflow.model.messages import MapPage, Progress
from evenflow.slices.node.serving.directory import Directory


def progress(node: str) -> Progress:
    return Progress("items", node, f"grpc://{node}", (), (), ())


def test_knows_nothing_at_first() -> None:
    assert Directory().owners([0, 1]) == {}
    assert Directory().addresses() == []


def test_gives_slices_by_the_address_of_their_owner() -> None:
    directory = Directory()
    directory.handle(MapPage("items", 0, 1, 5, 4, ("a", "b"), (1, 2, 1, 0), (1, 1, 1, 1)))
    directory.handle(progress("a"))
    assert directory.owners(range(9)) == {"grpc://a": [0, 2]}
    directory.handle(progress("b"))
    assert directory.owners([1, 2]) == {"grpc://b": [1], "grpc://a": [2]}
    assert directory.addresses() == ["grpc://a", "grpc://b"]
    directory.on_node_gone("a")
    assert directory.owners([1, 2]) == {"grpc://b": [1]}


def test_an_older_map_is_ignored() -> None:
    directory = Directory()
    directory.handle(progress("a"))
    directory.handle(MapPage("items", 0, 1, 5, 1, ("a",), (1,), (1,)))
    directory.handle(MapPage("items", 0, 1, 4, 1, (), (0,), (0,)))
    assert directory.owners([0]) == {"grpc://a": [0]}
