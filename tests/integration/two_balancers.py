"""Two balancers of one cluster, and which of them leads."""

from __future__ import annotations

NAMES = ("one", "other")


def roles(cluster):
    """What each balancer said last of itself."""
    said = {name: cluster.log(name) for name in NAMES}
    return {
        name: "leads" if log.rfind("balancing") > log.rfind("standing by") else "stands by"
        for name, log in said.items()
    }


def settled(cluster):
    return sorted(roles(cluster).values()) == ["leads", "stands by"]


def leader(cluster):
    return next(name for name, role in roles(cluster).items() if role == "leads")
