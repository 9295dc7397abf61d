from __future__ import annotations

import gc
import subprocess
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


FAULTS = """
import ctypes, resource
from evenflow.spark.reused import keep_memory
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        buffers = [libc.malloc(16 << 20) for _ in range(3)]
        for buffer in buffers:
            ctypes.memset(buffer, 1, 16 << 20)
        for buffer in buffers:
            libc.free(buffer)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

given_back = faults()
keep_memory()
faults()
print(given_back, faults())
"""


def test_freed_memory_is_kept_for_what_comes_next() -> None:
    """A page that is given back to the system costs a fault when it is needed again."""
    told = subprocess.check_output([sys.executable, "-c", FAULTS], text=True)
    given_back, kept = map(int, told.split())
    assert kept < given_back / 10
