"""What may be published."""

from __future__ import annotations

from typing import Any

import pytest

from evenflow.errors import UsageError
from evenflow.model.payload import encode_payload, encode_payloads


@pytest.mark.parametrize("single", ["abc", b"abc", bytearray(b"abc"), {"speed": 1}])
def test_a_single_payload_is_not_taken_for_many(single: Any) -> None:
    with pytest.raises(UsageError, match="takes a list"):
        encode_payloads(single)
    assert encode_payloads([single, single]) == 2 * [encode_payload(single)]


@pytest.mark.parametrize("other", [3, None, [1, 2], {"a": {1}}])
def test_what_no_door_knows_is_refused(other: Any) -> None:
    with pytest.raises(UsageError):
        encode_payload(other)
