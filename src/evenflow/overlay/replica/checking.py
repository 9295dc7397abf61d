"""When and whom a copy asks whether it is still needed, and whether its primary still leads.

Something may have been decided without us, and the word of it lost. So a copy makes sure now and
then: soon after brokers came or went, and ever less often while nothing changes.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import AskConfig, Check
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from evenflow.overlay.replica.copy import Copy

CHECK_S = 2.0
"""How often a follower makes sure that it is needed; sooner when it seems not to be. While brokers
neither come nor go and nothing is decided or written on the label, ever less often: after a quarter
of the time for which that has been so."""
LONGEST_CHECK_S = 120.0
AROUND = 6
"""Brokers closest to a shelf that are asked about it by a copy that knows nobody else."""


class Checking:
    """What one copy asks about itself."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._spread = 0.75 + zlib.crc32(copy.shelf.topic.encode()) / (1 << 33)
        """Each shelf asks at another time, or all would at once."""

    def on_members_changed(self) -> None:
        """A broker came or went: something may have been decided without us."""
        copy, now = self._copy, self._copy.host.now
        copy.changed, copy.next_check = now, min(copy.next_check, now + CHECK_S)

    def postpone(self) -> None:
        """All seems well: make sure of it again later."""
        copy, now = self._copy, self._copy.host.now
        wait_s = min(max(CHECK_S, (now - copy.changed) / 4), LONGEST_CHECK_S)
        copy.next_check = now + wait_s * self._spread

    def review(self) -> None:
        """As one that does not lead: ask, when it is due."""
        copy, now = self._copy, self._copy.host.now
        if now < copy.next_check:
            return
        needed = copy.state is State.FOLLOWING and copy.me in copy.wanted()
        if copy.primary_lives and needed:
            self.postpone()
        else:
            alive = copy.host.members.alive(copy.config.primary)
            copy.next_check = now + (RETRY_S if alive else CHECK_S)
        self._ask()

    def _ask(self) -> None:
        """Ask the primary whether our copy is needed; all around, when it is dead."""
        copy, members, mail = self._copy, self._copy.host.members, self._copy.host.mail
        config = copy.config
        if copy.primary_lives:
            unsure = copy.state is State.UNSURE
            mail.send(config.primary, Check(copy.shelf, config, unsure))
        if copy.state is State.UNSURE or not copy.primary_lives:
            around = {*config.voters, *config.members}
            around |= set(members.closest(copy.shelf.coordinate, AROUND))
            for name in sorted(around - {copy.me, config.primary}):
                if members.alive(name):
                    mail.send(name, AskConfig(copy.shelf, config))
