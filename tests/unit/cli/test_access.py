"""``evenflow keys`` and ``evenflow token``, as an operator uses them."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from pathlib import Path

import pytest

from evenflow.access.keys import public_key
from evenflow.access.register import Issued, note
from evenflow.access.revocation import Revocations
from evenflow.access.tokens import Tokens
from evenflow.cli import main
from evenflow.errors import AccessDenied


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["keys", "init"]) == 0
    return tmp_path / "evenflow-keys"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_a_token_is_issued_listed_and_revoked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = printed(capsys, "token", "issue", "car-*", "--publish", "items", "--expires", "2d")
    door = Tokens(public_key(folder), Revocations(folder))
    grant = door.check(token.strip(), now=time.time())
    assert grant.subject == "car-*"
    assert grant.may_publish("items")
    assert 2 * 86_400 - 10 < grant.expires - 60 - time.time() <= 2 * 86_400
    (row,) = json.loads(printed(capsys, "token", "list", "--json"))
    assert (row["id"], row["subject"], row["state"]) == (grant.id, "car-*", "valid")
    assert token.strip() not in (folder / "tokens.jsonl").read_text(), "the book has no tokens"
    assert stat.S_IMODE((folder / "tokens.jsonl").stat().st_mode) == 0o600
    assert "is revoked" in printed(capsys, "token", "revoke", grant.id, "--no-domain")
    (row,) = json.loads(printed(capsys, "token", "list", "--json"))
    assert row["state"] == "revoked"
    with pytest.raises(AccessDenied, match="revoked"):
        Tokens(public_key(folder), Revocations(folder)).check(token.strip(), now=time.time())


def test_a_token_is_put_into_a_file_that_its_owner_alone_can_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = os.umask(0)
    try:
        assert printed(capsys, "token", "issue", "car-7", "--out", "car-7.token") == "car-7.token\n"
    finally:
        os.umask(before)
    file = Path("car-7.token")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text()
    door = Tokens(public_key(folder), Revocations(folder))
    assert door.check(token.strip(), now=time.time()).subject == "car-7"
    assert main(["token", "issue", "car-7", "--out", "car-7.token"]) == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert file.read_text() == token
    assert len(json.loads(printed(capsys, "token", "list", "--json"))) == 1


def test_all_tokens_of_a_subject_are_revoked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "a", "b"):
        printed(capsys, "token", "issue", name)
    printed(capsys, "token", "revoke", "a", "--no-domain")
    rows = json.loads(printed(capsys, "token", "list", "--json"))
    assert [row["state"] for row in rows] == ["revoked", "revoked", "valid"]
    assert "subject" in printed(capsys, "token", "list")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["keys", "init"], "not overwritten"),
        (["token", "issue"], "say whose"),
        (["token", "issue", "a b"], "must be a name"),
        (["token", "issue", "a", "--out", "/dev/null/t"], "cannot be written"),
        (["token", "revoke", "a", "--out", "t"], "--out is for a new token"),
        (["token", "issue", "a", "--expires", "soon"], "30d"),
        (["token", "revoke", "nobody", "--no-domain"], "unknown token"),
        (["token", "list", "--config", "absent.toml"], "absent.toml"),
    ],
)
def test_mistakes_are_told_in_words(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(arguments) != 0
    assert told in capsys.readouterr().err


def test_without_keys_it_says_how_to_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["token", "issue", "a"]) != 0
    assert "evenflow keys init makes it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("age", "state", "told"), [(-600.0, "valid", 0), (20.0, "expired", 1), (61.0, "expired", 0)]
)
def test_of_an_expired_token_it_is_said_how_long_doors_still_accept_it(
    folder: Path, capsys: pytest.CaptureFixture[str], age: float, state: str, told: int
) -> None:
    """They do, because clocks may differ (``access.clock_skew_s``)."""
    expires = time.time() - age
    note(folder, Issued("9f2c81d04be3a675", "car-*", ("items",), True, False, 0.0, expires))
    listing = printed(capsys, "token", "list")
    assert len(re.findall(r"^9f2c81d04be3a675 .* (?:40|[23]\d) s more$", listing, re.M)) == told
    (row,) = json.loads(printed(capsys, "token", "list", "--json"))
    assert (row["state"], row["accepted_until"]) == (state, expires + 60.0)
