"""A client's address: it may change, it must prove itself, and nobody is flooded meanwhile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.mobile.link.paths import CREDIT, LATE_S, PROOF_S, Paths

HOME, AWAY, VICTIM = ("10.0.0.1", 1), ("10.0.0.2", 2), ("10.0.0.3", 3)


def test_a_client_moves_and_proves_it() -> None:
    paths = Paths(HOME)
    number = paths.on_packet(AWAY, 100, 1.0)
    assert number
    assert paths.target == AWAY
    assert not paths.proven
    assert paths.on_proof(number, 1.1)
    assert paths.proven
    assert not paths.on_proof(number, 1.2), "it moved once"


def test_any_number_of_moves() -> None:
    paths = Paths(HOME)
    for move in range(1, 1_000):
        number = paths.on_packet(("10.0.0.1", move), 100, float(move))
        if number:
            assert paths.on_proof(number, move + 0.1)
        assert paths.target == ("10.0.0.1", move)


def test_a_packet_that_comes_late_moves_nothing_back() -> None:
    paths = Paths(HOME)
    number = paths.on_packet(AWAY, 100, 1.0)
    assert not paths.on_packet(HOME, 100, 1.01)
    assert paths.target == AWAY
    paths.on_proof(number, 1.1)
    assert not paths.on_packet(HOME, 100, 1.1 + LATE_S / 2)
    assert paths.target == AWAY
    assert paths.on_packet(HOME, 100, 1.1 + LATE_S), "it may go back later"


def test_an_address_without_proof_is_left_again() -> None:
    paths = Paths(HOME)
    number = paths.on_packet(VICTIM, 100, 1.0)
    assert not paths.may_send(10, 1.0 + PROOF_S) or paths.target == HOME
    assert paths.target == HOME
    assert not paths.on_proof(number, 1.0 + PROOF_S)
    assert paths.target == HOME


def test_an_old_proof_proves_nothing_new() -> None:
    paths = Paths(HOME)
    first = paths.on_packet(AWAY, 100, 1.0)
    second = paths.on_packet(VICTIM, 100, 1.1)
    assert not paths.on_proof(first, 1.2)
    assert not paths.proven
    assert paths.on_proof(second, 1.3)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["packet", "send", "proof"]),
            st.sampled_from([HOME, AWAY, VICTIM]),
            st.integers(1, 1_500),
            st.floats(0, 1.0),
        ),
        max_size=60,
    )
)
def test_nobody_who_has_not_proved_himself_is_sent_more_than_he_may_be(
    steps: list[tuple[str, tuple[str, int], int, float]],
) -> None:
    """Of all datagrams to an address: at most three times its own, unless it was ever proven."""
    paths, now, asked = Paths(HOME), 0.0, 0
    came: dict[tuple[str, int], int] = {}
    sent: dict[tuple[str, int], int] = {}
    proven = {HOME}
    for kind, address, size, wait in steps:
        now += wait
        if kind == "packet":
            came[address] = came.get(address, 0) + size
            asked = paths.on_packet(address, size, now) or asked
        elif kind == "proof":
            if paths.on_proof(asked, now):
                proven.add(paths.target)
        elif paths.may_send(size, now):
            sent[paths.target] = sent.get(paths.target, 0) + size
    for address, total in sent.items():
        assert address in proven or total <= CREDIT * came[address]
