"""Follows a topic into a database: ``audit.py CONFIG DATABASE TIMEOUT [BATCHES]``.

Batches are known by their positions, items by writer, slice and number. A batch that comes again is
skipped; an item that comes in two different batches is an error of the database. It takes its time
before and after each transaction, so that a kill finds every state. After a number of batches that
is given it stands still: the batch is stored, and not committed.
"""

from __future__ import annotations

import sqlite3
import sys
import time

import evenflow

config, database, timeout = sys.argv[1], sys.argv[2], float(sys.argv[3])
last = int(sys.argv[4]) if len(sys.argv) > 4 else 0
store = sqlite3.connect(database)
following = evenflow.follow(
    "items", "audit", config=evenflow.Config.load(config), limit=200, timeout=timeout
)
with following:
    for count, batch in enumerate(following, 1):
        known = store.execute("SELECT 1 FROM batches WHERE position = ?", (str(batch.position),))
        if known.fetchone():
            store.execute(
                "UPDATE batches SET times = times + 1 WHERE position = ?", (str(batch.position),)
            )
        else:
            columns = (batch.writers, batch.slices, batch.numbers, batch.ids)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            store.executemany(
                "INSERT INTO items VALUES (?, ?, ?, ?)", [(str(row[0]), *row[1:]) for row in rows]
            )
            store.execute("INSERT INTO batches VALUES (?, 1)", (str(batch.position),))
        time.sleep(0.01)
        store.commit()
        time.sleep(3600 if count == last else 0.02)
