from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.cli.output.tables import GAP, Column, fitted, number, print_table, prose

LONG = "a-name-that-somebody-has-given-to-a-node-of-theirs-without-a-thought~1a2b3c"
COLUMNS = ("node", Column("state", 1), number("slices"), number("items", 2), prose("why"))


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_what_fits_is_shown_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table(COLUMNS, [("one", "loaded", "10", "1,000", "it joined")])
    head, rule, row = lines(capsys)
    assert head.split() == ["node", "state", "slices", "items", "why"]
    assert set(rule) <= {"─", " "}
    assert row.split() == ["one", "loaded", "10", "1,000", "it", "joined"]


@pytest.mark.parametrize("width", [80, 60, 40])
def test_no_name_is_cut_and_no_line_too_long(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    why = "the balancer found that it carries more than its share of the load"
    rows = [(f"{at}-{LONG}", "overloaded", "100", "1,234,567", why) for at in range(30)]
    print_table(COLUMNS, rows)
    found = lines(capsys)
    assert all(len(line) <= width for line in found)
    said = next(at for at, line in enumerate(found) if line.startswith("(no room for: "))
    shown, note = found[:said], " ".join(found[said:])
    # What is wrapped is whole when its lines are put together.
    folded = "".join(line.split()[0] for line in shown[2:] if line.split())
    everything = "".join("".join(shown[2:]).split())
    assert "…" not in everything
    for at in range(30):
        begins = f"{at}-{LONG}"[:10]
        assert begins in folded or begins in everything
    assert "items" in note


def test_a_name_as_wide_as_the_terminal_is_whole_on_its_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table(("node", number("slices")), [(LONG, "7")])
    shown = lines(capsys)[2:]
    assert "".join(line[:32].strip() for line in shown) == LONG


def test_a_pipe_gets_everything_on_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(COLUMNS, [(LONG, "overloaded", "100", "1", "why " * 50)])
    assert len(lines(capsys)) == 3


def test_brackets_are_no_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table(("node",), [("[bold]x[/bold]",)])
    assert lines(capsys)[-1] == "[bold]x[/bold]"


def test_the_least_important_goes_first() -> None:
    columns = (Column("a"), number("b", 1), number("c", 2), number("d", 3))
    wished = [10, 10, 10, 10]
    assert list(fitted(columns, wished, 46)) == [0, 1, 2, 3]
    assert list(fitted(columns, wished, 45)) == [0, 1, 2]
    assert list(fitted(columns, wished, 33)) == [0, 1]
    assert list(fitted(columns, wished, 5)) == [0]


def test_prose_gives_way_before_a_column_goes() -> None:
    columns = (Column("name"), number("n", 1), prose("why"))
    assert fitted(columns, [20, 10, 200], 80) == {0: 20, 1: 10, 2: 46}


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.booleans(), st.booleans(), st.integers(1, 200)),
        min_size=1,
        max_size=10,
    ),
    st.integers(40, 200),
)
def test_whatever_the_columns_what_is_needed_stays_and_the_rest_fits(
    made: list[tuple[int, bool, bool, int]], width: int
) -> None:
    columns = [Column("x", rank, is_number, words) for rank, is_number, words, _ in made]
    widths = fitted(columns, [wide for *_, wide in made], width)
    assert {at for at, one in enumerate(columns) if not one.rank} <= set(widths)
    assert all(wide >= 1 for wide in widths.values())
    total = sum(widths.values()) + GAP * (len(widths) - 1)
    rigid = sum(widths[at] for at in widths if columns[at].number)
    soft = sum(not columns[at].number for at in widths)
    assert total <= width or rigid + soft + GAP * (len(widths) - 1) > width - soft
