"""A mailbox that cannot begin leaves nothing open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest

from evenflow.config import Config
from evenflow.config.mobile_sections import MailboxConfig
from evenflow.errors import DomainError
from evenflow.mobile.mailbox.disk import MailDisk
from evenflow.mobile.mailbox.mailbox import Mailbox

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("broken", ["waiter", "reader", "writer"])
def test_a_domain_that_cannot_be_entered_leaves_the_folder_free(
    tmp_path: Path, broken: str
) -> None:
    config = Config(mailbox=MailboxConfig(state_dir=str(tmp_path)))
    participant: Any = MagicMock()
    getattr(participant, broken).side_effect = DomainError("domain 0", "no room")
    with pytest.raises(DomainError):
        Mailbox("m1", config=config, participant=participant)
    with MailDisk(config.mail_folder / "m1", "m1"):
        pass
    participant.close.assert_not_called()
