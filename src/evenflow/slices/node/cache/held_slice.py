"""One slice at a node: its state, its term, and a track for each writer."""

from __future__ import annotations

from evenflow.model.messages import SliceState
from evenflow.slices.node.cache.kept_samples import KeptSamples
from evenflow.slices.node.cache.track import Track


class HeldSlice:
    """One slice at this node.

    Args:
        slice_id: The slice.
        state: Its state.
        term: Term of ownership; for a slice being taken, the term of the session.
        kept: Counts what all slices of the node keep.
    """

    __slots__ = ("_kept", "arrived", "asked_before", "busy", "items", "loading", "payload_bytes",
                 "session", "slice", "state", "term", "tracks")  # fmt: skip

    def __init__(
        self, slice_id: int, state: SliceState, term: int, kept: KeptSamples | None = None
    ) -> None:
        self._kept = KeptSamples() if kept is None else kept
        self.slice = slice_id
        self.state = state
        self.term = term
        self.session = 0
        """Term of the session in which the slice is being given away; 0 when it is not."""
        self.loading = False
        """Whether the state of the slice is still to be found at the store."""
        self.tracks: dict[int, Track] = {}
        self.items = self.payload_bytes = 0
        """What the slice has brought since it is held: items, and payload bytes."""
        self.busy = 0.0
        """Seconds the application has worked on it."""
        self.arrived = 0
        """Items that have arrived for it since it is held under its term (:meth:`announce`)."""
        self.asked_before = 0
        """The newest replay request that was sent before it was held under its term."""

    @property
    def usable(self) -> bool:
        """Whether the application may have items of it."""
        return self.state is SliceState.AVAILABLE and not self.loading

    @property
    def is_shut_out(self) -> bool:
        """Whether a publisher refused its term.

        It is kept and not processed until the map, or an order, says whose it is.
        """
        return self.state is SliceState.GIVING and not self.session

    def shut_out(self) -> None:
        """A publisher refused its term."""
        self.state, self.session = SliceState.GIVING, 0

    def track(self, writer: int) -> Track:
        """The track of a writer, made when there is none."""
        track = self.tracks.get(writer)
        if track is None:
            track = self.tracks[writer] = Track(self._kept)
        return track

    def announce(self, track: Track, last: int) -> None:
        """A writer's numbers go up to ``last``, as a batch, a refused one or the writer says.

        An overloaded node processes less than comes in, so what it processes says too little of
        its slices. What the numbers grow by is what arrives, wherever it waits. What was there
        when the slice was taken over, or when the writer was met, is no arrival: a slice that
        changes hands does not look busier than it is.
        """
        if last > track.last:
            if track.known:
                self.arrived += last - track.last
            track.last = last
