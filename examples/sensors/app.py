"""What a processing node does with temperatures: warns when a sensor gets too hot.

Run from this folder, each in a terminal of its own; start as many nodes as you like:

    evenflow balancer
    evenflow node --topic temperatures --app app:on_new_data
    python publish.py
"""

import json

TOO_HOT = 30.0


def on_new_data(batch):
    """Called with items of one slice; each item reaches one node once."""
    for item in batch:
        reading = json.loads(item.payload)
        if reading["celsius"] > TOO_HOT:
            print(f"{reading['sensor']}: {reading['celsius']:.1f} °C", flush=True)
