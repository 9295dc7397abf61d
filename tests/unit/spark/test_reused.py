from __future__ import annotations

import gc
import sys

import pytest

from evenflow.spark import reused


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: found.append("frozen"))
    monkeypatch.setattr(reused, "_settled", set())
    monkeypatch.setattr(sys, "path", ["/here", "/jars/spark-core.jar", "/there.zip"])
    monkeypatch.setattr(sys, "path_importer_cache", {"/jars/spark-core.jar": None, "/here": None})
    return found


def test_a_process_that_spark_uses_again_settles_once_for_each_kind_of_work(
    frozen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(reused.REUSED, "1")
    for work in ("read", "read", "write"):
        reused.settle(work)
    assert len(frozen) == 2
    assert sys.path == ["/here", "/there.zip"]
    assert list(sys.path_importer_cache) == ["/here"]


def test_another_process_is_left_alone(frozen: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(reused.REUSED, raising=False)
    reused.settle("read")
    assert not frozen
    assert "/jars/spark-core.jar" in sys.path
