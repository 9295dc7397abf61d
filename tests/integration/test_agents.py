"""Agent entities beside stock DDS programs that know their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.domain.agents import entities
from evenflow.domain.agents.declaration import Declaration, DeclaredField
from evenflow.domain.agents.entities import AgentEntities
from evenflow.domain.cyclone import Participant
from evenflow.errors import ClosedError, TypeRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.config import DomainConfig
    from evenflow.domain.agents.entities import Arrival

pytestmark = pytest.mark.domain

READING = Declaration(
    "plant::Reading",
    (
        DeclaredField("ok", "bool"),
        DeclaredField("celsius", "f64"),
        DeclaredField("place", "text", 40),
        DeclaredField("count", "i16"),
        DeclaredField("note", "text", 20),
        DeclaredField("big", "u64"),
    ),
)
STOCK = """
    import sys, time
    from dataclasses import dataclass
    from cyclonedds.core import Policy, Qos
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.types import bounded_str, float64, int16, uint64
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from evenflow.config import DomainConfig
    from evenflow.domain.settings import cyclone_xml

    @dataclass
    class Reading(IdlStruct, typename="plant.Reading"):
        ok: bool
        celsius: float64
        place: str
        count: int16
        note: bounded_str[20]
        big: uint64

    config = DomainConfig(id=int(sys.argv[1]))
    domain = Domain(config.id, cyclone_xml(config))
    participant = DomainParticipant(config.id)
    topic = Topic(participant, "readings", Reading)
    reliable = Qos(Policy.Reliability.Reliable(1_000_000_000), Policy.History.KeepAll)
"""
READER = (
    STOCK
    + """
    reader = DataReader(participant, topic, reliable)
    print("ready", flush=True)
    while True:
        for sample in reader.take(100):
            print(sample, flush=True)
        time.sleep(0.01)
"""
)
WRITER = (
    STOCK
    + """
    writer = DataWriter(participant, topic, reliable)
    number = 0
    while True:
        writer.write(Reading(True, 1.5, "north", -3, "é", 2**64 - 1 - number))
        number += 1
        time.sleep(0.02)
"""
)


@pytest.fixture
def agents(domain_config: DomainConfig) -> Iterator[AgentEntities]:
    with Participant(domain_config) as participant, AgentEntities(participant) as agents:
        yield agents


def test_a_stock_reader_that_knows_the_type_reads_what_an_agent_writes(
    agents: AgentEntities, python: Callable[..., object], domain_id: int,
    eventually: Callable[..., None],
) -> None:  # fmt: skip
    stock = python(READER, domain_id)
    writer = agents.writer("readings", READING, reliable=True)
    eventually(writer.matched, "the stock reader is there")
    assert writer.write([True, 21.5, "north", -3, "é", 2**64 - 1])
    assert stock.stdout.readline() == "ready\n"  # type: ignore[attr-defined]
    said = stock.stdout.readline()  # type: ignore[attr-defined]
    assert said.startswith("Reading(ok=True, celsius=21.5, place='north', count=-3, note='é', big=")
    assert said.endswith("=18446744073709551615)\n")


def test_an_agent_reads_what_a_stock_writer_writes(
    agents: AgentEntities, python: Callable[..., object], domain_id: int,
    eventually: Callable[..., None],
) -> None:  # fmt: skip
    reader = agents.reader("readings", READING, reliable=True)
    other = agents.reader("others", READING, reliable=False)
    arrivals: list[Arrival] = []
    python(WRITER, domain_id)

    def take() -> bool:
        for one in agents.wait(0.1):
            assert one is reader
            arrivals.extend(one.take())
        return len(arrivals) >= 3

    eventually(take, "three readings")
    assert arrivals[0].values[:5] == (True, 1.5, "north", -3, "é")
    bigs = [one.values[5] for one in arrivals]
    assert bigs == sorted(bigs, reverse=True)
    assert len({one.writer for one in arrivals}) == 1
    assert other.take() == []


def test_a_type_declared_otherwise_is_refused_until_nobody_uses_the_first(
    agents: AgentEntities,
) -> None:
    other = Declaration("plant::Reading", (DeclaredField("celsius", "f32"),))
    first = agents.writer("readings", READING, reliable=True)
    with pytest.raises(TypeRefused, match=r"declared otherwise: plant::Reading \{bool ok, f64"):
        agents.reader("elsewhere", other, reliable=True)
    with pytest.raises(TypeRefused, match="in use with another type"):
        agents.writer("readings", Declaration("Other", other.fields), reliable=True)
    with pytest.raises(TypeRefused, match="taken"):
        agents.writer("evenflow/beats", READING, reliable=True)
    assert agents.counts == (1, 0, 1)
    first.close()
    assert agents.counts == (0, 0, 0)
    agents.reader("elsewhere", other, reliable=True)
    assert agents.counts == (0, 1, 1)


@pytest.mark.parametrize("word", ["struct", "None", "self", "serialize", "mro", "string", "x" * 64])
def test_words_of_python_and_idl_are_names_like_others(agents: AgentEntities, word: str) -> None:
    fields = (DeclaredField(word, "u8"), DeclaredField("other", "text", 4))
    writer = agents.writer(f"of-{word}", Declaration(f"m::{word}", fields), reliable=True)
    assert writer.write([1, "a"])


def test_each_of_many_readers_is_named_when_it_has_something(
    agents: AgentEntities, eventually: Callable[..., None]
) -> None:
    readers = [agents.reader(f"t{number}", READING, reliable=True) for number in range(300)]
    writers = [agents.writer(f"t{number}", READING, reliable=True) for number in range(300)]
    eventually(lambda: all(writer.matched() for writer in writers), "all are matched")
    for number, writer in enumerate(writers):
        writer.write([False, 0.0, "", number, "", 0])
    taken: dict[int, list[int]] = {}

    def take() -> bool:
        for reader in agents.wait(0.1):
            taken.setdefault(reader.number, []).extend(one.values[3] for one in reader.take())  # type: ignore[misc]
        return len(taken) == len(readers)

    eventually(take, "every reader got its own")
    assert taken == {reader.number: [number] for number, reader in enumerate(readers)}
    assert agents.wait(0.0) == []


def test_closing_ends_the_wait_and_the_entities(domain_config: DomainConfig) -> None:
    with Participant(domain_config) as participant:
        agents = AgentEntities(participant)
        writer = agents.writer("readings", READING, reliable=False)
        reader = agents.reader("readings", READING, reliable=False)
        agents.wake()
        assert agents.wait(60.0) == []
        agents.close()
        assert agents.counts == (0, 0, 0)
        assert reader.take() == []
        with pytest.raises(ClosedError):
            writer.write([False, 0.0, "", 0, "", 0])
        with pytest.raises(ClosedError):
            agents.writer("readings", READING, reliable=False)


def test_a_reader_that_is_closed_while_it_is_read_has_nothing(
    agents: AgentEntities, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices leave while their samples come: one thread drops what another reads."""
    reader = agents.reader("readings", READING, reliable=True)
    take = entities.ddspy_take

    def close_first(*args: int) -> object:
        reader.close()
        return take(*args)

    monkeypatch.setattr(entities, "ddspy_take", close_first)
    assert reader.take() == []
