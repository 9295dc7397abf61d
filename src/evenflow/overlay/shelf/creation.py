"""Shelves that a broker does not have: made when they are new, and only then.

A letter for a shelf that is not here may mean three things. Another broker begins a term with us:
then we take a copy, empty at first, unless a broker around knows a newer term than the sender does,
who then returned from the dead and does not know what happened meanwhile. A client joins a topic,
or home adopts us as a delegate: then the shelf is new, unless it lies around here and we, who came
lately, do not know. In all three cases we ask the brokers around. When none has a new shelf we make
it, and when one has it we wait for that one to come to us. All other letters are for a shelf that
was here once: their senders will ask again elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenflow.overlay.protocol.messages import (
    Adopt,
    Check,
    Epoch,
    Inquire,
    Join,
    Label,
    Lead,
    Pull,
    Pulled,
    Refused,
    Replicate,
    Shelf,
    Sync,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.record import Record
from evenflow.overlay.replica.replica import AROUND, Inquiry
from evenflow.overlay.shelf.shelf import Keeper
from evenflow.overlay.space.delegation import DelegateList

if TYPE_CHECKING:
    from evenflow.overlay.broker.core import BrokerCore
    from evenflow.overlay.protocol.messages import Known, Routed

SETTLE_S = 0.5
"""After a broker joined, new shelves wait this long, so that old ones can find it."""
MOST_NEW = 10_000
MOST_LETTERS = 256


class Birth:
    """A shelf that may be new: who is being asked, and who waits for it."""

    def __init__(self, label: Label) -> None:
        self.label = label
        self.sync: tuple[Routed, Sync] | None = None
        """The term that another begins with us."""
        self.inquiry: Inquiry | None = None
        self.letters: list[tuple[Routed, Any]] = []


class Nursery:
    """The shelves that may have to be made."""

    def __init__(self, broker: BrokerCore) -> None:
        self._broker = broker
        self._births: dict[Shelf, Birth] = {}
        self._changed = broker.now

    @property
    def steady(self) -> bool:
        """Whether no broker came or went lately, as far as we know."""
        return self._broker.now >= self._changed + SETTLE_S

    def members_changed(self) -> None:
        """A broker came or went."""
        self._changed = self._broker.now
        for birth in self._births.values():
            birth.inquiry = None

    def handle(self, letter: Routed, body: Any) -> None:
        """Take a letter for a shelf that is not here."""
        broker = self._broker
        if isinstance(body, Sync):
            if body.shelf in self._births or len(self._births) < MOST_NEW:
                birth = self._births.setdefault(body.shelf, Birth(body.label))
                birth.sync = (letter, body)
                self._ask(body.shelf, birth)
        elif isinstance(body, Check | Replicate | Lead):
            broker.tell(letter.origin, Refused(body.shelf, 0, 0))
        elif isinstance(body, Pull):
            broker.tell(letter.origin, Pulled(body.shelf, body.start, body.end, ()))
        elif isinstance(body, Adopt) or (isinstance(body, Join) and body.level):
            closest = broker.members.closest(body.shelf.coordinate, 1)
            if closest == (broker.members.me.name,):
                self._expect(letter, body)

    def _expect(self, letter: Routed, body: Join | Adopt) -> None:
        shelf, birth = body.shelf, self._births.get(body.shelf)
        if birth is None:
            if len(self._births) >= MOST_NEW or (isinstance(body, Join) and not shelf.at_home):
                return
            birth = self._births[shelf] = Birth(self._label(body))
        if len(birth.letters) < MOST_LETTERS:
            birth.letters.append((letter, body))
        self._ask(shelf, birth)

    @staticmethod
    def _label(body: Join | Adopt) -> Label:
        if isinstance(body, Adopt):
            return replace(body.label, revision=0, ticket=0, ticket_term=0, floor=0, version=0)
        return Label(0, body.level, 0, DelegateList.at_home(body.shelf.home))

    def review(self) -> None:
        """Ask again where it is due; give up what nobody wants any more."""
        for shelf, birth in list(self._births.items()):
            self._ask(shelf, birth)

    def _ask(self, shelf: Shelf, birth: Birth) -> None:
        broker, inquiry = self._broker, birth.inquiry
        if inquiry is not None and broker.now < inquiry.asked + RETRY_S:
            return
        me = broker.members.me.name
        around = broker.members.closest(shelf.coordinate, AROUND + 1)
        if birth.sync is None:
            if not self.steady:
                return
            if around[0] != me or shelf in broker.keepers:
                del self._births[shelf]
                return
        sender = birth.sync[0].origin if birth.sync is not None else ""
        birth.inquiry = Inquiry(set(around) - {me, sender}, broker.now)
        for name in sorted(birth.inquiry.waiting):
            broker.tell(name, Inquire(shelf))
        self._decide(shelf, birth)

    def on_known(self, sender: str, known: Known) -> None:
        """A broker answers whether it has a shelf."""
        birth = self._births.get(known.shelf)
        if birth is None or birth.inquiry is None:
            return
        if birth.sync is not None:
            letter, sync = birth.sync
            if known.confirmed > sync.base:
                del self._births[known.shelf]
                self._broker.tell(letter.origin, Refused(known.shelf, 0, known.confirmed))
                return
        elif known.confirmed:
            del self._births[known.shelf]  # it will come to us
            return
        birth.inquiry.waiting.discard(sender)
        self._decide(known.shelf, birth)

    def _decide(self, shelf: Shelf, birth: Birth) -> None:
        if birth.inquiry is None or birth.inquiry.waiting or self._births.pop(shelf, None) is None:
            return
        if birth.sync is not None:
            keeper = self._make(shelf, birth.label)
            keeper.handle(*birth.sync)
            for letter, body in birth.letters:
                keeper.handle(letter, body)
            return
        keeper = self._make(shelf, birth.label, new=True)
        # A delegate that home gave up meanwhile asks, and hears that it is not needed.
        keeper.replica.verified = shelf.at_home
        keeper.replica.begin()
        for letter, body in birth.letters:
            keeper.handle(letter, body)

    def _make(self, shelf: Shelf, label: Label, *, new: bool = False) -> Keeper:
        """Put a shelf here, empty; a new one speaks from now on."""
        broker = self._broker
        start = broker.wall if new else 0
        record = Record(shelf, 0, 0, "", "", "", start, (Epoch(0, start),), label)
        broker.store.save(record)
        keeper = broker.keepers[shelf] = Keeper(broker, record, 0)
        keeper.replica.verified = True
        self._births.pop(shelf, None)
        return keeper
