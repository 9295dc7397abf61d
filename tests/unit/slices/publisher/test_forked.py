"""A publisher in a forked child: it says nothing there, and the parent does not notice."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

import pytest
from tests.unit.children import said_by_child

from evenflow.slices.outbox.files import OutboxFolder

from .test_shell import LONG_MS, Domain, opened


@pytest.fixture
def domain() -> Domain:
    return Domain(readers=1)


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
