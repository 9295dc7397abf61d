"""The same by a Spark query: who is too fast is answered.

    evenflow node --serve --topic watched        instead of the other node
    python watch.py
    TOKEN=$(evenflow token issue car-7 --publish watched) python car.py watched

A micro-batch is over when its answers are on a mailbox's disk. One that failed half-way is done
again by Spark, and its answers are sent again.
"""

import signal
import sys

from evenflow.mobile import Messenger
from evenflow.spark.session import session

LIMIT = 50.0


def main():
    """Run the query until it is stopped."""
    spark = session("watch")
    with Messenger("spark-limit") as messenger:

        def answer(fast, _batch):
            """Send an answer to each car of the micro-batch."""
            senders = fast.select("sender").distinct().toLocalIterator()
            messenger.send_many((row.sender, {"limit": LIMIT}) for row in senders)

        items = spark.readStream.format("evenflow").option("topic", "watched").load()
        query = (
            items.where(f"speed > {LIMIT}")
            .writeStream.foreachBatch(answer)
            .option("checkpointLocation", "watch.checkpoint")
            .start()
        )
        signal.signal(signal.SIGTERM, lambda *_: query.stop())
        query.awaitTermination()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
