"""An application that writes down every item it processes, before it says that it did."""

from __future__ import annotations

import os
import time

FILE = os.open(os.environ["EVENFLOW_RECORD"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
PAUSE_S = float(os.environ.get("EVENFLOW_PAUSE", "0"))


def record(batch):
    for item in batch:
        time.sleep(PAUSE_S)
        os.write(FILE, b"%d\n" % item.id)
