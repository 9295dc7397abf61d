"""What a session is given by others stays as it is."""

from __future__ import annotations

from pathlib import Path

from evenflow.spark.session import chosen_settings, given_settings


def test_the_master_and_all_else_that_was_given_stay() -> None:
    given = {"spark.master": "yarn", "spark.app.name": "nightly", "spark.ui.enabled": "true"}
    chosen = chosen_settings("evenflow", "", {}, given)
    assert not given.keys() & chosen.keys()
    assert "spark.driver.host" not in chosen, "the loopback address is for a local master"
    assert "spark.hadoop.fs.file.impl" not in chosen


def test_without_anything_it_is_local() -> None:
    chosen = chosen_settings("mine", "", {}, {})
    assert (chosen["spark.master"], chosen["spark.app.name"]) == ("local[2]", "mine")
    assert chosen["spark.driver.host"] == "127.0.0.1"


def test_a_state_store_that_needs_hadoops_own_files_has_them() -> None:
    rocks = {"spark.sql.streaming.stateStore.providerClass": "a.b.RocksDBStateStoreProvider"}
    files = "spark.hadoop.fs.file.impl"
    assert chosen_settings("mine", "", {}, {})[files].endswith(".RawLocalFileSystem")
    for settings, given in ((rocks, {}), ({}, rocks)):
        chosen = chosen_settings("mine", "", settings, given)
        # Not left out: a session before it in the same Java process has set the other one.
        assert chosen[files].endswith(".LocalFileSystem")
        assert chosen[f"{files}.disable.cache"] == "true"
    assert files not in chosen_settings("mine", "yarn", rocks, {})


def test_what_the_program_names_itself_counts_first() -> None:
    given = {"spark.master": "yarn", "spark.ui.enabled": "true"}
    chosen = chosen_settings("mine", "local[4]", {"spark.ui.enabled": "false"}, given)
    assert (chosen["spark.master"], chosen["spark.ui.enabled"]) == ("local[4]", "false")


def test_defaults_and_arguments_are_found_before_java_runs(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# ours\nspark.master  spark://host:7077\nspark.ui.enabled=true\nspark.x = 1 2\n\nlonely\n"
    )
    environment = {"SPARK_CONF_DIR": str(tmp_path)}
    found = {"spark.master": "spark://host:7077", "spark.ui.enabled": "true", "spark.x": "1 2"}
    assert given_settings(environment) == found
    environment["PYSPARK_SUBMIT_ARGS"] = "--master yarn --conf spark.a=b=c pyspark-shell"
    assert given_settings(environment) == found | {"spark.master": "yarn", "spark.a": "b=c"}
    assert given_settings({}) == {}
