"""The overlay store: topics kept on brokers, with one, two or three copies, and evenly.

After SeDAX (Hoefling, Mills and Menth, "Distributed Load Balancing for the Resilient
Publish/Subscribe Overlay in SeDAX"). Brokers, here called nodes, have coordinates in the unit
square; a topic has a coordinate too, and is kept by the nodes closest to it. Moving a topic means
giving it another coordinate, so balancing is a choice of coordinates.

::

    geometry     geographic hash, j-closest nodes
    plane        Voronoi cells, Delaunay neighbours
    resilience   node loads of the resilience levels, kept incrementally       equations 1-4
    coordinates  coordinate loads and which coordinate is better               equations 5-10
    selection    the paper's four ways to ask for coordinates, addition        sections V, VI-A
    relief       which topic a node gives away, and where to                   algorithm 2
    delegation   delegate lists: who is responsible for which time             section III

    spots        the plane cut into spots: the tables the simulation works on
    kernel       loads, ordering and selections over these tables, compiled
    planning     quotas and a lower bound from a linear program                our own
    continuous   balancing while topics grow                                   section VI-B, our own
    growth       topics that grow, and the load that moves                     equations 12-14
    simulation   whole runs of the paper's experiments                         sections VII, VIII

The first half is plain Python over nodes of any name, as a live broker needs it. The second is the
same in arrays of numbers, for millions of decisions; tests hold the two equal.

The live store (``docs/store.md``), pure above and shells below the line::

    frames       messages as bounded, checked frames
    messages     everything that brokers and clients say
    membership   who lives, and who is whose neighbour                         section I-A
    routing      greedy forwarding                                             section I-A
    record       what a broker finds again after a crash
    terms        states of a copy, and what leads from one to another
    holding      one broker's copy of a topic at a coordinate, a shelf
    stream       its messages within a term, from primary to secondary         section I-A
    history      its messages from before                                      section IV-B
    replica      its terms: who leads, who follows                             sections III-C, IV-B
    serving      publishing and reading at a primary                           section III-B
    moving       moving a topic: its home's side                               section III-A
    delegate     moving a topic: its delegates' side                           section III-A
    keeper       all of these together, for one shelf
    nursery      shelves that are new
    ledger       what every broker bears, as each of them said last            section IV-C
    candidates   coordinates to choose from                                    section V-E
    balancing    every so often, a topic goes to a better place                section VI-B
    events       what a broker is told, and what it wants done
    neighbours   links, and who is silent or dead                              section I-A
    letters      written here, and passed on for others
    broker_core  a whole broker: events in, actions out
    client_core  a client's side of a topic
    ------------------------------------------------------------------------------------------
    store        a broker's disk (SQLite)
    wire         a TCP connection
    chronicle    a broker's moves in the shared history
    broker       the broker process
    client_link  a client's connection, and its open questions
    client_async the client library for asyncio: `AsyncClient`
    client       the client library: `Client`
    local        brokers as child processes, for experiments and tests
"""

from __future__ import annotations

from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.client.blocking import Client

__all__ = ["AsyncClient", "Client"]
