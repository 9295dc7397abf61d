from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from evenflow.errors import UnknownName
from evenflow.registry import Registry


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("theirs", "math:pi", "evenflow.tests")]
    points.append(EntryPoint("count", "math:e", "evenflow.tests"))

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [point for point in points if point.group == group]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)


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


@pytest.mark.usefixtures("offered")
def test_others_offer_theirs_but_cannot_replace_ours() -> None:
    known = Registry("algorithm", {"count": 2.0}, group="evenflow.tests")
    assert known.get("theirs") == pytest.approx(3.14159, abs=1e-5)
    assert known.get("count") == 2.0
    assert known.names() == ("count", "theirs")
