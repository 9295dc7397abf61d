"""What a plain topic is, and which it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from evenflow.errors import QosError
from evenflow.qos.consistency import Policies
from evenflow.qos.plain.topic import PlainTopic, Thin, key_fields


@dataclass
class Base:
    """As the binding annotates a type; no DDS is needed to ask for its key."""

    __idl_field_annotations__: ClassVar[dict[str, Any]] = {"car": {"key": True}, "lat": {}}
    car: str = "a"
    lat: float = 0.0


@dataclass
class Derived(Base):
    __idl_field_annotations__: ClassVar[dict[str, Any]] = {"seat": {"key": True}}
    seat: Any = field(default=1)

    def serialize_key(self) -> bytes:
        return f"{self.car}/{self.seat}".encode()


class Keyless:
    pass


def test_key_fields_are_those_of_the_type_and_its_bases():
    assert key_fields(Base) == ("car",)
    assert key_fields(Derived) == ("car", "seat")
    assert key_fields(Keyless) == ()


def test_an_instance_is_its_key():
    topic = PlainTopic("t", Derived)
    assert topic.instance_of(Derived("a", 1.0, 2)) == topic.instance_of(Derived("a", 9.0, 2))
    assert topic.instance_of(Derived("a", 1.0, 2)) != topic.instance_of(Derived("b", 1.0, 2))
    assert topic.instance_of(Derived("a", 1.0, [1])) == b"a/[1]", "a key that is a list"
    assert PlainTopic("t", Keyless).instance_of(Keyless()) == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": ""}, "empty"),
        ({"name": "evenflow/data/items"}, "ours"),
        ({"durable": True}, "give it a depth"),
        ({"durable": True, "reliable": False, "policies": Policies(depth=1)}, "reliable"),
        ({"policies": Policies(depth=9, max_samples=5)}, "does not fit"),
        ({"policies": Policies(deadline_s=1, latency_budget_s=2)}, "latency budget"),
    ],
)
def test_what_does_not_go_together_is_refused_in_words(arguments, words):
    with pytest.raises(QosError, match=words) as refused:
        PlainTopic(**{"name": "t", "type": Base, **arguments})
    assert len(refused.value.problems) == 1


def test_a_separation_must_go_with_the_policies_and_the_topic():
    topic = PlainTopic("t", Base, Policies(deadline_s=1.0))
    assert topic.problems(0.5) == []
    assert len(topic.problems(1.0)) == 1
    alarms = PlainTopic("t", Base, thin=Thin.NEVER)
    assert alarms.problems(0.0) == []
    assert alarms.problems(0.5) == ["the topic is never thinned"]


@pytest.mark.parametrize(
    ("policies", "bounded"),
    [
        (Policies(), False),
        (Policies(depth=5), False),
        (Policies(max_samples=5), True),
        (Policies(max_instances=5), True),
        (Policies(max_samples_per_instance=5), True),
    ],
)
def test_a_reader_can_be_full_when_it_has_a_resource_limit(policies, bounded):
    assert PlainTopic("t", Base, policies).bounded is bounded
