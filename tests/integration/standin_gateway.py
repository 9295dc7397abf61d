"""The gateway's side of a mailbox's messages, with nodes that are only names and marks."""

from __future__ import annotations

import json
import threading
import time

from evenflow.domain.channels import ATTACHMENTS, GATEWAYS, MAIL, MAIL_RECEIPTS, POSITIONS
from evenflow.domain.cyclone import Participant
from evenflow.model.messages import Attachment, GatewayReport, MailReceipt, Positions


class SomeNode:
    """A mobile node: what it has, in the order it came; it may be attached to one gateway."""

    def __init__(self, name):
        self.name = name
        self.connection = 0
        self.received = {}
        self.got = []

    def take(self, mail, number, previous):
        if previous <= self.received.get(mail.mailbox, 0) < number:
            self.received[mail.mailbox] = number
            self.got.append((mail.sender, mail.group, bytes(mail.payload)))

    @property
    def texts(self):
        return [payload.decode() for _, _, payload in self.got]


class StandInGateway:
    """Says who is attached, gives messages to nodes, tells the mailbox what they have."""

    def __init__(self, name, domain_config):
        self.name = name
        self.nodes = {}
        self.silent = False
        """Whether it takes messages and says nothing."""
        self.samples = 0
        self._participant = Participant(domain_config)
        self._reports = self._participant.writer(GATEWAYS)
        self._attachments = self._participant.writer(ATTACHMENTS)
        self._positions = self._participant.writer(POSITIONS)
        self._mail = self._participant.reader(MAIL, (name,))
        self._receipts = {}
        self._waiter = self._participant.waiter()
        self._waiter.attach(self._mail)
        self._lock = threading.Lock()
        self._running = True
        self._reports.write(GatewayReport(name, (), 0, 100, False, ()))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def attach(self, node, **attributes):
        with self._lock:
            node.connection += 1
            self.nodes[node.name] = node
            self._announce(node.name, node.connection, True, attributes)

    def detach(self, node):
        with self._lock:
            del self.nodes[node.name]
            self._announce(node.name, node.connection, False, {})

    def move(self, places):
        names = tuple(places)
        self._positions.write(
            Positions(
                self.name,
                names,
                tuple(places[name][0] for name in names),
                tuple(places[name][1] for name in names),
            )
        )

    def _announce(self, node, connection, attached, attributes):
        self._attachments.write(
            Attachment(self.name, node, connection, attached, json.dumps(attributes), time.time())
        )

    def _run(self):
        while self._running:
            self._waiter.wait(0.1)
            for mail in self._mail.take():
                self.samples += 1
                if not self.silent:
                    self._give(mail)

    def _give(self, mail):
        received, returned = {}, []
        with self._lock:
            for name, number, previous in zip(mail.nodes, mail.numbers, mail.previous, strict=True):
                node = self.nodes.get(name)
                if node is None:
                    returned.append(name)
                else:
                    node.take(mail, number, previous)
                    received[name] = node.received.get(mail.mailbox, 0)
        writer = self._receipts.get(mail.mailbox)
        if writer is None:
            writer = self._participant.writer(MAIL_RECEIPTS, mail.mailbox)
            self._receipts[mail.mailbox] = writer
        writer.write(
            MailReceipt(
                mail.mailbox,
                self.name,
                tuple(received),
                tuple(received.values()),
                tuple(returned),
            )
        )

    def close(self):
        self._running = False
        self._waiter.wake()
        self._thread.join()
        self._participant.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
