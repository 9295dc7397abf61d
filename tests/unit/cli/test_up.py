from __future__ import annotations

from pathlib import Path

import pytest

from evenflow.cli import main
from evenflow.cli.options import Shared
from evenflow.cli.up import configured, summary
from evenflow.fleet.local import Books
from evenflow.fleet.vehicles import FleetBooks, RoundTrip

TRIPS = tuple(RoundTrip(whole, asked) for whole, asked in ((3.0, 1.2), (2.5, 1.0), (9.0, 1.1)))
FLEET = FleetBooks(reports=1_000, planted=3, found=2, false=0, answers=4, round_trips=TRIPS)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENFLOW_CONFIG", raising=False)


class TestConfiguration:
    def test_the_first_topic_is_served_and_answers_have_one(self) -> None:
        config = configured(Shared())
        assert (config.topics[0].name, config.topics[0].served) == ("items", True)
        assert not config.topic("alerts").served

    def test_a_file_and_the_command_line_are_followed(self, tmp_path: Path) -> None:
        (tmp_path / "evenflow.toml").write_text("[topics.cars]\nslices = 7\n")
        config = configured(Shared(settings={"topics.alerts.slices": 3, "domain.id": 9}))
        assert (config.topics[0].name, config.topics[0].slices) == ("cars", 7)
        assert config.topic("alerts").slices == 3
        assert config.domain.id == 9
        assert configured(Shared(), 12).topics[0].slices == 12

    def test_the_history_is_the_operators(self, tmp_path: Path) -> None:
        assert Path(configured(Shared()).history.path).parent == tmp_path

    @pytest.mark.parametrize(
        "wrong",
        [
            ("--nodes", "0"),
            ("--vehicles", "x"),
            ("--rate", "0.5"),
            ("--rate", "inf"),
            ("--troubles", "-1"),
        ],
    )
    def test_wrong_numbers_are_refused(
        self, wrong: tuple[str, str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["up", *wrong]) == 2
        assert f"Invalid value for '{wrong[0]}'" in capsys.readouterr().err


class TestBooks:
    def test_what_is_not_in_sparks_table_is_lost_and_what_is_twice_is_repeated(self) -> None:
        books = Books(FLEET, published=1_000, committed=1_000, rows=1_005, distinct=998)
        assert (books.lost, books.repeated) == (2, 7)

    def test_the_summary_says_it_all(self) -> None:
        text = summary(Books(FLEET, 1_000, 990, 1_005, 998), moves=6)
        assert "1,000 published, 990 committed, 1,005 in Spark's table" in text
        assert "lost      2\nrepeated  7\n" in text
        assert "2 found of 3 planted, 0 false" in text
        assert "4, round trip 3.00 s median, 9.00 s at most in 99 %\n" in text
        assert "the windows ask for 1.10 s of it, 1.80 s are beyond (medians)\n" in text
        assert text.endswith("moves     6")
