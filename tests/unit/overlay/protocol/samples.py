"""Messages of every shape, and damage to them."""

from __future__ import annotations

import random

from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.messages import (
    Accepted,
    Adopt,
    Adopted,
    Agreed,
    AskConfig,
    AskList,
    AskPlace,
    AskStatus,
    Ballot,
    Check,
    Config,
    Decided,
    Dismissed,
    Emptied,
    Envelope,
    Failed,
    FailureLoad,
    Fetch,
    Fetched,
    FetchInstead,
    Freeze,
    Frozen,
    HandedOn,
    HandOn,
    Heartbeat,
    Hello,
    Join,
    Joined,
    Keep,
    Kept,
    Label,
    Lead,
    ListIs,
    LoadReport,
    Member,
    Members,
    Message,
    MoveDone,
    MoveTopic,
    Offer,
    OfferReply,
    Outbid,
    Place,
    PlaceIs,
    PlaceLoad,
    Prepare,
    Promise,
    Propose,
    Publish,
    Published,
    PublisherState,
    Pull,
    Pulled,
    Pushed,
    Reach,
    Reached,
    Redirect,
    Refused,
    Relieve,
    Replicate,
    Replicated,
    Resubscribe,
    Scope,
    Share,
    ShelfId,
    Shifted,
    SpotLoad,
    Subscribe,
    Subscribed,
    Subscription,
    Sync,
    Synced,
    Taken,
    TermStart,
    Trim,
    Unsubscribe,
    Waiting,
)
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList

PLACE = Coordinate(0.25, 0.75)
SHELF = ShelfId("meters", PLACE)
LABEL = Label(
    3,
    2,
    7,
    DelegateList.at_home(PLACE).delegate(Coordinate(0.5, 0.5), 9),
    1,
    2,
    3,
    4,
    (Subscription(7, "b1", 3),),
)
MESSAGE = Message(5, 6, 7, b"payload")
BALLOT = Ballot(3, "b1")
CONFIG = Config(0, 9, "b1", ("b1", "b2"), ("b1",), ("b1",), (7,))
SHARE = Share("b2", 4, 1, (SpotLoad(("b1", "b3"), 10, "meters", PLACE, 5),))
MEMBER = Member("b1", PLACE, "127.0.0.1:1", 4, disk=7)
BODIES = [
    Join(SHELF, 2),
    Joined(2, LABEL.delegates, 9),
    Publish(SHELF, 1, 2, (b"", b"x" * 300)),
    Fetch(SHELF, 1, 0, 10, 100),
    Fetched((MESSAGE, MESSAGE), 5),
    Prepare(SHELF, BALLOT, CONFIG),
    Promise(SHELF, BALLOT, CONFIG, (Accepted(BALLOT, CONFIG),)),
    Outbid(SHELF, BALLOT, CONFIG),
    Propose(SHELF, BALLOT, CONFIG, CONFIG),
    Agreed(SHELF, BALLOT, CONFIG),
    AskConfig(SHELF, CONFIG),
    Decided(SHELF, CONFIG),
    Sync(SHELF, CONFIG, True, 1, 2, (TermStart(1, 2),), LABEL, (PublisherState(1, 2, 3),)),
    Synced(SHELF, 9, 1, True, 5),
    Refused(SHELF),
    Replicate(SHELF, 9, 4, (MESSAGE,), 4, (LABEL,), (PublisherState(1, 2, 3),), 1),
    Replicated(SHELF, 9, 5, 3, 1),
    Pull(SHELF, 9, 1, 5),
    Pulled(SHELF, 9, 1, 5, (MESSAGE,)),
    Lead(SHELF, 9),
    Check(SHELF, CONFIG, False),
    Dismissed(SHELF, CONFIG),
    Freeze(SHELF, 4, 5),
    Frozen(SHELF, 4, 5, (PublisherState(1, 2, 3),), 10),
    Adopted(SHELF, 4, 4),
    AskList(SHELF, 4),
    ListIs(SHELF, 4, False, 5, 3, LABEL.delegates),
    Emptied(SHELF, 5),
    OfferReply(SHELF, True),
    MoveTopic(SHELF, Coordinate(0.5, 0.5)),
    Redirect(LABEL.delegates),
    Failed("no"),
    Waiting("for b1"),
    Published(1, 2, 3),
    Adopt(SHELF, 1, 2, LABEL, (PublisherState(1, 2, 3),), 10, (), 7),
    Offer(SHELF, ("b1", "b2", "b3"), 10),
    Relieve(SHELF, PLACE, Coordinate(0.5, 0.5), 10),
    MoveDone(LABEL.delegates),
    AskStatus(),
    Subscribe(SHELF, 7, 5),
    Subscribed(7),
    Pushed(7, 4, (MESSAGE,), 5),
    Taken(SHELF, 7, 5),
    Resubscribe(7, LABEL.delegates),
    FetchInstead(7, 10),
    Unsubscribe(SHELF, 7),
    HandOn(SHELF, PLACE, 1, 5, (MESSAGE,)),
    HandedOn(SHELF, 1, 5, True, 3),
    Keep(SHELF, 9, 1, 5, (MESSAGE,)),
    Kept(SHELF, 9, 1, 5),
    Shifted(SHELF, 1, 5, PLACE, 3),
    Trim(SHELF, 5),
    LoadReport(SHARE, 10, (FailureLoad("b1", 4),)),
    AskPlace(7, Scope.REGION, PLACE, ("b1", "b2", "b3"), 10),
    PlaceIs(7, (Place(PLACE, ("b1", "b2", "b3"), PlaceLoad(9, 3, 2)),)),
    PlaceIs(7, ()),
    Offer(SHELF, ("b1",), 10, new=True, here=(PlaceLoad(9, 3, 2),)),
]
LINKS = [
    Hello(()),
    Hello((MEMBER,)),
    Members((MEMBER, Member("b2", Coordinate(0.1, 0.1), "", 1, alive=False))),
    Heartbeat(12, 7),
    Reach("b2"),
    Reached("b2", reached=True),
    SHARE,
    *(Envelope(PLACE, "b1", 3, "b2", 1, 2, False, BODY.encode(body), disk=7) for body in BODIES),
]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Damage some bytes, or cut, repeat or insert some."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                del changed[at : at + rng.randrange(1, 9)]
            case 2:
                changed[at:at] = rng.randbytes(rng.randrange(1, 9))
            case _:
                changed[at:at] = changed[at : at + rng.randrange(1, 20)]
    return bytes(changed)
