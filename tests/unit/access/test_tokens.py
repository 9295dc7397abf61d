"""A token opens what the operator signed, until it expires or is revoked, and nothing else."""

from __future__ import annotations

import base64
import json
import random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from evenflow.access.tokens import MOST_TOKEN, Allowed, Tokens, issue, matches
from evenflow.errors import AccessDenied, UsageError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
NOW = 1_800_000_000.0
ID = "0123456789abcdef"


def made(
    subject: str = "car-7",
    *,
    key: Ed25519PrivateKey = KEY,
    issued: float = NOW,
    expires: float = NOW + 100,
    publish: tuple[str, ...] = ("items",),
) -> str:
    return issue(
        key, subject=subject, allowed=Allowed(publish), issued=issued, expires=expires, id=ID
    )


DOOR = Tokens(KEY.public_key(), skew_s=10.0)


def test_a_token_grants_what_was_signed() -> None:
    allowed = Allowed(("items", "meters-*"), receive=False, send=True)
    token = issue(KEY, subject="car-*", allowed=allowed, issued=NOW, expires=NOW + 100, id=ID)
    grant = DOOR.check(token, now=NOW)
    assert (grant.subject, grant.allowed, grant.id) == ("car-*", allowed, ID)
    assert grant.may_publish("items")
    assert grant.may_publish("meters-3")
    assert not grant.may_publish("other")


def test_no_token() -> None:
    with pytest.raises(AccessDenied, match="no token"):
        DOOR.check("", now=NOW)


def test_a_forged_token() -> None:
    with pytest.raises(AccessDenied, match="not signed by this operator"):
        DOOR.check(made(key=OTHER), now=NOW)


def test_a_token_with_other_words_under_the_same_signature() -> None:
    prefix, body, signature = made().split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    claims["sub"] = "*"
    changed = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    with pytest.raises(AccessDenied, match="not signed"):
        DOOR.check(f"{prefix}.{changed}.{signature}", now=NOW)


def test_an_expired_token_and_clocks_that_differ() -> None:
    token = made(expires=NOW + 100)
    assert DOOR.check(token, now=NOW + 109).expires == NOW + 110
    with pytest.raises(AccessDenied, match="expired 2027"):
        DOOR.check(token, now=NOW + 111)


def test_a_token_of_the_future_and_clocks_that_differ() -> None:
    token = made()
    assert DOOR.check(token, now=NOW - 9).id == ID
    with pytest.raises(AccessDenied, match="look at the clocks"):
        DOOR.check(token, now=NOW - 11)


def test_a_revoked_token() -> None:
    revoked: set[str] = set()
    door = Tokens(KEY.public_key(), revoked)
    assert door.check(made(), now=NOW).id == ID
    revoked.add(ID)
    with pytest.raises(AccessDenied, match=f"{ID} of car-7 is revoked"):
        door.check(made(), now=NOW)


@pytest.mark.parametrize(
    ("subject", "name", "covered"),
    [
        ("car-7", "car-7", True),
        ("car-7", "car-8", False),
        ("car-7", "car-77", False),
        ("car-*", "car-7", True),
        ("car-*", "car-", True),
        ("car-*", "bus-7", False),
        ("car-*", "my-car-7", False),
        ("*-7", "car-7", True),
        ("c*r-*", "car-7", True),
        ("car.7", "carx7", False),
        ("*", "anything", True),
        ("*", "a\nb", True),
        ("*", "car-*", False),
    ],
)
def test_a_token_is_for_its_subject(subject: str, name: str, covered: bool) -> None:
    assert DOOR.check(made(subject), now=NOW).covers(name) is covered


@pytest.mark.parametrize("subject", ["", "a b", "a\n", "x" * 256, "a?", "[a]", 'a"'])
def test_a_subject_that_cannot_be(subject: str) -> None:
    with pytest.raises(UsageError, match="must be a name"):
        made(subject)


def test_more_topics_than_a_door_reads_are_not_issued() -> None:
    topics = tuple(f"t{number}" for number in range(101))
    with pytest.raises(UsageError, match="at most 100 topics"):
        issue(KEY, subject="a", allowed=Allowed(topics), issued=NOW, expires=NOW + 9, id=ID)
    token = issue(KEY, subject="a", allowed=Allowed(topics[1:]), issued=NOW, expires=NOW + 9, id=ID)
    assert Tokens(KEY.public_key()).check(token, now=NOW).may_publish("t100")


def test_a_token_must_expire_after_it_is_issued_and_fit() -> None:
    with pytest.raises(UsageError, match="expires after"):
        made(expires=NOW)
    with pytest.raises(UsageError, match="allow fewer topics"):
        made(publish=tuple(f"topic-{number}-{'x' * 200}" for number in range(50)))


@pytest.mark.parametrize(
    "token", ["x", "ef1", "ef1.", "ef1..", "ef1.a", "ef2.e30.e30", "ef1.é.é", "ef1.e30.e30",
              "x" * (MOST_TOKEN + 1), "ef1.====.====", "ef1.e30.\ud800"],
)  # fmt: skip
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(AccessDenied):
        DOOR.check(token, now=NOW)


@given(st.randoms(use_true_random=False))
def test_a_token_that_was_changed_in_any_place_is_refused(rng: random.Random) -> None:
    token = made()
    at = rng.randrange(len(token))
    letter = rng.choice([one for one in map(chr, range(33, 127)) if one != token[at]])
    for changed in (token[:at] + letter + token[at + 1 :], token[:at], token[at + 1 :]):
        with pytest.raises(AccessDenied):
            DOOR.check(changed, now=NOW)


@given(st.text(max_size=200))
def test_any_text_is_refused_in_words(text: str) -> None:
    with pytest.raises(AccessDenied):
        DOOR.check(text, now=NOW)


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_a_pattern_fits_what_its_parts_fit_in_order(pattern: str, name: str) -> None:
    def fits(parts: str, rest: str) -> bool:
        if not parts:
            return not rest
        if parts[0] == "*":
            return any(fits(parts[1:], rest[at:]) for at in range(len(rest) + 1))
        return bool(rest) and rest[0] == parts[0] and fits(parts[1:], rest[1:])

    assert matches(pattern, name) is fits(pattern, name)
