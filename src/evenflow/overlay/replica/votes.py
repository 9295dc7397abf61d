"""Votes: what this broker has promised and accepted about the configurations of shelves.

The configurations of a shelf (`Config`) follow one another. Which one follows is decided by the
voters of the one before, by single-decree Paxos (Lamport, "Paxos Made Simple"): a majority must
accept it, a voter accepts nothing under a ballot lower than one it promised, and who proposes takes
over what a voter has accepted already. So of two halves that cannot reach one another at most one
gets a successor decided, and a decision is found again whoever was away. Here is the voters' side;
`proposer` has the other.

A voter writes down what it says before it says it. One that lost its disk has forgotten it, and
who counts its answers knows that (`Config.enough`). Otherwise a voter never forgets a shelf in
which a copy may come back that knows of no newer decision; of shelves that were deleted it keeps
the newest `MOST_VOTES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    Accepted,
    Agreed,
    Ballot,
    Decided,
    Outbid,
    Prepare,
    Promise,
    Propose,
)
from evenflow.overlay.replica.record import Vote

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.ports import Store
    from evenflow.overlay.protocol.messages import Config, ShelfId

MOST_VOTES = 200_000
"""Shelves that a broker remembers; with more, deleted ones are forgotten, the oldest first."""
LEAP = 1 << 32
"""Terms and ballots count from 1. One that is so far ahead of the newest known is an error."""
LOWEST = Ballot(0, "")


class Votes:
    """The votes of one broker.

    Args:
        store: Its disk.
        plausible: Says whether a time is not absurdly far ahead.
    """

    def __init__(self, store: Store, plausible: Callable[[int], bool]) -> None:
        self._store = store
        self._plausible = plausible
        self._votes = {vote.shelf: vote for vote in store.votes()}

    def known(self, shelf: ShelfId) -> Config | None:
        """Return the newest decided configuration of a shelf that we know of."""
        vote = self._votes.get(shelf)
        return vote.known if vote is not None and vote.known.term else None

    def promised(self, shelf: ShelfId) -> Ballot:
        """Return the highest ballot that we promised."""
        vote = self._votes.get(shelf)
        return vote.promised if vote is not None else LOWEST

    def sound(self, shelf: ShelfId, config: Config, ballot: Ballot = LOWEST) -> bool:
        """Say whether the numbers of a configuration and a ballot may be true."""
        vote = self._votes.get(shelf)
        term = vote.known.term if vote is not None and vote.known.birth == config.birth else 0
        number = vote.promised.number if vote is not None else 0
        return (
            config.term <= term + LEAP
            and ballot.number <= number + LEAP
            and self._plausible(config.birth)
            and not (shelf.at_home and config.birth)
        )

    def learn(self, shelf: ShelfId, config: Config) -> bool:
        """Note that a configuration is decided; return whether that is news."""
        vote = self._votes.get(shelf)
        if vote is None:
            self._make_room()
        elif vote.known.age >= config.age:
            return False
        self._save(Vote(shelf, config, LOWEST))
        return True

    def end(self, shelf: ShelfId) -> None:
        """The shelf is deleted: its last configuration has nobody any more."""
        vote = self._votes.get(shelf)
        if vote is not None:
            ended = replace(vote.known, primary="", members=(), in_sync=())
            self._save(replace(vote, known=ended, accepted=()))

    def on_prepare(self, prepare: Prepare) -> Promise | Outbid | Decided | None:
        """Promise, unless we promised more to another or know what was decided."""
        shelf, ballot, base = prepare.shelf, prepare.ballot, prepare.base
        vote = self._vote(shelf, base, ballot)
        if vote is None:
            return None
        if vote.known.age > base.age or vote.known.ended:
            return Decided(shelf, vote.known)
        if ballot < vote.promised:
            return Outbid(shelf, vote.promised, base)
        if ballot > vote.promised:
            self._save(replace(vote, promised=ballot))
        return Promise(shelf, ballot, base, vote.accepted)

    def on_propose(self, propose: Propose) -> Agreed | Outbid | Decided | None:
        """Accept, unless we promised more to another or know what was decided."""
        shelf, ballot, base = propose.shelf, propose.ballot, propose.base
        vote = self._vote(shelf, base, ballot)
        follows = (base.birth, base.term + 1)
        if vote is None or propose.config.age != follows or not propose.config.primary:
            return None
        if vote.known.age > base.age or vote.known.ended:
            return Decided(shelf, vote.known)
        if ballot < vote.promised:
            return Outbid(shelf, vote.promised, base)
        accepted = (Accepted(ballot, propose.config),)
        self._save(replace(vote, promised=ballot, accepted=accepted))
        return Agreed(shelf, ballot, base)

    def _vote(self, shelf: ShelfId, base: Config, ballot: Ballot) -> Vote | None:
        """Return our vote on what follows; None when what is asked cannot be true."""
        if not self.sound(shelf, base, ballot):
            return None
        vote = self._votes.get(shelf)
        if vote is None:
            self._make_room()
        if vote is None or vote.known.age < base.age:
            return Vote(shelf, base, LOWEST)
        return vote

    def _make_room(self) -> None:
        if len(self._votes) < MOST_VOTES:
            return
        gone = next((shelf for shelf, vote in self._votes.items() if vote.known.ended), None)
        if gone is not None:
            del self._votes[gone]
            self._store.drop_vote(gone)

    def _save(self, vote: Vote) -> None:
        self._votes[vote.shelf] = vote
        self._store.save_vote(vote)
