"""Messages as bytes: MessagePack, checked against the messages' own annotations when it is read.

Reading is strict: an unknown message, a field that is missing, left over, of another type or out of
bounds, text that is not UTF-8, or values that the message itself refuses end in a `DecodeError`,
and in nothing else. So what arrives damaged or from a stranger costs the connection and no more.
"""

from __future__ import annotations

from typing import Any, Union

import msgspec

from evenflow.errors import DecodeError, OverlayError
from evenflow.overlay.protocol import messages as m

_encoder = msgspec.msgpack.Encoder()


class Codec:
    """Writes and reads values of some types; with more than one type these are `Sendable`."""

    def __init__(self, *kinds: type) -> None:
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Union[kinds])  # noqa: UP007  types at run time

    @staticmethod
    def encode(value: msgspec.Struct) -> bytes:
        """Return a value as bytes."""
        return _encoder.encode(value)

    def decode(self, data: bytes) -> Any:
        """Return the value that the bytes hold, exactly; else raise `DecodeError`."""
        try:
            return self._decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, OverlayError) as error:
            raise DecodeError(str(error), size=len(data)) from None


LINK = Codec(m.Hello, m.Welcome, m.Members, m.Heartbeat, m.Reach, m.Reached, m.Envelope, m.Share)
"""What travels on a connection."""

REQUESTS = Codec(
    m.Join, m.Publish, m.Fetch, m.Subscribe, m.Taken, m.Unsubscribe, m.MoveTopic, m.Trim,
    m.AskStatus,
)  # fmt: skip
"""What a client may put into an envelope."""

BODY = Codec(
    m.Prepare, m.Promise, m.Outbid, m.Propose, m.Agreed, m.AskConfig, m.Decided, m.Sync, m.Synced,
    m.Refused, m.Replicate, m.Replicated, m.Pull, m.Pulled, m.Lead, m.Check, m.Dismissed, m.Freeze,
    m.Frozen, m.Adopt, m.Adopted, m.AskList, m.ListIs, m.Emptied, m.Offer, m.OfferReply, m.Relieve,
    m.Join, m.Joined, m.Publish, m.Published, m.Fetch, m.Fetched, m.Redirect, m.MoveTopic,
    m.MoveDone, m.Failed, m.Waiting, m.AskStatus, m.BrokerStatus, m.Subscribe, m.Subscribed,
    m.Pushed, m.Taken, m.Resubscribe, m.FetchInstead, m.Unsubscribe, m.HandOn, m.HandedOn,
    m.Keep, m.Kept, m.Shifted, m.LoadReport, m.AskPlace, m.PlaceIs, m.Trim,
)  # fmt: skip
"""What is inside an envelope."""
