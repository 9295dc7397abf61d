"""What a processing node does with speeds: answers the cars that are too fast.

Run from this folder, each in a terminal of its own:

    evenflow keys init
    evenflow balancer
    evenflow node --topic speeds --app app:on_new_data
    evenflow gateway --name g1
    evenflow mailbox --name m1
    TOKEN=$(evenflow token issue car-7 --publish speeds) python car.py

The sender of an item that came from a mobile node is the node's name: answers go there, wherever
the car is attached by then.
"""

import json

from evenflow.mobile import Messenger

LIMIT = 50.0

messenger = Messenger("speed-limit")


def on_new_data(batch):
    """Called with items of one slice; returns when the answers are on a mailbox's disk."""
    messenger.send_many(
        (item.sender, {"limit": LIMIT})
        for item in batch
        if json.loads(item.payload)["speed"] > LIMIT
    )
