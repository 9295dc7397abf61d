"""The names of what processes measure of themselves."""

from __future__ import annotations

MACHINE = ("cpu", "memory", "network_bytes", "process_cpu", "process_memory_bytes")
"""Properties of the machine and the process: percent of all cores, percent of the memory, bytes per
second in and out; percent of one core, bytes."""
PATHS = ("latency_ms",)
"""Properties of the paths to other processes: milliseconds there and back, the median over those
that were asked."""

NODE = (
    "items",
    "payload_bytes",
    "busy",
    "backlog_items",
    "backlog_bytes",
    "backlog_s",
    "delay_s",
    "slices",
)
"""Properties of a node: items and payload bytes a second, percent of the time at work; what waits
(items, bytes, seconds that the oldest has waited); seconds from an item's time to its end; slices
held."""
BROKER = ("broker_load", "broker_bytes", "broker_topics")
"""Properties of a broker of the overlay store: octets it must have room for, its worst failure
included; octets it keeps; topics it leads."""
QUERY = ("batch_s", "tasks", "lag_epochs", "lag_items", "damaged_items", "thinned_items")
"""Properties of a query of a served topic: seconds of its newest batch, tasks of it; closed epochs
and items that it has not committed; items whose payload it could not decode; items that publishers
left out up to where it has committed."""
MAILBOX = ("mail_messages", "mail_nodes", "mail_bytes", "mail_oldest_s")
"""Properties of a mailbox: messages that mobile nodes are still to have, nodes that wait for some,
bytes that they take, seconds since the oldest was sent."""
GATEWAY = ("mobile_nodes", "mobile_items_s", "mobile_outbox_items", "mobile_held_bytes")
"""Properties of a gateway: mobile nodes attached, items accepted a second, items in its outboxes
that nobody has committed; bytes of items that are not safe yet and messages not acknowledged."""
BRIDGE = ("bridge_devices", "bridge_messages_s", "bridge_refused")
"""Properties of a bridge: devices served, samples passed on from and to them a second; datagrams,
records and samples that were not taken."""
RATE = ("thinned_items", "fullest")
"""Properties of a process with writers of topics that may be thinned: items that it left out; how
full the fullest of its writers is, in percent."""
