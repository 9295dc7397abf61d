"""How a process that has ended says by what."""

from __future__ import annotations

import pytest

from evenflow.cli.running import exit_code_of
from evenflow.errors import StorageError


def test_a_fault_in_words_is_an_error_of_its_own_and_any_other_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code_of("gateway", None) == 0
    with pytest.raises(StorageError, match="make room"):  # one line, exit code 2
        exit_code_of("gateway", StorageError("marks", "full: make room"))
    assert not capsys.readouterr().err
    assert exit_code_of("gateway", KeyError("lost")) == 1
    assert "the gateway stopped: KeyError('lost')" in capsys.readouterr().err
