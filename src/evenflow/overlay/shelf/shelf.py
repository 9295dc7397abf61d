"""All that a broker does for one shelf: its copy, its clients, its delegation.

`handle` is a table from letters to the part they concern. Letters that only a primary can answer
are sent on to it by a secondary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from evenflow.overlay.protocol.messages import (
    Adopt,
    Adopted,
    AskList,
    Check,
    Dismissed,
    Emptied,
    Fetch,
    Freeze,
    Frozen,
    Inquire,
    Join,
    Known,
    Lead,
    ListIs,
    Move,
    Publish,
    Pull,
    Pulled,
    Refused,
    Relieve,
    Replicate,
    Replicated,
    Shelf,
    Sync,
    Synced,
)
from evenflow.overlay.replica.copy import Office
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf.clients import Serving
from evenflow.overlay.shelf.delegate import Delegate
from evenflow.overlay.shelf.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.protocol.messages import Routed
    from evenflow.overlay.protocol.settings import Settings
    from evenflow.overlay.replica.record import Record
    from evenflow.overlay.space.coordinate import Coordinate


MOST_LATER = 1024
"""Letters kept until a copy leads or follows; more are not heard, and sent again later."""


class Broker(Office, Protocol):
    """What a keeper needs of its broker."""

    settings: Settings
    keepers: dict[Shelf, Keeper]

    def mail(self, coordinate: Coordinate, body: Any) -> None:
        """Send a letter to whoever is closest to a coordinate."""
        ...

    def answer(self, letter: Routed, body: Any) -> None:
        """Answer a letter."""
        ...

    def redirect(self, letter: Routed, node: str) -> None:
        """Send a letter on."""
        ...

    def bury(self, shelf: Shelf) -> None:
        """Delete a shelf soon."""
        ...

    def mail_on(self, letter: Routed, body: Any) -> None:
        """Send a letter on to another coordinate, with another body."""
        ...

    def heard(self, node: str) -> bool:
        """Say whether another broker gave a sign of life just now."""
        ...

    def weigh(self, replica: Replica) -> int:
        """Return the load of a topic whose current delegate a copy belongs to."""
        ...


class Keeper:
    """One shelf at one broker."""

    TO_HOME: ClassVar[frozenset[type]] = frozenset({Frozen, Adopted, AskList, Emptied})
    """Letters about a delegate's shelf that the home shelf handles."""

    FOR_PRIMARY: ClassVar[frozenset[type]] = frozenset(
        {
            Join, Publish, Fetch, Move, Relieve, Freeze, Adopt, AskList, ListIs, Frozen, Adopted,
            Emptied,
        }
    )  # fmt: skip

    def __init__(self, broker: Broker, record: Record, committed: int) -> None:
        self.broker = broker
        self._ready = False
        self._busy = False
        self.gone = False
        """Whether this shelf is to be deleted."""
        self._later: list[tuple[Routed, Any]] = []
        """Letters that came before this copy led or followed."""
        self.replica = Replica(broker, record, committed, self._progress)
        self.serving = Serving(self.replica, broker)
        self.delegate = Delegate(self.replica, broker)
        self.home = Home(self.replica, broker) if record.shelf.at_home else None
        self._ready = True

    def _progress(self) -> None:
        # A step forward may bring the next, which calls back here: once around is enough.
        if not self._ready or self._busy or self.gone:
            return
        self._busy = True
        try:
            if self.home is not None:
                self.home.progress()
            self.delegate.progress()
            self.serving.progress()
        finally:
            self._busy = False
        if self._later and self.replica.state in (State.LEADING, State.FOLLOWING):
            later, self._later = self._later, []
            for letter, body in later:
                self.handle(letter, body)

    def review(self) -> None:
        """Do what is due."""
        self.replica.review()
        self._progress()

    def expire(self) -> None:
        """Delete what is too old or too much."""
        replica, settings = self.replica, self.broker.settings
        if not replica.leading or not replica.label_kept:
            return
        store, floor = self.broker.store, replica.label.floor
        if settings.age_s:
            floor = max(floor, self.broker.wall - int(settings.age_s * 1e9))
        if settings.shelf_octets and store.octets(replica.shelf) > settings.shelf_octets:
            floor = max(floor, store.cut(replica.shelf, settings.shelf_octets))
        floor = min(floor, replica.committed + 1)
        past = replica.label.delegates.current != replica.shelf.coordinate
        if floor > replica.label.floor and (past or store.read(replica.shelf, 0, floor, 1)):
            replica.expire(floor)

    def handle(self, letter: Routed, body: Any) -> None:
        """Hand a letter to the part it concerns."""
        replica = self.replica
        if self.gone:
            return
        if type(body) in self.FOR_PRIMARY and not replica.leading:
            if replica.state is State.FOLLOWING:
                self.broker.redirect(letter, replica.record.primary)
            elif len(self._later) < MOST_LATER:
                self._later.append((letter, body))
            return
        if isinstance(body, Join | Publish | Fetch):
            self._serve(letter, body)
            return
        if type(body) in self.TO_HOME and self.home is None:
            return
        act = self._acts(letter).get(type(body))
        if act is not None:
            act(body)
        self._progress()

    def _serve(self, letter: Routed, body: Join | Publish | Fetch) -> None:
        delegates, shelf = self.replica.label.delegates, self.replica.shelf
        elsewhere = delegates.current != shelf.coordinate
        if isinstance(body, Join) and self.home is not None and elsewhere:
            # Home sends who joins on to the delegate.
            self.broker.mail_on(letter, Join(Shelf(shelf.topic, delegates.current), 0))
            return
        self.serving.handle(letter, body)

    def _acts(self, letter: Routed) -> dict[type, Callable[[Any], object]]:
        replica, delegate, home, sender = self.replica, self.delegate, self.home, letter.origin
        acts: dict[type, Callable[[Any], object]] = {
            Inquire: lambda _: self._on_inquire(letter),
            Known: lambda body: replica.on_known(sender, body),
            Sync: lambda body: replica.on_sync(sender, body),
            Synced: lambda body: replica.on_synced(sender, body),
            Refused: lambda body: replica.on_refused(sender, body),
            Replicate: lambda body: replica.on_replicate(sender, body),
            Replicated: lambda body: replica.on_replicated(sender, body),
            Pull: lambda body: replica.on_pull(sender, body),
            Pulled: lambda body: replica.on_pulled(sender, body),
            Lead: lambda body: replica.on_lead(sender, body),
            Check: lambda body: self._on_check(letter, body),
            Dismissed: lambda body: self._on_dismissed(sender, body),
            Freeze: lambda body: delegate.on_freeze(letter, body),
            Adopt: lambda body: delegate.on_adopt(letter, body),
            ListIs: self._on_list,
        }
        if home is not None:
            acts |= {
                Move: lambda body: home.on_move(letter, body),
                Relieve: lambda body: home.on_relieve(letter, body),
                Frozen: home.on_frozen,
                Adopted: home.on_adopted,
                AskList: lambda body: home.on_ask(letter, body),
                Emptied: lambda body: home.on_emptied(letter, body),
            }
        return acts

    def _on_inquire(self, letter: Routed) -> None:
        record = self.replica.record
        known = Known(self.replica.shelf, record.confirmed, record.agreed_primary)
        self.broker.answer(letter, known)

    def _on_check(self, letter: Routed, check: Check) -> None:
        instead = self.replica.on_check(letter.origin, check)
        if instead:
            self.broker.redirect(letter, instead)

    def _on_dismissed(self, sender: str, dismissed: Dismissed) -> None:
        if self.replica.dismissed_by(sender, dismissed):
            self._drop()

    def _on_list(self, found: ListIs) -> None:
        if self.delegate.on_list(found):
            record = self.replica.record
            if record.secondary:
                self.broker.tell(record.secondary, Dismissed(record.shelf, record.confirmed))
            self._drop()

    def _drop(self) -> None:
        """Nothing here is needed; the broker deletes it when what is under way has ended."""
        if not self.gone:
            self.gone = True
            self.broker.bury(self.replica.shelf)
