"""Reading dead letters: looking at them, publishing their items again, dropping them.

Who replays or drops is the consumer `DEAD` of ``TOPIC.dead``: what it has committed is gone. Items
are published again with their sender, id, time, payload and headers. A batch of letters is
committed when they are acknowledged; who is killed in between publishes the items of that batch
again next time. It ends with the letters that were there at its beginning: what fails again is put
aside again at once, and may go on failing for ever.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from evenflow.errors import DecodeError, DomainError
from evenflow.slices.consumer.following import follow
from evenflow.slices.consumer.registry.declared import DEAD
from evenflow.slices.consumer.served_batch import items_of
from evenflow.slices.consumer.watching import Watcher
from evenflow.slices.dead_letters.letter import decode_letter, once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.config import Config
    from evenflow.model.batch import Item
    from evenflow.slices.dead_letters.letter import DeadLetter
    from evenflow.slices.publisher.publisher import Publisher

QUIET_S: Final = 1.0
"""When nothing came for so long, that was all."""

_LOG = logging.getLogger(__name__)


def list_letters(topic: str, config: Config) -> list[DeadLetter]:
    """The letters of a topic that nobody has replayed or dropped, each once.

    Raises:
        DomainError: Nobody serves the letters, or not all of them could be read.
    """
    dead_name = config.topic(topic).dead_name
    with Watcher(dead_name, config, name=DEAD) as watcher:
        items = [item for rows in watcher.look(QUIET_S) for item in items_of(rows)]
        if watcher.overtaken:
            raise DomainError(
                f"topic {dead_name!r}",
                "not all letters could be read, try again: a node is gone,"
                " or somebody replays or drops them",
            )
    return list(once(_letters(items)))


def settle_letters(topic: str, config: Config, publisher: Publisher | None) -> int:
    """Publish the items of all letters again, or drop them without a publisher; return how many."""
    seen: set[tuple[str, str, int, int]] = set()
    dead_name = config.topic(topic).dead_name
    with follow(dead_name, DEAD, config=config, timeout=QUIET_S) as following:
        newest = following.newest
        for batch in following:
            letters = [one for one in _letters(batch) if one.identity not in seen]
            for letter in once(letters):
                seen.add(letter.identity)
                if publisher is not None:
                    item = letter.item
                    publisher.publish(
                        item.payload, sender=item.sender, id=item.id, time=item.time,
                        headers=item.headers,
                    )  # fmt: skip
            if publisher is not None:
                publisher.flush()
            following.commit()
            if following.position.covers(newest):
                break
    return len(seen)


def _letters(items: Iterable[Item]) -> Iterator[DeadLetter]:
    for item in items:
        try:
            yield decode_letter(item.payload)
        except DecodeError as error:
            _LOG.warning("item %d of %s: %s", item.id, item.sender, error)
