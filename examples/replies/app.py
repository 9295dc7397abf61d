"""What a processing node does with speeds: answers the cars that are too fast.

Run from this folder, each in a terminal of its own:

    evenflow keys init
    evenflow balancer
    evenflow node --topic speeds --app app:on_new_data
    evenflow gateway --name g1
    evenflow mailbox --name m1
    TOKEN=$(evenflow token issue car-7 --publish speeds) python car.py

The sender of an item that came from a mobile node is the node's name: replies go there, wherever
the car is attached by then (``topics.speeds.replies = "mobile"``). Items are committed when the
replies to them are on a mailbox's disk.
"""

import json

LIMIT = 50.0


def on_new_data(batch):
    """Called with items of one slice."""
    for row, item in enumerate(batch):
        if json.loads(item.payload)["speed"] > LIMIT:
            batch.reply(row, {"limit": LIMIT})
