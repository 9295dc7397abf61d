"""Ambulances and traffic control: positions are thinned under load, calls for help never are.

    python ambulances.py 20

Thirty ambulances report where they are, more and more often. Traffic control needs 2 ms for a
position, so in the end it cannot follow. A controller watches how full the writers are and sets the
least time between two positions of an ambulance. Both topics are the user's own DDS types, so any
DDS program can take part.
"""

import sys
import threading
import time
from dataclasses import dataclass

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import key

from evenflow import Config
from evenflow.domain import enter
from evenflow.errors import WriterFull
from evenflow.qos.consistency import Policies
from evenflow.qos.controller import Controller, ControllerSettings
from evenflow.qos.plain import PlainReader, PlainTopic, PlainWriter, Thin


@dataclass
class Position(IdlStruct, typename="Position"):
    """Where an ambulance is. Each ambulance is an instance: its positions are thinned apart."""

    ambulance: str
    key("ambulance")
    latitude: float
    longitude: float


@dataclass
class Call(IdlStruct, typename="Call"):
    """A call for help."""

    ambulance: str
    reason: str


POSITIONS = PlainTopic("positions", Position, Policies(max_samples=200))
CALLS = PlainTopic("calls", Call, thin=Thin.NEVER)

AMBULANCES = 30
STEPS = (5, 10, 20, 40)
"""Positions a second of each ambulance, one step after the other."""
counts = {"positions": 0, "calls sent": 0, "calls heard": 0, "given up": 0}


def drive(domain, writer, end):
    """All ambulances: positions, and a call for help twice a second."""
    calls = PlainWriter(domain, CALLS)
    start, written = time.monotonic(), 0
    while (now := time.monotonic()) < end:
        step = STEPS[int(len(STEPS) * (now - start) / (end - start))]
        ambulance = f"A{written % AMBULANCES}"
        try:
            writer.write(Position(ambulance, 21.42, 39.83))
        except WriterFull:
            counts["given up"] += 1
        written += 1
        if written % (AMBULANCES * step // 2) == 0:
            calls.write(Call(ambulance, "road blocked"))
            counts["calls sent"] += 1
        time.sleep(1 / (AMBULANCES * step))
    calls.wait_acknowledged(5)


def listen(positions, calls, end):
    """Traffic control; every position costs it 2 ms."""
    while time.monotonic() < end or counts["calls heard"] < counts["calls sent"]:
        positions.wait(0.05)
        for _position in positions.take(10):
            time.sleep(0.002)
            counts["positions"] += 1
        counts["calls heard"] += len(calls.take())


def main(seconds=20.0):
    """Run for a while, with a line a second."""
    controller = Controller(ControllerSettings(performance_ratio=0.3, separation_most_s=1.0))
    with enter(Config.load().domain) as domain:
        writer = PlainWriter(domain, POSITIONS)
        positions, calls = PlainReader(domain, POSITIONS), PlainReader(domain, CALLS)
        end = time.monotonic() + float(seconds)
        threads = [
            threading.Thread(target=drive, args=(domain, writer, end)),
            threading.Thread(target=listen, args=(positions, calls, end)),
        ]
        for thread in threads:
            thread.start()
        ticks = 0
        while time.monotonic() < end:
            time.sleep(0.1)
            use = writer.use()
            positions.set_separation(controller.observe([use], time.monotonic()).separation_s)
            ticks += 1
            if ticks % 10 == 0:
                print(
                    f"{ticks // 10:3} s  {use.used:3} of {use.used_most} samples unacknowledged,"
                    f" separation {positions.separation_s * 1000:4.0f} ms,"
                    f" filtered {positions.filtered}",
                    flush=True,
                )
        for thread in threads:
            thread.join()
    print(
        f"{counts['positions']} positions read, {counts['given up']} given up;"
        f" {counts['calls heard']} of {counts['calls sent']} calls heard"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
