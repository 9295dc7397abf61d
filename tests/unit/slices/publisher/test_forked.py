"""A publisher in a forked child: it says nothing there, and the parent does not notice."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenflow.errors import UsageError
from evenflow.slices.outbox.files import OutboxFolder

from .test_shell import LONG_MS, Domain, opened

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def domain() -> Domain:
    return Domain(readers=1)


def said_by_child(work: Callable[[], object]) -> str:
    """Do something in a forked child; return what it says, an error in words or "done"."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        said = "something else"
        try:
            work()
            said = "done"
        except UsageError as error:
            said = str(error)
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


def test_a_child_is_told_to_open_its_own_and_may_leave(domain: Domain) -> None:
    with opened(domain, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        for work in (lambda: publisher.publish(b"x", id=7), publisher.flush):
            told = said_by_child(work)
            assert f"belongs to process {os.getpid()}" in told
            assert "'spawn'" in told
        assert said_by_child(publisher.close) == "done"
        publisher.publish(b"x", id=1)
        publisher.flush()
        assert domain.ids() == [1]
        assert not domain.closes()


def test_an_outbox_is_not_locked_by_a_child_that_outlives_its_process(tmp_path: Path) -> None:
    folder = OutboxFolder(tmp_path)
    here, there = socket.socketpair()
    child = os.fork()
    if not child:
        here.close()
        there.send(b"!")
        there.recv(1)  # until the parent closes its end
        os._exit(0)
    here.recv(1)
    folder.close()  # as the system does when a process is killed
    with (tmp_path / "lock").open() as next_one, here, there:
        fcntl.flock(next_one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.waitpid(child, 0)
