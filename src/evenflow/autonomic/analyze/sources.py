"""Which processes a pattern means, where events and groups speak of them."""

from __future__ import annotations

from fnmatch import fnmatchcase

from evenflow.model.ids import NodeId


def matches(process: str, pattern: str) -> bool:
    """Whether a process is meant; the number of its run, after a ``~``, does not count.

    As in paths, a ``*`` does not reach over a ``/``: ``*`` are nodes, ``query/*/*`` are queries.
    """
    if process.count("/") != pattern.count("/"):
        return False
    return fnmatchcase(process, pattern) or fnmatchcase(NodeId(process).name, pattern)
