"""A hundred sensors, each with a reading a second, for a while; one stands in the sun."""

import random
import sys
import time

from evenflow import Publisher

IN_THE_SUN = 17


def main(seconds=10):
    """Publish, then wait until every reading has been processed."""
    with Publisher("temperatures") as publisher:
        for _ in range(seconds):
            for number in range(100):
                celsius = random.uniform(18, 26) + (15 if number == IN_THE_SUN else 0)
                reading = {"sensor": f"sensor-{number}", "celsius": celsius}
                publisher.publish(reading, sender=reading["sensor"])
            time.sleep(1)
    print(f"{publisher.stats.committed} readings processed")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
