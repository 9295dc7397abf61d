"""How a broker behaves, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """How a broker behaves."""

    heartbeat_s: float = 0.25
    """Time between two heartbeats on a link."""
    silence_s: float = 2.0
    """A neighbour that is silent for this long is dead, unless others reach it."""
    lease_s: float = 1.0
    """A neighbour that was heard within this time is reached, when another broker asks."""
    age_s: float = 0.0
    """Messages older than this expire; 0: never."""
    shelf_bytes: int = 0
    """Payload that a shelf keeps; the oldest expire; 0: all."""
    balance_s: float = 0.0
    """How often the broker wakes to give a topic away if that makes loads more even; 0: never."""
    shift_bytes: int = 0
    """Bytes a second that a past delegate hands on to the one after it; 0: its data expire there.
    """
    topic_bytes: int = 0
    """What a topic is expected to take: it counts as much while it has less, and while it is new
    it is given the best place; 0: topics count what they have, and new ones stay at home."""
    selection: str = "gossip"
    """How a better place for a topic is found: every broker is told all loads (``gossip``), and new
    topics go by a plan (``planned``); or it is told those around it and asks for others, by one of
    the paper's selections."""
    queries: int = 10
    """Coordinates that a decision asks, the own cell or region counted; not with ``global``."""


@dataclass(slots=True)
class Counters:
    """What went wrong, counted."""

    damaged: int = 0
    """Messages that could not be read."""
    lost: int = 0
    """Envelopes without a route."""
    refused: int = 0
    """Requests that are damaged, or that clients may not send."""
    skewed: int = 0
    """Times that were too far ahead of our clock to be followed."""
    searches: int = 0
    """Times that a better place for a topic was looked for."""
    told: int = 0
    """Messages that told loads, each counted on every link that it crossed to come here."""
    asked: int = 0
    """Queries for places and their answers, counted the same way."""
