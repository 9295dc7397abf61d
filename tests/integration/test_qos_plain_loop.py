"""A plain topic on the loop: its reader obeys a real balancer; one never thinned is left alone."""

from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Event, Thread

import pytest
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import key
from cyclonedds.idl.types import int64

from evenflow.config import Config, QosConfig
from evenflow.domain import enter
from evenflow.errors import ClosedError, WriterFull
from evenflow.qos.consistency import Policies
from evenflow.qos.loop.companion import QosCompanion
from evenflow.qos.loop.joining import join
from evenflow.qos.plain import PlainReader, PlainTopic, PlainWriter, Thin
from evenflow.slices.balancer.balancer import Balancer

pytestmark = [pytest.mark.domain, pytest.mark.timeout(120)]


@dataclass
class Reading(IdlStruct, typename="Reading"):
    sensor: str
    key("sensor")
    value: int64


QOS = QosConfig(
    performance_ratio=0.3, separation_most_s=0.4, report_s=0.1, period_s=0.2, calm_s=1.0, margin=0.1
)


def test_a_reader_of_a_plain_topic_is_told_by_the_balancer_and_has_its_rate_again(
    domain_config, eventually
):
    config = replace(Config(), domain=domain_config, qos=QOS)
    topic = PlainTopic("readings", Reading, Policies(depth=100, max_samples=100))
    alarms = PlainTopic("alarms", Reading, Policies(depth=100), thin=Thin.NEVER)
    with enter(config.domain) as domain, Balancer(config=config, companions=[QosCompanion(QOS)]):
        reader, watch = PlainReader(domain, topic), PlainReader(domain, alarms)
        writer = PlainWriter(domain, topic)
        eventually(lambda: writer.matched() == 1)
        stop = Event()

        def press():
            number = 0
            while not stop.is_set():
                number += 1
                with suppress(ClosedError, WriterFull):
                    writer.write(Reading("s1", number))

        pressing = Thread(target=press, daemon=True)
        with join(domain, config, writer, reader, watch):
            pressing.start()
            eventually(lambda: reader.separation_s > 0, "the overload reaches the reader", 60)
            assert watch.separation_s == 0
            stop.set()
            eventually(
                lambda: (reader.take(), reader.separation_s == 0)[1], "full rate returns", 60
            )
        pressing.join(10)
        for endpoint in (reader, watch, writer):
            endpoint.close()
