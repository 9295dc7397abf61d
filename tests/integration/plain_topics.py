"""Plain topics for tests: annotations of a DDS type are not deferred."""

from dataclasses import dataclass

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import key
from cyclonedds.idl.types import int64

from evenflow.qos.consistency import Policies
from evenflow.qos.plain import PlainTopic


@dataclass
class Place(IdlStruct, typename="Place"):
    """Where a car is."""

    car: str
    key("car")
    number: int64


KEPT = PlainTopic("kept", Place, Policies(depth=10), durable=True)
DEEP = PlainTopic("deep", Place, Policies(depth=2_000), durable=True)
LIVE = PlainTopic("live", Place)
LIMITED = PlainTopic("limited", Place, Policies(max_samples=50))
TOPICS = {topic.name: topic for topic in (KEPT, DEEP, LIVE, LIMITED)}
