"""What is left to the parent of a forked child: the child says nothing, and the parent goes on."""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.children import said_by_child
from tests.unit.slices.subscriber.test_reception import Numbers, Place

from evenflow.config import Config
from evenflow.loops.thread import LoopThread
from evenflow.mobile.client.disk import ClientDisk
from evenflow.mobile.messenger.messenger import Messenger
from evenflow.model.ids import NOWHERE, Position
from evenflow.overlay.client.blocking import Client
from evenflow.slices.consumer import follower
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.consumer.following import Following

BELONGS = f"belongs to process {os.getpid()}, from which this one was forked"


class Domain:
    """A participant that hears nothing, and all that it opens."""

    def __init__(self, _config: object = None) -> None:
        self.process = os.getpid()
        self.said: list[Any] = []
        self._woken = threading.Event()

    def waiter(self, *_: object) -> Domain:
        return self

    reader = writer = waiter

    def attach(self, _: object) -> None: ...

    def take(self) -> list[Any]:
        return []

    def wait(self, seconds: float) -> bool:
        return self._woken.wait(min(seconds, 0.01))

    def wake(self) -> None:
        assert os.getpid() == self.process
        self._woken.set()

    def write(self, message: Any) -> bool:
        assert os.getpid() == self.process, "others take it for the parent's word"
        self.said.append(message)
        return True

    def wait_acked(self, _: float) -> bool:
        assert os.getpid() == self.process
        return True

    def __enter__(self) -> Domain:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        assert os.getpid() == self.process


@pytest.fixture
def config() -> Config:
    return Config.load(None, {"topics": {"fleet": {"served": True}}})


def test_a_consumer_commits_nothing_in_a_child_that_ends_or_goes_on(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "Participant", Domain)
    monkeypatch.setattr(Follower, "enter", lambda *_, **__: None)
    monkeypatch.setattr(Follower, "_wait_for", lambda *_: True)
    one = Follower("fleet", "audit", config)
    domain: Any = one.participant
    loop = Following(one, Position({7: 3}), 10, 0.0)
    registered = len(domain.said)
    monkeypatch.undo()
    with one._changed:  # the thread was just at work
        assert said_by_child(loop._closing) == "done", "what Python calls at the exit"
    assert said_by_child(loop.close) == "done"
    for work in (loop.commit, lambda: next(loop), lambda: one.shares(NOWHERE, NOWHERE)):
        assert f"consumer 'audit' of topic 'fleet' {BELONGS}" in said_by_child(work)
    loop.close()
    assert len(domain.said) > registered, "the parent says where it ends"


def test_what_a_subscriber_receives_is_given_by_the_parent_alone() -> None:
    place = Place()
    numbers = Numbers(place, 1, 2)
    with numbers._arrived:
        assert BELONGS in said_by_child(lambda: next(numbers))
        assert said_by_child(numbers.close) == "done"
    assert [next(numbers), next(numbers)] == [1, 2]
    numbers.close()


async def answer() -> int:
    return 42


def test_a_loop_in_a_thread_does_nothing_in_a_child() -> None:
    loop = LoopThread("loop", "client of node 'car-7'")
    with loop._lock:
        assert f"client of node 'car-7' {BELONGS}" in said_by_child(lambda: loop.do(answer()))
        assert said_by_child(loop.end) == "done"
    assert loop.do(answer()) == 42
    loop.end()


def test_a_client_of_the_store_may_be_left_in_a_child() -> None:
    with Client(["127.0.0.1:1"]) as client:
        messages = client.read("meters")
        assert said_by_child(client.close) == "done"
        assert f"store client {BELONGS}" in said_by_child(lambda: next(messages))


def test_a_messenger_says_nothing_in_a_child(config: Config) -> None:
    domain: Any = Domain()
    messenger = Messenger("office", config=config, participant=domain)
    with messenger._lock:
        told = said_by_child(lambda: messenger.send(b"x", to="car-7"))
        assert f"messenger 'office' {BELONGS}" in told
        assert said_by_child(messenger.close) == "done"
    messenger.close()


def test_a_mobile_outbox_is_not_locked_by_a_child_that_outlives_its_process(tmp_path: Path) -> None:
    disk = ClientDisk(tmp_path, "car-7")
    here, there = socket.socketpair()
    child = os.fork()
    if not child:
        here.close()
        there.send(b"!")
        there.recv(1)  # until the parent closes its end
        os._exit(0)
    there.close()
    here.recv(1)
    disk.close()  # as the system does when a process is killed
    with (tmp_path / "lock").open() as next_one, here:
        fcntl.flock(next_one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.waitpid(child, 0)
