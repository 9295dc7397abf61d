"""The DDS type of the experiments on plain topics.

Annotations of a DDS type are looked at when it is used, so they are not deferred here.
"""

from dataclasses import dataclass

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import key
from cyclonedds.idl.types import int64


@dataclass
class Position(IdlStruct, typename="evenflow_experiments::Position"):
    """Where a vehicle is."""

    vehicle: str
    key("vehicle")
    number: int64
    due: int64
    """When it was to be written, in nanoseconds since 1970."""
    latitude: float
    longitude: float
    status: str
