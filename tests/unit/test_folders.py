"""Which folders are synced when one is made: those in which there is a new name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenflow import folders
from evenflow.folders import make_folder
from evenflow.slices.ending.disk import StateFolder
from evenflow.slices.outbox.files import OutboxFolder


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every file and folder that is synced."""
    found: list[Path] = []
    real = os.fsync

    def sync(file: int) -> None:
        found.append(Path(f"/proc/self/fd/{file}").readlink())
        real(file)

    monkeypatch.setattr(os, "fsync", sync)
    return found


def test_the_names_of_all_that_were_made_last(tmp_path: Path, synced: list[Path]) -> None:
    make_folder(tmp_path / "a" / "b" / "c")
    assert set(synced) == {tmp_path / "a" / "b", tmp_path / "a", tmp_path}
    synced.clear()
    make_folder(tmp_path / "a" / "b" / "c")
    assert synced == [tmp_path / "a" / "b"], "whoever made it may have died before"


def test_one_that_cannot_be_listed_is_left_to_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(folders, "sync_folder", refuse)
    make_folder(tmp_path / "a")
    assert (tmp_path / "a").is_dir()


def test_an_outbox_and_the_state_of_a_balancer_are_found_after_a_crash(
    tmp_path: Path, synced: list[Path]
) -> None:
    OutboxFolder(tmp_path / "cars" / "outbox").close()
    assert set(synced) >= {tmp_path, tmp_path / "cars"}
    synced.clear()
    assert StateFolder(tmp_path / "state" / "domain-0").is_writable()
    assert set(synced) >= {tmp_path, tmp_path / "state"}
