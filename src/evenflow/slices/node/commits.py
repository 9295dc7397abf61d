"""Commits: what a node tells publishers that they may forget.

What the application is through with may be committed. Of a durable topic with state it has to be in
a snapshot first (:mod:`~evenflow.slices.node.application.snapshots`); until then the publisher
keeps it, so that whoever takes the slice over can be given it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.ids import WriterId
from evenflow.model.messages import Commit, SliceState
from evenflow.slices.actions import Send

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.slices.node.application.snapshots import Snapshots
    from evenflow.slices.node.cache.slice_cache import SliceCache
    from evenflow.slices.node.cache.track import Track


class Commits:
    """What is to be committed, of one node and topic.

    Args:
        topic: The topic.
        node: The node.
        cache: What is held here.
        gone_since: Known writers: since when each is gone, None for one that is there.
        snapshots: Where states are stored before items are committed; None: nowhere.
    """

    def __init__(
        self,
        topic: str,
        node: str,
        cache: SliceCache,
        gone_since: Mapping[int, float | None],
        snapshots: Snapshots | None,
    ) -> None:
        self.dirty: set[tuple[int, int]] = set()
        """(slice, writer) that may be committed further than they are."""
        self._topic, self._node = topic, node
        self._cache = cache
        self._gone_since = gone_since
        self._snapshots = snapshots

    def on_processed(self, slice_id: int, writer: int) -> None:
        """The application is through with items."""
        if self._snapshots is None:
            self.dirty.add((slice_id, writer))
        else:
            self._snapshots.change(slice_id)

    def upto(self, track: Track) -> int:
        """Up to which number the items of a track may be committed."""
        return track.done if self._snapshots is None else track.saved

    def take(self, only: frozenset[int] | None = None) -> list[Send]:
        """Tell publishers what is to be committed, of all slices or of some."""
        ready: dict[int, list[tuple[int, int, int]]] = {}
        for key in [key for key in self.dirty if only is None or key[0] in only]:
            slice_id, writer = key
            held = self._cache.held.get(slice_id)
            track = held.tracks.get(writer) if held else None
            if held is not None and track and self._gone_since.get(writer, 0.0) is not None:
                continue  # it is told when it is heard again
            self.dirty.discard(key)
            if held is None or track is None or not track.known:
                continue
            if held.state is SliceState.TAKING:
                continue
            ready.setdefault(writer, []).append((slice_id, held.term, self.upto(track)))
        commits: list[Send] = []
        for writer, rows in ready.items():
            slices, terms, numbers = zip(*rows, strict=True)
            commit = Commit(self._topic, writer, self._node, "", slices, terms, numbers)
            commits.append(Send(commit, to=WriterId.text(writer)))
        return commits
