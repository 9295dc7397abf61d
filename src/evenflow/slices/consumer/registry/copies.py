"""What is passed on of a consumer's newest commit, for its next process and for whoever starts."""

from __future__ import annotations

from typing import Final

from evenflow.model.messages import CommitCopy, ConsumerCommit

BALANCER: Final = "balancer"
"""Who keeps the copy, in a ``CommitCopy`` of the balancer."""

NOBODY: Final = 0
"""No writer's id. The last commit of a consumer that has expired names it: so it is told from one
that somebody has released."""


def is_expired(said: ConsumerCommit | CommitCopy) -> bool:
    """Whether this is the last word about a consumer that has expired."""
    return said.ended and NOBODY in said.writers


def copy_of(commit: ConsumerCommit, node: str, *, away: bool) -> CommitCopy:
    """What a node tells of a commit."""
    return CommitCopy(
        commit.topic,
        commit.consumer,
        node,
        away,
        commit.number,
        commit.writers,
        commit.epochs,
        commit.ended,
        commit.planned_writers,
        commit.planned_epochs,
    )


def commit_of(copy: CommitCopy) -> ConsumerCommit:
    """The commit of which a node tells."""
    return ConsumerCommit(
        copy.topic,
        copy.consumer,
        copy.number,
        copy.writers,
        copy.epochs,
        copy.ended,
        copy.planned_writers,
        copy.planned_epochs,
    )
