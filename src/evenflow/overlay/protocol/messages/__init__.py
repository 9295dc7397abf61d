"""What brokers and clients of the live store say to one another.

A *shelf* is a topic at a coordinate: the messages of the times for which the coordinate is
responsible. It lies on the brokers closest to the coordinate, its primary and its secondary.

=======================================  ===========================  ============================
on a connection                          from -> to                   meaning
=======================================  ===========================  ============================
``Hello`` ``Welcome``                    whoever connects             who is there
``Members``                              neighbour -> neighbour       who lives, died or left
``Heartbeat``                            neighbour -> neighbour       alive; digest of my members
``Reach`` ``Reached``                    broker -> neighbour          do you hear of this one?
``Share``                                neighbour -> neighbour       what each broker bears
``Envelope``                             towards a coordinate         one of those below
---------------------------------------  ---------------------------  ----------------------------
``Prepare`` ``Promise`` ``Outbid``       proposer -> voters           what follows this decision?
``Propose`` ``Agreed``                   proposer -> voters           this: accept it
``Decided`` ``AskConfig``                whoever knows -> others      which copies count now
``Sync`` ``Synced`` ``Refused``          primary -> member            a new term begins
``Replicate`` ``Replicated``             primary -> secondary         keep this; it is on disk
``Pull`` ``Pulled``                      copy behind -> other copy    messages of earlier terms
``Lead``                                 primary -> secondary         you are closer: begin a term
``Check`` ``Dismissed``                  holder -> primary            am I still needed? no
``Freeze`` ``Frozen``                    home -> delegate             take no more; here is the rest
``Adopt`` ``Adopted``                    home -> new delegate         be ready to take over
``AskList`` ``ListIs``                   delegate -> home             which list is in force?
``Emptied``                              old delegate -> home         all of it has expired
``HandOn`` ``HandedOn``                  old delegate -> the next     take my newest; all have it
``Keep`` ``Kept``                        primary -> member            of a past delegate; on disk
``Shifted``                              old delegate -> home         the next has it: say so
``LoadReport``                           broker -> those around it    what I lead and bear
``AskPlace`` ``PlaceIs``                 broker -> any coordinate     where is a good place?
``Offer`` ``OfferReply``                 broker -> possible delegate  would you take this topic?
``Relieve`` ``MoveDone`` ``Failed``      broker -> home               move it, if it is still there
---------------------------------------  ---------------------------  ----------------------------
``Join`` ``Joined``                      client -> home -> delegate   where is this topic now?
``Publish`` ``Published``                client -> delegate           store it; it is stored
``Fetch`` ``Fetched``                    client -> responsible        what came after this time?
``Redirect``                             broker -> client             ask there; here is the list
``Subscribe`` ``Subscribed``             client -> delegate           push what comes; it is kept
``Pushed`` ``Taken``                     delegate -> client           here it is; go on
``Resubscribe`` ``FetchInstead``         delegate -> client           kept here now; you are behind
``Unsubscribe``                          client -> delegate           no more
``MoveTopic`` ``MoveDone`` ``Failed``    operator -> home             move a topic
``Trim``                                 client -> home -> delegates  this is not needed any more
``AskStatus`` ``BrokerStatus``           operator -> any broker       what it holds and knows
=======================================  ===========================  ============================

Every message may be lost, late, repeated or overtaken: each carries a term, a ticket, a sequence or
a time that makes it safe to handle anyway. `evenflow.overlay.protocol.codec` writes and reads them.
"""

from __future__ import annotations

from evenflow.overlay.protocol.messages.agreement import (
    Accepted,
    Agreed,
    AskConfig,
    Decided,
    Outbid,
    Prepare,
    Promise,
    Propose,
)
from evenflow.overlay.protocol.messages.clients import (
    AskStatus,
    BrokerStatus,
    Failed,
    Fetch,
    Fetched,
    Join,
    Joined,
    MoveDone,
    MoveTopic,
    Publish,
    Published,
    Redirect,
    Trim,
    Waiting,
)
from evenflow.overlay.protocol.messages.links import (
    Envelope,
    Heartbeat,
    Hello,
    Members,
    Reach,
    Reached,
    Welcome,
)
from evenflow.overlay.protocol.messages.loads import (
    AskPlace,
    FailureLoad,
    LoadReport,
    Offer,
    OfferReply,
    Place,
    PlaceIs,
    PlaceLoad,
    Relieve,
    Scope,
    Share,
    SpotLoad,
)
from evenflow.overlay.protocol.messages.moves import (
    Adopt,
    Adopted,
    AskList,
    Emptied,
    Freeze,
    Frozen,
    HandedOn,
    HandOn,
    Keep,
    Kept,
    ListIs,
    Shifted,
)
from evenflow.overlay.protocol.messages.replication import (
    Check,
    Dismissed,
    Lead,
    Pull,
    Pulled,
    Refused,
    Replicate,
    Replicated,
    Sync,
    Synced,
)
from evenflow.overlay.protocol.messages.subscriptions import (
    FetchInstead,
    Pushed,
    Resubscribe,
    Subscribe,
    Subscribed,
    Taken,
    Unsubscribe,
)
from evenflow.overlay.protocol.messages.vocabulary import (
    LONGEST_PAYLOAD,
    Ballot,
    Config,
    Label,
    Member,
    Message,
    PublisherState,
    ShelfId,
    Subscription,
    TermStart,
)

__all__ = [
    "LONGEST_PAYLOAD",
    "Accepted",
    "Adopt",
    "Adopted",
    "Agreed",
    "AskConfig",
    "AskList",
    "AskPlace",
    "AskStatus",
    "Ballot",
    "BrokerStatus",
    "Check",
    "Config",
    "Decided",
    "Dismissed",
    "Emptied",
    "Envelope",
    "Failed",
    "FailureLoad",
    "Fetch",
    "FetchInstead",
    "Fetched",
    "Freeze",
    "Frozen",
    "HandOn",
    "HandedOn",
    "Heartbeat",
    "Hello",
    "Join",
    "Joined",
    "Keep",
    "Kept",
    "Label",
    "Lead",
    "ListIs",
    "LoadReport",
    "Member",
    "Members",
    "Message",
    "MoveDone",
    "MoveTopic",
    "Offer",
    "OfferReply",
    "Outbid",
    "Place",
    "PlaceIs",
    "PlaceLoad",
    "Prepare",
    "Promise",
    "Propose",
    "Publish",
    "Published",
    "PublisherState",
    "Pull",
    "Pulled",
    "Pushed",
    "Reach",
    "Reached",
    "Redirect",
    "Refused",
    "Relieve",
    "Replicate",
    "Replicated",
    "Resubscribe",
    "Scope",
    "Share",
    "ShelfId",
    "Shifted",
    "SpotLoad",
    "Subscribe",
    "Subscribed",
    "Subscription",
    "Sync",
    "Synced",
    "Taken",
    "TermStart",
    "Trim",
    "Unsubscribe",
    "Waiting",
    "Welcome",
]
