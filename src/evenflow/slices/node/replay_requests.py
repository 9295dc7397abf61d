"""Replay requests: which publishers a node has to ask, for which slices, and when.

A node asks a publisher for two reasons: it does not know where the numbers of a slice start (it
took the slice over, or meets the publisher for the first time), or numbers are missing. The first
is asked at once; for the second it waits ``grace`` seconds, because what seems missing is mostly
still on its way. A request is repeated every ``retry`` seconds until it is no longer needed, so a
lost request or answer does no harm. All slices that are due at one publisher go into one request.
"""

from __future__ import annotations


class ReplayRequests:
    """The pending requests of one node."""

    def __init__(self, grace: float, retry: float) -> None:
        self._grace = grace
        self._retry = retry
        self._due: dict[int, dict[int, float]] = {}

    def at_once(self, writer: int, slice_id: int, now: float) -> None:
        """Ask where the numbers start, or for all that is newer, with the next poll."""
        self._due.setdefault(writer, {})[slice_id] = now

    def soon(self, writer: int, slice_id: int, now: float) -> None:
        """Ask for missing numbers, unless they arrive within the grace time."""
        self._due.setdefault(writer, {}).setdefault(slice_id, now + self._grace)

    def resolve(self, writer: int, slice_id: int) -> None:
        """Nothing is missing any more."""
        due = self._due.get(writer)
        if due is not None and due.pop(slice_id, None) is not None and not due:
            del self._due[writer]

    def forget_writer(self, writer: int) -> None:
        """A writer cannot answer any more."""
        self._due.pop(writer, None)

    def forget_slices(self, slices: set[int]) -> None:
        """These slices are not ours any more, or not for now."""
        for writer in list(self._due):
            for slice_id in slices & self._due[writer].keys():
                self.resolve(writer, slice_id)

    def poll(self, now: float) -> list[tuple[int, list[int]]]:
        """What to ask now: slices by writer. Each is due again after the retry time."""
        requests = []
        for writer, due in self._due.items():
            slices = [slice_id for slice_id, at in due.items() if at <= now]
            for slice_id in slices:
                due[slice_id] = now + self._retry
            if slices:
                requests.append((writer, slices))
        return requests

    def is_pending(self, slices: frozenset[int]) -> bool:
        """Whether a request for one of these slices is pending."""
        return any(not slices.isdisjoint(due) for due in self._due.values())
