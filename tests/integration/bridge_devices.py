"""Devices for tests: some of the Python client in one process, which tells what happens to them.

Arguments, in JSON: ``names``; ``options`` of every device; ``publish_s``, how often each publishes
a reading (0: never); ``subscribe``, whether each reads commands; ``items``, how many each sends
into the sliced topic ``items``. What happens is printed, one JSON object a line: which bridge
serves a device and by which session, what it got, and how far its items are safe.
"""

from __future__ import annotations

import json
import sys
import time

from evenflow.device.evenflow_device import Device

READING = "plant::Reading(device text32, number u32, celsius f64)"
COMMAND = "plant::Command(valve u8, note text40)"


def main() -> None:
    given = json.loads(sys.argv[1])
    options = given.get("options", {})
    for name in ("group", "bridges"):
        if name in options:
            pairs = options[name]
            options[name] = tuple(map(tuple, pairs)) if name == "bridges" else tuple(pairs)
    if "key" in options:
        options["key"] = bytes.fromhex(options["key"])
    devices = {name: Device(name, **options) for name in given["names"]}
    readings = {
        name: device.publisher("readings", READING, reliable=True)
        for name, device in devices.items()
    }
    if given.get("subscribe"):
        for device in devices.values():
            device.subscriber("commands", COMMAND, reliable=True)
    items = {}
    if given.get("items"):
        items = {name: device.items("items") for name, device in devices.items()}
    serve(devices, readings, float(given.get("publish_s", 0.0)), items, given.get("items", 0))


def serve(devices, readings, publish_s, items, most):
    known: dict[str, tuple[str, int]] = {}
    number, due = 0, time.monotonic()
    safe = dict.fromkeys(items, 0)
    while True:
        send_items(items, most, safe)
        for name, device in devices.items():
            for _, values in device.poll():
                tell(device=name, got=values)
            core = device.core
            whose = (core.bridge, core.session) if core.serving else ("", 0)
            if core.ready < len(core.entities):
                whose = ("", 0)
            if known.get(name) != whose:
                known[name] = whose
                tell(device=name, bridge=whose[0], session=whose[1], unsure=core.unsure)
        if publish_s and time.monotonic() >= due:
            number, due = number + 1, due + publish_s
            for name, reading in readings.items():
                reading.publish(name, number, 20.0 + number)
        time.sleep(0.005)


def send_items(items, most, safe):
    for name, entity in items.items():
        if entity.newest < most:
            entity.send(str(entity.newest + 1).encode())
        if entity.safe > safe[name]:
            safe[name] = entity.safe
            tell(device=name, safe=entity.safe)


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps({"at": time.time(), **what}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
