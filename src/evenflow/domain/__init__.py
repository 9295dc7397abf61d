"""The DDS domain: how messages and batches travel between processes.

========================  ===================================================================
:mod:`~.codec`            bytes of a message, by ``struct``; pure
:mod:`~.shape`            what a message must be besides well encoded; pure
:mod:`~.channels`         which DDS topic carries what, and with which quality of service; pure
:mod:`~.types`            the DDS type of a message
:mod:`~.quality`          the DDS quality of service of a channel
:mod:`~.settings`         configuration of Cyclone DDS; pure
:mod:`~.flow`             how much may be under way
:mod:`~.endpoints`        writers and readers
:mod:`~.typed`            writers and readers of types that are not ours
:mod:`~.agents`           writers and readers of types declared at run time
:mod:`~.cyclone`          the participant and its waiters: the door for the shells
========================  ===================================================================

Importing this package needs no DDS: cores import the codec and the channels, shells import
:mod:`evenflow.domain.cyclone`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.config import DomainConfig
    from evenflow.domain.cyclone import Participant

__all__ = ["enter"]


def enter(config: DomainConfig) -> Participant:
    """Enter a domain; the DDS library is loaded by this, not by imports at the top of a module."""
    from evenflow.domain.cyclone import Participant  # noqa: PLC0415 - takes 0.1 s

    return Participant(config)
