"""Plain topics: the user's own DDS types and policies, in the domain and the process of Evenflow.

========================  ===================================================================
:mod:`~.topic`            what a plain topic is: name, type, policies, who may thin it; pure
:mod:`~.holdings`         what a writer manages and keeps, sample by sample; pure
:mod:`~.standing`         what stays in use, whatever comes and goes; pure
:mod:`~.succession`       one reader takes over from another: nothing lost, nothing twice; pure
:mod:`~.writer`           a writer that counts, and that keeps to its resource limit
:mod:`~.reader`           a reader whose separation can be changed while it reads
========================  ===================================================================

.. code-block:: python

    @dataclass
    class Position(IdlStruct, typename="Position"):
        ambulance: str
        key("ambulance")
        latitude: float
        longitude: float

    POSITIONS = PlainTopic("positions", Position, Policies(depth=100), durable=True)

    with enter(Config.load().domain) as domain:
        writer = PlainWriter(domain, POSITIONS)
        writer.write(Position("A7", 21.42, 39.83))
        reader = PlainReader(domain, POSITIONS, separation_s=0.5)
        reader.wait(1.0)
        print(reader.take())
"""

from __future__ import annotations

from evenflow.qos.consistency import Policies
from evenflow.qos.plain.reader import PlainReader
from evenflow.qos.plain.topic import PlainTopic, Thin
from evenflow.qos.plain.writer import PlainWriter, WriterStats

__all__ = ["PlainReader", "PlainTopic", "PlainWriter", "Policies", "Thin", "WriterStats"]
