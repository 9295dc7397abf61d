"""The panels of all kinds of processes: every metric there is.

Names follow the rules of Prometheus: what only grows ends in ``_total``, units are seconds and
bytes. A label has few values: topics and names of processes, never senders or devices.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import evenflow
from evenflow.metrics.panel import Panel, counter, gauge

if TYPE_CHECKING:
    from evenflow.metrics.panel import Labelled


def _one(_: object) -> Labelled:
    return {(evenflow.__version__,): 1.0}


def _waited(node: Any) -> float:
    since = node.vitals().backlog_since
    return 0.0 if since is None else max(0.0, time.time() - since)


def _oldest(mailbox: Any) -> float:
    oldest = mailbox.report.oldest
    return max(0.0, time.time() - oldest / 1e6) if oldest else 0.0


def _malformed(gateway: Any) -> int:
    return sum(one.malformed for one in gateway.counts)


def _migrated(gateway: Any) -> int:
    return sum(one.migrated for one in gateway.counts)


def _refused_by_reason(bridge: Any) -> Labelled:
    return {(reason,): float(count) for reason, count in list(bridge.core.refused.items())}


def _at_gateways(books: Any) -> Labelled:
    return {(name,): float(count) for name, count in sorted(books.gateways.items())}


PROCESS: Final = Panel(
    "every process",
    (),
    (
        gauge("info", _one, "1; the label says which version runs.", ("version",)),
        counter("scrape_errors", "scrape_errors", "Panels that could not be read for a scrape."),
    ),
)
"""Besides those of ``prometheus-client`` itself: ``process_*`` and ``python_info``."""

NODE: Final = Panel(
    "a processing node: `evenflow node`",
    ("topic", "node"),
    (
        counter("node_items", "report.items", "Items processed; of a serving node, items read."),
        counter("node_payload_bytes", "report.octets", "Payload bytes processed."),
        counter("node_busy_seconds", "report.busy_s", "Time that the application was at work."),
        gauge("node_slices", lambda one: len(one.report.slices), "Slices held."),
        gauge("node_backlog_items", "report.backlog_items", "Items received, not processed yet."),
        gauge("node_backlog_bytes", "report.backlog_octets", "Bytes that they take."),
        gauge("node_backlog_seconds", _waited, "Age of the oldest item that waits."),
        gauge(
            "node_delay_seconds",
            lambda one: one.vitals().delay_s,
            "From an item's own time to the end of its processing, of the newest delivery.",
        ),
        counter("node_repeated_items", "report.repeated", "Items that came again: dropped."),
        counter("node_replayed_items", "report.replayed", "Items that had to be sent again."),
        counter(
            "node_refused_items", "report.refused", "Items refused for want of room: sent again."
        ),
        counter("node_retries", "report.retried", "Times that the application failed."),
        counter("node_failed_items", "report.failed", "Items given up: dead or skipped."),
        counter("node_dead_items", "report.dead", "Items put aside in the dead-letter topic."),
        counter("node_damaged_samples", "report.damaged", "Samples that could not be decoded."),
        counter("node_stray_items", "report.stray", "Items of slices that it does not hold."),
        counter("node_spill_failures", "report.spill_failures", "Items could not be put on disk."),
        gauge("node_misfits", "report.misfits", "Publishers with another number of slices."),
        gauge("node_foreign_writers", "report.foreign", "Writers that do not speak the protocol."),
        gauge(
            "node_foreign_items", "report.foreign_items", "Items of theirs, which wait for ever."
        ),
    ),
)

APPLICATION: Final = Panel(
    "an application: its own `properties`",
    ("property",),
    (gauge("application", lambda sensor: sensor(), "What the application shows of itself."),),
)

PUBLISHER: Final = Panel(
    "a publisher: `evenflow publish`, or a program with an `Endpoint`",
    ("topic",),
    (
        counter("publisher_items", "published", "Items accepted, and those found in the outbox."),
        counter("publisher_committed_items", "committed", "Items committed by their nodes."),
        gauge("publisher_uncommitted_items", "uncommitted", "Items accepted, not committed."),
        gauge("publisher_retained_bytes", "retained_bytes", "Bytes kept for them."),
        counter("publisher_recovered_items", "recovered", "Items found in the outbox."),
        counter("publisher_refused_items", "refused", "Items that got no slice."),
        counter("publisher_thinned_items", "thinned", "Items left out: the topic is overloaded."),
        counter("publisher_samples", "samples", "Samples written, each with many items."),
        counter("publisher_replayed_samples", "replayed", "Samples sent again on request."),
        counter("publisher_skipped_samples", "skipped", "Samples not written at first."),
        gauge("publisher_congested_nodes", "congested", "Nodes that do not keep up right now."),
        counter("publisher_stale_commits", "stale_commits", "Commits of former owners: refused."),
        counter(
            "publisher_stale_requests", "stale_requests", "Requests of former owners: refused."
        ),
        counter("publisher_ignored_messages", "ignored", "Messages that do not fit it."),
    ),
)

BALANCER: Final = Panel(
    "a balancer: `evenflow balancer`",
    (),
    (
        gauge("balancer_leads", "leadership.leads", "1: it leads; 0: it stands by."),
        counter("balancer_turns", "leadership.turn", "Times that it began or ceased to lead."),
        counter(
            "balancer_moves",
            "news.moves",
            "Moves of slices it led; outcome: done or failed.",
            ("topic", "cause", "outcome"),
        ),
        counter(
            "balancer_moved_slices", "news.moved", "Slices of moves that were done.", ("topic",)
        ),
        counter(
            "balancer_deaths", "news.deaths", "Nodes that died, or were not heard.", ("topic",)
        ),
        counter("balancer_planner_failures", "planner_failures", "Planners that had no answer."),
    ),
)
BALANCED_TOPIC: Final = Panel(
    "each topic of a balancer",
    ("topic",),
    (
        gauge("balancer_nodes", lambda core: len(core.nodes), "Nodes that report."),
        gauge("balancer_slices", "slice_count", "Slices of the topic."),
        gauge(
            "balancer_unowned_slices",
            lambda core: core.owners.of.count(""),
            "Slices without an owner; all of them while it stands by.",
        ),
        gauge("balancer_handovers", lambda core: len(core.sessions), "Handovers under way."),
        gauge("balancer_takeovers", lambda core: len(core.takeovers), "Takeovers under way."),
    ),
)

BROKER: Final = Panel(
    "a broker of the store: `evenflow broker`",
    ("broker",),
    (
        gauge("broker_members", "members", "Brokers it takes for alive."),
        gauge("broker_links", "links", "Connections to other brokers."),
        gauge("broker_topics", "shelves", "Topics it holds a copy of."),
        gauge("broker_leading_topics", "leading", "Topics it leads and serves."),
        gauge("broker_settled_topics", "settled", "Of these, with all copies they ask for."),
        gauge("broker_unsettled_topics", "unsettled", "Topics still to be copied or given away."),
        gauge("broker_waiting_topics", "waiting", "Topics that take nothing for now."),
        gauge("broker_stored_bytes", "stored_bytes", "Payload it keeps."),
        gauge("broker_subscriptions", "subscriptions", "Subscriptions to topics it leads."),
        gauge("broker_load_bytes", "load", "Room it must have, its worst failure included."),
        counter("broker_damaged_messages", "damaged", "Messages that could not be read."),
        counter("broker_lost_envelopes", "lost", "Envelopes without a route."),
        counter("broker_refused_requests", "refused", "Requests that were refused."),
        counter("broker_skewed_times", "skewed", "Times too far ahead of its clock."),
        counter("broker_place_searches", "searches", "Searches for a better place for a topic."),
        counter("broker_load_messages", "told", "Messages that told it loads, by link crossed."),
        counter("broker_query_messages", "asked", "Queries and answers about places, likewise."),
    ),
)

ARCHIVER: Final = Panel(
    "an archiver: `evenflow archive`",
    ("topic",),
    (
        counter("archive_items", "items", "Items stored."),
        gauge("archive_stores", "stores", "1: it stores; 0: it waits to begin, or has failed."),
    ),
)

GATEWAY: Final = Panel(
    "a gateway: `evenflow gateway`",
    ("gateway",),
    (
        gauge("gateway_nodes", "nodes", "Mobile nodes that are attached."),
        counter("gateway_items", "items", "Items accepted."),
        gauge("gateway_outbox_items", "uncommitted", "Items in its outboxes, not committed."),
        gauge("gateway_held_bytes", "core.held", "Items not safe yet, and messages not had."),
        counter("gateway_messages", "core.downlink.passed_on", "Messages passed on to nodes."),
        counter(
            "gateway_returned_messages", "core.downlink.given_back",
            "Messages given back to their mailbox: the node is not here, or takes none now.",
        ),
        counter(
            "gateway_malformed_connections", _malformed,
            "Connections ended by something that cannot be understood.",
        ),
        counter("gateway_migrations", _migrated, "Times that a node's address changed."),
        counter(
            "gateway_revocations_not_noted", "revocations_not_noted",
            "Revoked tokens that it cannot refuse: too many are revoked. Above 0 needs attention.",
        ),
    ),
)  # fmt: skip

MAILBOX: Final = Panel(
    "a mailbox: `evenflow mailbox`",
    ("mailbox",),
    (
        gauge(
            "mailbox_messages", "report.messages", "Messages that mobile nodes are still to have."
        ),
        gauge("mailbox_waiting_nodes", "report.waiting", "Nodes that wait for some."),
        gauge("mailbox_bytes", "report.octets", "What they take."),
        gauge("mailbox_most_bytes", "report.most_octets", "What they may take."),
        gauge("mailbox_oldest_seconds", _oldest, "Age of the oldest."),
        counter(
            "mailbox_nodes_not_noted", "nodes_not_noted",
            "Times that a node was not noted: there are too many, or its name is none.",
        ),
        counter(
            "mailbox_malformed_attributes", "malformed_attributes",
            "Attributes of nodes that could not be read: these are in no group.",
        ),
    ),
)  # fmt: skip

BRIDGE: Final = Panel(
    "a bridge: `evenflow bridge`",
    ("bridge",),
    (
        gauge("bridge_devices", "devices", "Devices that it serves."),
        counter("bridge_messages", "messages", "Samples passed on, both ways, and items taken."),
        counter(
            "bridge_refused", _refused_by_reason, "What devices sent and it did not take.",
            ("reason",),
        ),
        gauge("bridge_members", lambda one: len(one.ring.members), "Other bridges it knows."),
    ),
)  # fmt: skip

VEHICLES: Final = Panel(
    "simulated vehicles: `evenflow fleet`",
    (),
    (
        gauge("fleet_vehicles", "vehicles", "Vehicles that are driven."),
        gauge("fleet_attached", _at_gateways, "Vehicles that are attached.", ("gateway",)),
        counter("fleet_items", "published", "Reports published."),
        counter("fleet_safe_items", "safe", "Reports that a gateway has made safe."),
        gauge("fleet_kept_items", "kept", "Reports that none has made safe yet."),
        gauge("fleet_held_up_vehicles", "held_up", "Vehicles that wait for a former gateway."),
        counter("fleet_messages", "messages", "Messages that came."),
        counter("fleet_repeated_messages", "repeated", "Messages that came twice."),
        counter("fleet_connections", "connections", "Times that a gateway welcomed a vehicle."),
        counter("fleet_lost_connections", "lost", "Connections lost."),
        gauge("fleet_refused_vehicles", "refused", "Vehicles that every gateway refuses."),
    ),
)

DEMONSTRATION: Final = Panel(
    "everything on one machine: `evenflow up`",
    (),
    (
        gauge("up_ready", lambda both: both[0].ready, "1: Spark has its first results."),
        counter("up_items", lambda both: both[0].published, "Reports published by the vehicles."),
        gauge(
            "up_uncommitted_items",
            lambda both: both[0].uncommitted,
            "Reports that Spark has not committed.",
        ),
        counter(
            "up_moves", lambda both: both[1].moves, "Moves of slices from one node to another."
        ),
    ),
)

PANELS: Final = (
    PROCESS, NODE, APPLICATION, PUBLISHER, BALANCER, BALANCED_TOPIC, BROKER, ARCHIVER, GATEWAY,
    MAILBOX, BRIDGE, VEHICLES, DEMONSTRATION,
)  # fmt: skip
"""All of them; the reference is written from this."""
