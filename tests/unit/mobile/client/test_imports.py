"""What a program on a mobile node loads: neither DDS, nor NumPy, nor Arrow, nor Spark."""

from __future__ import annotations

import subprocess
import sys

from evenflow import mobile

HEAVY = ("cyclonedds", "numpy", "pyarrow", "pyspark", "pandas", "rich", "psutil")
LINKS = ("qh3", "aioquic")
SCRIPT = """
import sys
from evenflow.mobile import connect, connect_async
loaded = {name.partition(".")[0] for name in sys.modules}
print(*sorted(loaded & set(sys.argv[1:])))
"""


def test_the_client_is_light() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *HEAVY, *LINKS], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_exported_names_are_pinned() -> None:
    assert sorted(mobile.__all__) == [
        "AsyncClient",
        "AsyncMessenger",
        "Client",
        "ClientStats",
        "Message",
        "Messenger",
        "Patience",
        "Sent",
        "Trust",
        "connect",
        "connect_async",
    ]
    for name in mobile.__all__:
        assert hasattr(mobile, name)
