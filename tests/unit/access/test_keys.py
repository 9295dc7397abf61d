from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from cryptography import x509

from evenflow.access.keys import init_keys, public_key, renew_server, signing_key
from evenflow.access.names import SERVER_NAME
from evenflow.access.tokens import Allowed, Tokens, issue
from evenflow.errors import StorageError, UsageError


def test_keys_are_their_owners_only(tmp_path: Path) -> None:
    made = init_keys(tmp_path / "keys")
    assert sorted(path.name for path in made) == [
        "ca.key", "ca.pem", "server.key", "server.pem", "signing.key", "signing.pub",
    ]  # fmt: skip
    for path in made:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_keys_are_not_overwritten(tmp_path: Path) -> None:
    init_keys(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UsageError, match=r"has .*signing\.key.* already"):
        init_keys(tmp_path)
    (tmp_path / "signing.key").unlink()
    with pytest.raises(UsageError, match="not overwritten"):
        init_keys(tmp_path)
    assert all((tmp_path / name).read_bytes() == data
               for name, data in before.items() if name != "signing.key")  # fmt: skip


def test_keys_that_found_no_room_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def sync(file: int) -> None:
        synced.append(file)
        if len(synced) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(StorageError, match=r"ca\.key: cannot be written: No space left"):
        init_keys(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(init_keys(tmp_path)) == 6


def test_who_makes_keys_at_the_same_time_keeps_those_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "ca.key"
    monkeypatch.setattr(os, "fsync", lambda _file: theirs.write_text("theirs"))
    with pytest.raises(StorageError, match=r"ca\.key: cannot be written: File exists"):
        init_keys(tmp_path)
    assert list(tmp_path.iterdir()) == [theirs]
    assert theirs.read_text() == "theirs"


def test_what_one_key_signs_the_other_checks(tmp_path: Path) -> None:
    init_keys(tmp_path)
    token = issue(
        signing_key(tmp_path), subject="a", allowed=Allowed(), issued=1, expires=9, id="0" * 16
    )
    assert Tokens(public_key(tmp_path)).check(token, now=5).subject == "a"


def test_the_doors_certificate_is_of_the_ca_before_and_after_it_is_renewed(tmp_path: Path) -> None:
    init_keys(tmp_path)
    ca = x509.load_pem_x509_certificate((tmp_path / "ca.pem").read_bytes())
    serials = set()
    for _ in range(2):
        server = x509.load_pem_x509_certificate((tmp_path / "server.pem").read_bytes())
        server.verify_directly_issued_by(ca)
        names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == [SERVER_NAME]
        serials.add(server.serial_number)
        renewed = renew_server(tmp_path)
    assert len(serials) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in renewed} == {0o600}


def test_keys_that_are_not_there_or_are_none(tmp_path: Path) -> None:
    for load in (signing_key, public_key):
        with pytest.raises(StorageError, match="evenflow keys init makes it"):
            load(tmp_path)
    (tmp_path / "signing.key").write_text("no key")
    (tmp_path / "signing.pub").write_text("no key")
    for load in (signing_key, public_key):
        with pytest.raises(StorageError, match="is no key"):
            load(tmp_path)


@pytest.mark.parametrize("name", ["ca.key", "ca.pem"])
def test_a_ca_that_is_none_renews_nothing(tmp_path: Path, name: str) -> None:
    init_keys(tmp_path)
    (tmp_path / name).write_text("nothing")
    with pytest.raises(StorageError, match=f"{name}: is no"):
        renew_server(tmp_path)
