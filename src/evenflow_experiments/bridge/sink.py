"""A DDS program that reads what devices publish, and does nothing with it: a stock reader.

python -m evenflow_experiments.bridge.sink DOMAIN
"""

from __future__ import annotations

import sys

from evenflow.config import DomainConfig
from evenflow.domain.agents.declaration import Declaration, DeclaredField
from evenflow.domain.agents.entities import AgentEntities
from evenflow.domain.cyclone import Participant


def main() -> None:
    """The program; it ends with its input."""
    reading = Declaration(
        "plant::Reading", (DeclaredField("celsius", "f64"), DeclaredField("number", "u32"))
    )
    with Participant(DomainConfig(id=int(sys.argv[1]))) as participant:
        agents = AgentEntities(participant)
        agents.reader("readings", reading, reliable=True)
        print("ready", flush=True)
        while True:
            for reader in agents.wait(1.0):
                reader.take()


if __name__ == "__main__":
    main()
