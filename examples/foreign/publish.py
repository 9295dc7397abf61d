"""Publishes items with stock cyclonedds: the smallest program that speaks as a publisher.

    python publish.py DOMAIN TOPIC SLICES COUNT

A publisher does four things (docs/protocol.md):

1. It numbers the items of each slice from 1, and keeps them until they are committed.
2. It says how far its numbers go: EpochClose, once at the start (epoch 0), then again and again.
3. It answers who owns a slice now, and asks: how far it is committed, how far the numbers go; and
   it sends again what is lacking. The newest term wins; who has an older one is refused.
4. It forgets what was committed under the newest term, and says goodbye when that is everything.

This one has no map of owners: it writes with the partition ``*``, to all nodes, and those that do
not own a slice drop its items. It goes by no cut: when nobody hears it for long, what it publishes
afterwards does not count. And it hears no consumers: on a served topic it is they who commit
(docs/contract.md), so there it ends after a while, with exit code 1. When nothing is committed for
long it says what it waits for.
"""

import random
import sys
import time

import idl
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic

TYPES = idl.load()
EVERYBODY = Qos(Policy.Partition(["*", "to-readers"]))  # who reads with * is matched by a name
TELL_S, GIVE_UP_S = 5.0, 30.0  # without a commit


class ForeignPublisher:
    """One writer of one topic."""

    def __init__(self, domain, topic, slices):
        self.topic, self.slices = topic, slices
        self.writer = random.getrandbits(64)
        self.epoch = self.serial = 0
        self.kept = {}  # (slice, number): item
        self.last = [0] * slices
        self.floor = [0] * slices
        self.term = [0] * slices
        participant = DomainParticipant(domain)
        ours = Qos(Policy.Partition([f"{self.writer:016x}"]))

        def writer(name, kind, qos, partition=EVERYBODY):
            topic = Topic(participant, f"evenflow/{name}", TYPES[kind])
            return DataWriter(Publisher(participant, partition), topic, qos)

        def reader(name, kind):
            topic = Topic(participant, f"evenflow/{name}", TYPES[kind])
            return DataReader(Subscriber(participant, ours), topic, idl.KEPT)

        self.requests = reader("requests", "ReplayRequest")
        self.commits = reader("commits", "Commit")
        self.items = writer(f"data/{topic}", "Sample", idl.STREAM)
        self.again = writer(f"replay/{topic}", "Sample", idl.STREAM)
        self.answers = writer("answers", "ReplayAnswer", idl.KEPT)
        self.epochs = writer("epochs", "EpochClose", idl.STATE, None)
        self.close_epoch()

    def publish(self, slice_id, sender, item_id, payload):
        """Number an item, keep it, send it."""
        number = self.last[slice_id] = self.last[slice_id] + 1
        self.kept[slice_id, number] = (sender, item_id, int(time.time() * 1e6), payload)
        self.send(self.items, slice_id, number)

    def send(self, writer, slice_id, number):
        """Write one kept item; a sample may have as many as you like, sorted by slice."""
        sender, item_id, now, payload = self.kept[slice_id, number]
        self.serial += 1
        head = (self.writer, self.serial, self.epoch + 1, [slice_id], [1], [number])
        name = list(sender.encode())
        columns = ([item_id], [now], [0, len(name)], name, [0, len(payload)], list(payload))
        writer.write(TYPES["Sample"](*head, *columns))

    def close_epoch(self, *, closing=False):
        """Say how far the numbers go."""
        open_slices = [s for s in range(self.slices) if self.last[s] > self.floor[s]]
        newest = [self.last[s] for s in open_slices]
        self.epochs.write(
            TYPES["EpochClose"](
                self.writer, self.topic, self.epoch, self.slices, open_slices, newest, closing,
                0, sum(self.last), 0, 0,
            )
        )  # fmt: skip
        self.epoch += 1

    def serve(self):
        """Answer nodes, and forget what they have committed."""
        for request in taken(self.requests):
            self.answer(request)
        for commit in taken(self.commits):
            for s, term, upto in zip(commit.slices, commit.terms, commit.upto, strict=True):
                if term >= self.term[s]:
                    self.term[s] = term
                    for number in range(self.floor[s] + 1, upto + 1):
                        del self.kept[s, number]
                    self.floor[s] = max(self.floor[s], upto)

    def answer(self, request):
        """A node owns slices since some term: where their numbers start, and what it lacks."""
        asked = list(zip(request.slices, request.terms, request.have, strict=True))
        owned = [(s, term, have) for s, term, have in asked if term >= self.term[s]]
        refused = [s for s, term, _ in asked if term < self.term[s]]
        for s, term, _ in owned:
            self.term[s] = term
        slices = [s for s, _, _ in owned]
        self.answers.write(
            TYPES["ReplayAnswer"](
                self.topic, self.writer, request.node, request.request, slices,
                [self.floor[s] for s in slices], [self.last[s] for s in slices],
                refused, [self.term[s] for s in refused],
            )
        )  # fmt: skip
        for s, _, have in owned:
            for number in range(max(have, self.floor[s]) + 1, self.last[s] + 1):
                self.send(self.again, s, number)


def taken(reader):
    """What has come; without what only says that a writer has gone."""
    return [one for one in reader.take(100) if one.sample_info.valid_data]


class Patience:
    """Says what is waited for when nothing is committed for a while, and when that is too long."""

    def __init__(self, publisher):
        self.publisher = publisher
        self.before = (0, 0)
        self.since = self.told = time.monotonic()

    def is_over(self, published):
        """Look whether anything has happened."""
        state, now = (published, sum(self.publisher.floor)), time.monotonic()
        if state != self.before:
            self.before, self.since, self.told = state, now, now
        if now > self.told + TELL_S:
            self.told = now
            print(
                f"waiting: {len(self.publisher.kept)} items are not committed for"
                f" {now - self.since:.0f} s; does a node with an application run for"
                f" {self.publisher.topic!r}? If it is a served topic, its consumers commit, and"
                " this program does not hear them",
                file=sys.stderr,
                flush=True,
            )
        return now > self.since + GIVE_UP_S


def main(domain, topic, slices, count):
    """Publish so many items, one each 5 ms; end when all are committed; return the exit code."""
    publisher = ForeignPublisher(int(domain), topic, int(slices))
    patience = Patience(publisher)
    print("ready", flush=True)
    published, next_epoch = 0, 0.0
    while published < int(count) or publisher.kept:
        if published < int(count):
            publisher.publish(published % int(slices), "foreign", published, b"hello")
            published += 1
        publisher.serve()
        if time.monotonic() >= next_epoch:
            next_epoch = time.monotonic() + 0.1
            publisher.close_epoch()
        if patience.is_over(published):
            return 1
        time.sleep(0.005)
    publisher.close_epoch(closing=True)
    time.sleep(0.5)  # the goodbye is on its way
    print(f"committed {sum(publisher.floor)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
