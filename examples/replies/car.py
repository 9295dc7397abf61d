"""A car that gets faster and faster, until it is told to slow down."""

import os
import queue
import sys

from evenflow.mobile import connect

GATEWAYS = os.environ.get("GATEWAYS", "quic://127.0.0.1:7500").split()


def main(topic="speeds"):
    """Drive until the answer comes."""
    told = queue.SimpleQueue()
    with connect(
        GATEWAYS,
        node="car-7",
        token=os.environ["TOKEN"].split()[-1],
        trust=os.environ.get("TRUST", "evenflow-keys/ca.pem"),
        on_message=told.put,
    ) as car:
        speed = 45.0
        while told.empty():
            car.publish({"speed": speed}, topic=topic)
            speed += 1.0
            try:
                message = told.get(timeout=0.2)
            except queue.Empty:
                continue
            print(f"{message.sender} says {message.payload.decode()} at {speed:.0f} km/h")
            break


if __name__ == "__main__":
    main(*sys.argv[1:])
