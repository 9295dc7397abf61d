from __future__ import annotations

from evenflow.fleet.job import reason_of


def test_of_sparks_long_errors_our_own_words_are_told() -> None:
    error = RuntimeError(
        '[STREAM_FAILED] Query [id = 1] terminated with exception: ...\n  File "x", line 1\n'
        "evenflow.errors.DomainError: topic 'items' in domain 1: start 'evenflow balancer'\n at x"
    )
    assert reason_of(error) == "topic 'items' in domain 1: start 'evenflow balancer'"


def test_of_others_the_first_line() -> None:
    assert reason_of(ValueError("\nJava gateway exited\nat java")) == "Java gateway exited"
