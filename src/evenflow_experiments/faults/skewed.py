"""Runs a program with a wall clock that is set apart.

``python -m evenflow_experiments.faults.skewed SECONDS MODULE [ARGUMENT...]``

What Python's ``time`` says since 1970 is so far ahead of the machine's clock, from before the first
import of the program on; intervals are as they were. All that Evenflow decides or stamps by a wall
clock goes by this one. What C libraries read for themselves is not changed. (libfaketime would
change it too, and lets every ``time.sleep`` of Python fail.)
"""

from __future__ import annotations

import runpy
import sys
import time


def main() -> None:
    """Set the clock apart, and become the program."""
    seconds, module, *arguments = sys.argv[1:]
    ahead, real_ns = round(float(seconds) * 1e9), time.time_ns
    vars(time).update(
        time_ns=lambda: real_ns() + ahead,
        time=lambda: (real_ns() + ahead) / 1e9,
    )
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
