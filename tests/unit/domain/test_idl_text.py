"""The IDL in the docs is what travels."""

from __future__ import annotations

import re
from pathlib import Path

from evenflow.domain.channels import CONTROL
from evenflow.domain.idl_text import idl_text

FILE = Path(__file__).parents[3] / "docs" / "evenflow.idl"
WORDS = """abstract any alias attribute bitfield bitmask bitset boolean case char component
connector const consumes context custom default double emits enum eventtype exception factory fixed
float getraises home import in inout interface local long manages map mirrorport module multiple
native object octet oneway out primarykey port porttype private provides public publishes raises
readonly sequence setraises short string struct supports switch true truncatable typedef typeid
typename typeprefix union unsigned uses valuebase valuetype void wchar wstring""".split()  # noqa: SIM905


def test_the_file_is_current() -> None:
    # python -m evenflow.domain.idl_text > docs/evenflow.idl
    assert FILE.read_text() == idl_text()


def test_every_channel_is_there_and_no_name_is_a_word_of_idl() -> None:
    text = idl_text()
    names = re.findall(r"(\w+);", text)
    assert len(names) > 200
    assert not {name.lower() for name in names} & set(WORDS)
    for channel in CONTROL:
        assert f"struct {channel.message_type.__name__} {{" in text
        assert f"// {channel.name}: " in text
