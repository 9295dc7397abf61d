from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from evenflow.errors import UnknownName
from evenflow.registry import Registry, offered_in


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Others offer two things; the groups that were looked up."""
    points = [EntryPoint("theirs", "math:pi", "evenflow.tests")]
    points.append(EntryPoint("count", "math:e", "evenflow.tests"))
    groups: list[str] = []

    def entry_points(*, group: str) -> list[EntryPoint]:
        groups.append(group)
        return [point for point in points if point.group == group]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    offered_in.cache_clear()
    yield groups
    offered_in.cache_clear()


def test_names_keep_their_order() -> None:
    known = Registry("algorithm", {"weighted": 1.0, "count": 2.0})
    assert known.get("count") == 2.0
    assert list(known) == ["weighted", "count"]
    assert len(known) == 2
    assert "count" in known
    assert "cuont" not in known


def test_an_unknown_name_lists_the_known_ones() -> None:
    known = Registry("algorithm", {"weighted": 1.0, "count": 2.0})
    with pytest.raises(UnknownName) as caught:
        known.get("cuont")
    assert caught.value.kind == "algorithm"
    assert caught.value.known == ("weighted", "count")
    assert str(caught.value) == (
        "unknown algorithm 'cuont'; did you mean 'count'? (known: weighted, count)"
    )


def test_an_empty_registry_says_none() -> None:
    empty: Registry[int] = Registry("algorithm", {})
    with pytest.raises(UnknownName, match=r"known: none"):
        empty.get("x")


@pytest.mark.usefixtures("asked")
def test_others_offer_theirs_but_cannot_replace_ours() -> None:
    known = Registry("algorithm", {"count": 2.0}, group="evenflow.tests")
    assert known.get("theirs") == pytest.approx(3.14159, abs=1e-5)
    assert known.get("count") == 2.0
    assert known.names() == ("count", "theirs")


def test_what_others_offer_is_looked_up_once(asked: list[str]) -> None:
    for entries in ({"count": 2.0}, {"weighted": 1.0}):
        known = Registry("algorithm", entries, group="evenflow.tests")
        assert "theirs" in known
        assert known.get("theirs") == pytest.approx(3.14159, abs=1e-5)
    assert asked == ["evenflow.tests"]
