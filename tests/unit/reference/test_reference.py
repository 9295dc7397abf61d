"""The reference is what the code says; whoever changes a key or a name writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evenflow.reference.__main__ import written
from evenflow.reference.attributes import documented
from evenflow.reference.spark import accepted, explained, fitting

DOCS = Path(__file__).parents[3] / "docs"
WORDS_OF_IDL = frozenset(
    """abstract any alias attribute bitfield bitmask bitset boolean case char component connector
    const consumes context custom default double emits enum eventtype exception factory fixed float
    getraises home import in inout interface local long manages map mirrorport module multiple
    native object octet oneway out primarykey port porttype private provides public publishes raises
    readonly sequence setraises short string struct supports switch true truncatable typedef typeid
    typename typeprefix union unsigned uses valuebase valuetype void wchar wstring""".split()  # noqa: SIM905
)


@pytest.fixture(scope="module")
def current() -> dict[str, str]:
    return written(DOCS)


@pytest.mark.parametrize("name", ["reference.md", "evenflow.idl"])
def test_the_file_is_current(name: str, current: dict[str, str]) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == current[name], "run 'make reference'"


@pytest.mark.parametrize(
    "line",
    [
        '| `interface` | `"lo"` | the name or address of a network interface | Network interface',
        "| `--sender NAME` | who sends (host-pid) |",
        "| `consumer` | `spark` | name by which the query is registered",
        "| `evenflow_node_items_total` | counter | Items processed",
        "| `PublishTimeout` | `EvenflowError` | Publishing was blocked",
        "| `follow()` | Follow a served topic under a name. |",
        "| `session()` | ",
    ],
)
def test_every_kind_of_thing_is_there(line: str, current: dict[str, str]) -> None:
    assert line in current["reference.md"]


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("Subscriber", {"receive", "close", "stats"}),
        ("Replies", {"receive", "close"}),
        ("AsyncSubscriber", {"open", "receive", "close", "publishers"}),
        ("Following", {"commit", "stop", "position"}),
    ],
)
def test_a_class_is_shown_with_what_it_inherits(
    name: str, methods: set[str], current: dict[str, str]
) -> None:
    [row] = [one for one in current["reference.md"].splitlines() if one.startswith(f"| `{name}` ")]
    assert methods <= set(re.findall(r"`(\w+)`", row))


def test_every_row_has_as_many_cells_as_its_table(current: dict[str, str]) -> None:
    before = 0
    for line in current["reference.md"].splitlines():
        cells = line.replace("\\|", "").count("|")
        assert cells in {0, before} or not before, line
        before = cells


class Sample:
    first: int = 1
    """Of the first
    two lines."""
    second: int = 2


def test_what_stands_under_a_field_is_found() -> None:
    assert documented(Sample) == {"first": "Of the first two lines."}


def test_options_are_found_where_they_are_read() -> None:
    source = '_KNOWN = ("a", "b")\nclass Options:\n    """What a query sets."""\n'
    source += "    def of(given):\n        known_options(given, _KNOWN)\n"
    assert accepted(source) == {"What a query sets": ("a", "b")}


def test_an_option_is_explained_by_the_table_that_fits_best() -> None:
    tables = explained(
        "| option | default | meaning |\n|---|---|---|\n| `name` | | of a sink |\n\n"
        "| option | default | meaning |\n|---|---|---|\n| `name`, `topic` | x | of a source |\n"
    )
    assert fitting(tables, ("name", "topic"))["name"] == ("x", "of a source")
    assert fitting(tables[:1], ("name",))["name"] == ("", "of a sink")


def test_no_name_is_a_word_of_idl() -> None:
    """Else a compiler of IDL refuses the file."""
    text = re.sub(r"//.*", "", (DOCS / "evenflow.idl").read_text(encoding="utf-8"))
    names = re.findall(r"(\w+);", text)
    assert len(names) > 200
    assert not {name.lower() for name in names} & WORDS_OF_IDL
