"""GUIDs of devices."""

from __future__ import annotations

import pytest

from evenflow.bridge.protocol.guid import guid_of, guid_text, parse_guid
from evenflow.device.evenflow_device import DeviceCore


def test_a_guid_is_derived_from_the_name() -> None:
    assert guid_text(guid_of("boiler-7")) == "866176753" + guid_text(guid_of("boiler-7"))[9:]
    assert DeviceCore("boiler-7", 1).guid == guid_of("boiler-7")
    assert guid_of("boiler-7") != guid_of("boiler-8")
    assert parse_guid(guid_text(guid_of("x"))) == guid_of("x")


@pytest.mark.parametrize("text", ["", "12", "g" * 24, "0" * 23, "0" * 25])
def test_what_is_no_guid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="24 hexadecimal digits"):
        parse_guid(text)
