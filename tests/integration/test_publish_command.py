"""``evenflow publish`` as a process, with a real node and balancer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from evenflow.config import BalancerConfig, Config, DomainConfig, TopicConfig
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenflow.model.batch import Batch

pytestmark = [pytest.mark.domain, pytest.mark.processes]

SLICES = 8


class Processed:
    """The application: remembers every item."""

    def __init__(self) -> None:
        self.payloads: Counter[bytes] = Counter()
        self.senders: Counter[str] = Counter()
        self.slices: dict[bytes, int] = {}
        self.any = threading.Event()

    def on_new_data(self, batch: Batch) -> None:
        for item in batch:
            self.payloads[item.payload] += 1
            self.senders[item.sender] += 1
            self.slices[item.payload] = batch.slice
        self.any.set()


@pytest.fixture
def processed(domain_config: DomainConfig) -> Iterator[Processed]:
    """A cluster of one node that processes the topic."""
    config = Config(
        domain=domain_config,
        topics=(TopicConfig(name="items", slices=SLICES),),
        balancer=BalancerConfig(settle_s=0.1),
    )
    application = Processed()
    with Balancer(config=config), Node("items", application.on_new_data, config=config):
        yield application


def start(domain: DomainConfig, *arguments: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "evenflow", "publish", "--domain", str(domain.id),
        "--set", f"topics.items.slices={SLICES}", "--json", *arguments,
    ]  # fmt: skip
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)


def test_lines(processed: Processed, domain_config: DomainConfig) -> None:
    command = start(domain_config, "--sender", "log", "--assignment", "random")
    out, err = command.communicate(b"one\ntwo\n\nthree", timeout=60)
    assert command.returncode == 0, err
    summary = json.loads(out)
    assert (summary["published"], summary["committed"]) == (4, 4)
    assert processed.payloads == Counter([b"one", b"two", b"", b"three"])
    assert processed.senders == {"log": 4}


def test_json_lines_are_assigned_by_key_and_faults_are_counted(
    processed: Processed, domain_config: DomainConfig, tmp_path: Path
) -> None:
    file = tmp_path / "fixes.jsonl"
    file.write_text('{"car":11}\nnonsense\n{"van":1}\n{"car":12}\n')
    command = start(domain_config, "--json-lines", "--assignment", "modulo:car", str(file))
    out, err = command.communicate(timeout=60)
    assert command.returncode == 1
    assert b"not JSON" in err
    assert b"no field 'car'" in err
    assert b"item 2 of" in err  # of those that could be read, not of all attempts
    summary = json.loads(out)
    assert (summary["published"], summary["committed"], summary["refused"]) == (2, 2, 2)
    assert processed.slices == {b'{"car":11}': 3, b'{"car":12}': 4}


def test_whole_files(processed: Processed, domain_config: DomainConfig, tmp_path: Path) -> None:
    paths = []
    for name in ("a.jpg", "b.jpg"):
        file = tmp_path / name
        file.write_bytes(name.encode() + bytes(100_000))
        paths.append(str(file))
    command = start(domain_config, "--whole", *paths)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 0, err
    assert {payload[:5] for payload in processed.payloads} == {b"a.jpg", b"b.jpg"}


def test_generated_items(processed: Processed, domain_config: DomainConfig) -> None:
    command = start(domain_config, "--size", "50", "--count", "20000", "--senders", "200")
    out, err = command.communicate(timeout=60)
    assert command.returncode == 0, err
    assert json.loads(out)["committed"] == 20_000
    assert sum(processed.payloads.values()) == 20_000
    assert processed.senders == {f"sender-{n}": 100 for n in range(200)}


def test_an_interrupt_ends_the_wait_for_commits_that_do_not_come(
    domain_config: DomainConfig,
) -> None:
    command = start(domain_config, "--size", "50", "--count", "5", "--within", "1h")
    assert command.stderr is not None
    assert b"5 to go" in command.stderr.readline()  # nobody is there to commit
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=30)
    assert command.returncode == 1
    assert json.loads(out)["uncommitted"] == 5
    assert b"uncommitted" in err


def test_an_interrupt_ends_it_after_the_commits(
    processed: Processed, domain_config: DomainConfig
) -> None:
    command = start(domain_config, "--size", "50", "--rate", "500")
    assert processed.any.wait(60)
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert command.returncode == 0, err
    summary = json.loads(out)
    assert summary["published"] == summary["committed"] == sum(processed.payloads.values())


def test_without_a_node_it_says_what_stayed_uncommitted(domain_config: DomainConfig) -> None:
    command = start(domain_config, "--within", "100ms")
    out, err = command.communicate(b"one\ntwo\n", timeout=60)
    assert command.returncode == 1
    assert b"2 items are uncommitted" in err
    assert b"after 0.0 s" not in err
    assert b"no node reads this topic" in err
    assert json.loads(out)["uncommitted"] == 2


def test_files_and_generated_items_exclude_each_other(domain_config: DomainConfig) -> None:
    command = start(domain_config, "--size", "50", "some.txt")
    _, err = command.communicate(timeout=60)
    assert command.returncode == 2
    assert b"but not both" in err


def test_generated_items_that_nothing_can_keep_are_a_mistake(domain_config: DomainConfig) -> None:
    command = start(domain_config, "--size", "99999999999")
    _, err = command.communicate(timeout=60)
    assert command.returncode == 2
    assert b"does not fit publisher.retention_bytes" in err


def test_a_generated_item_that_is_refused_says_why(domain_config: DomainConfig) -> None:
    command = start(
        domain_config, "--size", "1048570", "--count", "1", "--set",
        "publisher.retention_bytes=1048576",
    )  # fmt: skip
    out, err = command.communicate(timeout=60)
    assert command.returncode == 1
    assert b"does not fit publisher.retention_bytes" in err
    assert json.loads(out)["refused"] == 1
