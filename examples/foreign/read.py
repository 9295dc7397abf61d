"""Reads the items of a topic with stock cyclonedds; Evenflow is not imported.

    python read.py DOMAIN TOPIC

The partition ``*`` is sent what every node is sent, on two topics: the stream, and what publishers
send again. An item is known by its writer, slice and number.
"""

import sys

import idl
from cyclonedds.core import (
    InstanceState,
    Policy,
    Qos,
    ReadCondition,
    SampleState,
    ViewState,
    WaitSet,
)
from cyclonedds.domain import DomainParticipant
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic
from cyclonedds.util import duration

SAMPLE = idl.load()["Sample"]
ANY = SampleState.Any | ViewState.Any | InstanceState.Any


def items(sample):
    """Yield slice, number, sender, id and payload of each item."""
    row = 0
    senders, payloads = bytes(sample.senders), bytes(sample.payloads)
    for slice_id, count, first in zip(sample.slices, sample.counts, sample.firsts, strict=True):
        for number in range(first, first + count):
            sender = senders[sample.sender_offsets[row] : sample.sender_offsets[row + 1]]
            payload = payloads[sample.payload_offsets[row] : sample.payload_offsets[row + 1]]
            yield slice_id, number, sender.decode(), sample.ids[row], payload
            row += 1


def main(domain, topic):
    """Print a line for each item: its sender, its id and its payload."""
    participant = DomainParticipant(int(domain))
    everybody = Qos(Policy.Partition(["*"]))
    readers = [
        DataReader(
            Subscriber(participant, everybody),
            Topic(participant, f"evenflow/{way}/{topic}", SAMPLE),
            idl.STREAM,
        )
        for way in ("data", "replay")
    ]
    waiting = WaitSet(participant)
    for reader in readers:
        waiting.attach(ReadCondition(reader, ANY))
    print("ready", flush=True)
    seen = set()
    while True:
        waiting.wait(duration(seconds=1))
        for reader in readers:
            for sample in reader.take(100):
                if not isinstance(sample, SAMPLE):
                    continue  # a writer has gone
                for slice_id, number, sender, item_id, payload in items(sample):
                    if (sample.writer, slice_id, number) not in seen:
                        seen.add((sample.writer, slice_id, number))
                        print(sender, item_id, payload.decode(errors="replace"), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
