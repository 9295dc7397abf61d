"""A fleet watched by Spark: unexpected stops and deviations, found and answered.

    python examples/fleet/fleet.py --vehicles 50 --for 30s

Starts, on this machine: a balancer, three serving nodes, a fleet of simulated vehicles, and a Spark
pipeline. Vehicles report position and speed into a topic. One query keeps the last seconds of every
vehicle (stateful streaming): who did not move in all of them has stopped, who was never near its
road has left it. Each finding goes back into the domain as an item of the topic ``alerts``, where
the vehicle gets its answer and mends its way. A second query keeps a table of the fleet. In the end
what was found is compared with what happened, and every report is counted.

It is what ``make run`` and ``evenflow up`` run, and takes their options (``--help``). Read on in
``src/evenflow/fleet``: ``pipeline.py`` has the two queries, ``vehicles.py`` the vehicles.
"""

from __future__ import annotations

import sys

from evenflow.cli import main

if __name__ == "__main__":
    sys.exit(main(["up", *sys.argv[1:]]))
