"""A device at an Evenflow bridge: this file is all it needs, with Python or MicroPython.

    device = Device("boiler-7")
    temperature = device.publisher("temperature", "Temperature(celsius f64, room text32)")
    commands = device.subscriber("commands", "Command(valve u8)")
    while True:
        device.poll()                        # every few milliseconds; returns what came
        temperature.publish(21.5, "cellar")

:class:`DeviceCore` holds the rules and touches neither socket nor clock: bytes in, bytes out, the
time in milliseconds comes along. It looks for its bridge, sets its entities up, follows it when it
moves, and looks for another when it is silent for three heartbeats. Items are kept until they are
safe, and go to no second bridge before the first has settled them. :class:`Device` is the socket
around it. The rules are those of docs/bridge.md.
"""

import hashlib
import struct
import time

try:
    import socket
except ImportError:  # the core alone is of use there
    pass

TYPE_CHECKING = False
if TYPE_CHECKING:  # MicroPython has no typing, and evaluates no annotation
    Value = int | float | str
    Values = tuple[Value, ...]
    Samples = list[tuple["Entity", Values]]
    Outgoing = list[tuple[bytes, object]]
    Offer = tuple[str, object, int, int, int]

CONNECT, ACCEPTED, REFUSED, CREATE, SET_TOPIC, SET_TYPE, DONE, DATA, ITEM, SAFE = range(1, 11)
SETTLE, SETTLED, HEARTBEAT, ALIVE, MOVED, ADOPT, SERVED, GOODBYE, BYE = range(11, 20)
DOOR = (CONNECT, ACCEPTED, REFUSED, ADOPT, SERVED, GOODBYE, BYE)
PUBLISHER, SUBSCRIBER, ITEMS = 1, 2, 3
EARLIER, ELSEWHERE, REPLAYED = 3, 4, 5
NO_SUCH_ENTITY = 1
MOST = 1200
KINDS = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "text")
FORMATS = ("B", "b", "h", "i", "q", "B", "H", "I", "Q", "f", "d")
TRY_MS, PROBE_MS, RESEND_MS, LINGER_MS = 250, 400, 300, 50
WRAP = 0xFFFFFFFF


def hmac(key: bytes, data: bytes) -> bytes:
    """HMAC-SHA256 of some bytes, whole."""
    key = key + bytes(64 - len(key))
    inner = hashlib.sha256(bytes([b ^ 0x36 for b in key]) + data).digest()
    return hashlib.sha256(bytes([b ^ 0x5C for b in key]) + inner).digest()


def check(fits: bool, what: str) -> None:  # noqa: FBT001
    """ValueError for what a bridge would drop without a word."""
    if not fits:
        raise ValueError(what)


def text(value: str) -> bytes:
    """A text with its length before it."""
    encoded = value.encode()
    return bytes((len(encoded),)) + encoded


class Reader:
    """Reads a datagram; ValueError when it is too short."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def take(self, size: int) -> bytes:
        """So many bytes."""
        self.at += size
        if self.at > len(self.data):
            raise ValueError("too short")
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> int:
        """One number."""
        got: int = struct.unpack(">" + form, self.take(struct.calcsize(">" + form)))[0]
        return got

    def text(self) -> str:
        """A text with its length before it."""
        return self.take(self.take(1)[0]).decode()


def parse_type(line: str) -> "tuple[str, list[tuple[int, int, str]]]":
    """Name and fields of a type; ValueError when it is none."""
    type_name, _, rest = line.partition("(")
    fault = line + " is no type; write Name(field kind, ...), kinds: " + str(KINDS)
    check(type_name != "" and line[-1] == ")", fault)
    fields: list[tuple[int, int, str]] = []
    for one in rest[:-1].split(","):
        name, _, kind = one.strip().partition(" ")
        digits = kind[4:] or "255"
        size = int(digits) if kind[:4] == "text" and digits.isdigit() else 0
        kind = "text" if 0 < size < 256 else kind
        check(name != "" and kind in KINDS and (kind == "text") == (size > 0), fault)
        fields.append((KINDS.index(kind), size, name))
    return type_name, fields


class Entity:
    """A publisher, a subscriber, or a source of items."""

    def __init__(self, core: "DeviceCore", role: int, topic: str, line: str, reliable: int) -> None:
        self.core, self.role, self.topic, self.reliable = core, role, topic, reliable
        self.fault, self.mark = 0, 0
        self.type_name, self.fields = parse_type(line) if line else ("", [])
        self.kept: list[tuple[int, int, bytes]] = []
        """Items that are not safe: number, time, payload."""
        self.newest = self.safe = self.sent = 0
        self.sent_to, self.due, self.asking, self.slow = "", 0, False, False

    def publish(self, *values: "Value") -> bool:
        """Publish a sample, best effort; False: there is no bridge now, and it is dropped."""
        out = bytearray()
        check(len(values) == len(self.fields), self.type_name + ": one value for each field")
        for (kind, size, name), value in zip(self.fields, values):
            where = self.type_name + "." + name
            check(isinstance(value, str) == (size > 0), where + " is of kind " + KINDS[kind])
            if isinstance(value, str):
                check(len(value.encode()) <= size, where + ": the text is too long")
                out += text(value)
            else:
                out += struct.pack(">" + FORMATS[kind], value)
        self.check_size(5 + len(out))
        return self.core.send_data(self, bytes(out))

    def check_size(self, size: int) -> None:
        """What fits into no datagram would be sent for ever, and never taken."""
        check(24 + size + (24 if self.core.key else 0) <= MOST, "too large for a datagram")

    def unpack(self, reader: Reader) -> "Values":
        """The values of a sample."""
        values: list[Value] = []
        for kind, _, _ in self.fields:
            values.append(reader.text() if KINDS[kind] == "text" else reader.number(FORMATS[kind]))
        return tuple(values)

    def send(self, payload: bytes, time_us: int = 0) -> bool:
        """Send an item; False: too many are not safe yet, try again later."""
        self.check_size(25 + len(payload))
        if len(self.kept) >= self.core.keep:
            return False
        self.newest += 1
        self.kept.append((self.newest, time_us, payload))
        return True

    def settle(self, number: int) -> None:
        """All items up to this number are accepted."""
        self.safe = max(self.safe, number)
        self.kept = [one for one in self.kept if one[0] > number]


class DeviceCore:
    """The rules of a device; times are milliseconds of any clock that only grows.

    Args:
        name: Its name; the GUID is derived from it if none is given.
        run: Larger at every start (a clock in microseconds, a count of starts); if it is not, the
            bridge says so and the device goes on above.
        guid: 12 bytes.
        key: 32 bytes; every datagram is sealed then.
        heartbeat_ms: How often the bridge is asked whether it is there.
        keep: Items of an entity that are kept until they are safe.
        direct: Whether CONNECT goes to single bridges and not to a group.
    """

    def __init__(
        self,
        name: str,
        run: int,
        guid: bytes = b"",
        key: bytes = b"",
        heartbeat_ms: int = 500,
        keep: int = 8,
        *,
        direct: bool = False,
    ) -> None:
        self.name, self.run, self.key, self.keep = name, run, key, keep
        self.guid = guid or hashlib.sha256(name.encode()).digest()[:12]
        self.heartbeat_ms, self.direct = heartbeat_ms, direct
        self.entities: list[Entity] = []
        self.out: Outgoing = []
        """Datagrams to send, and where to; None: to all who may be bridges."""
        self.counter, self.session, self.bridge = run, 0, ""
        self.address: object = None
        self.serving = False
        self.salt = self.bridge_counter = self.tries = self.due = self.heard = 0
        self.session_key = b""
        self.echo_from = 0
        self.ready = self.step = 0
        self.request_due = 0
        self.sent = self.received = self.confirmed = self.unsure = 0
        self.marks: list[int] = []
        self.offer: Offer | None = None
        """Bridge, address, session, salt, entities."""
        self.probe = 0
        self.farewell: tuple[object, int, str, int] | None = None
        """To the former bridge: its address and session, who serves now, how often at most."""
        self.farewell_due = self.served = 0

    # -- saying ------------------------------------------------------------------------------------

    def pack(self, kind: int, body: bytes, number: int = 0, session: int = -1) -> bytes:
        """A datagram, sealed if there is a key."""
        session = self.session if session < 0 else session
        flags = 1 if self.key else 0
        data = struct.pack(">2sBBBB12sIH", b"EF", 1, kind, flags, 0, self.guid, session, number)
        data += body
        if self.key:
            self.counter += 1
            data += struct.pack(">Q", self.counter)
            data += hmac(self.key if kind in DOOR else self.session_key, data)[:16]
        return data

    def say(self, kind: int, body: bytes, number: int = 0) -> None:
        """A datagram to the bridge."""
        self.out.append((self.pack(kind, body, number), self.address))

    def say_run(self, kind: int, session: int, bridge: str, target: object) -> None:
        """GOODBYE or SERVED, with the bridge that serves this device now."""
        body = struct.pack(">Q", self.run) + text(bridge)
        self.out.append((self.pack(kind, body, 0, session), target))

    def beat(self, now: int) -> None:
        """A heartbeat."""
        self.due = now + self.heartbeat_ms
        offer = self.offer[0] if self.offer else ""
        counts = (self.sent & WRAP, self.received & WRAP, self.unsure & WRAP)
        self.say(HEARTBEAT, struct.pack(">IIIQ", *counts, self.salt) + text(offer))

    def connect(self, now: int, target: object = None) -> None:
        """Ask for the bridge that owns this device; every eight tries it is a new session."""
        if self.tries % 8 == 0 and target is None:
            self.session += 1
            self.echo_from = self.counter + 1
        body = struct.pack(">QBHB", self.run, min(self.tries, 255), self.heartbeat_ms, self.direct)
        data = self.pack(CONNECT, body + text(self.name) + text(self.bridge))
        self.out.append((data, target))
        if target is None:
            self.tries += 1
            wait = TRY_MS if self.tries <= 8 else min(4000, TRY_MS * (self.tries - 6))
            self.due = now + wait + self.guid[self.tries % 12] % 64

    def search(self, now: int) -> None:
        """The bridge is silent, or has sent the device away."""
        self.serving, self.offer = False, None
        self.tries, self.due = 0, now

    def go_on(
        self, now: int, bridge: str, address: object, session: int, salt: int, entities: int
    ) -> None:
        """A bridge serves this device from now on; the former one is told."""
        if self.bridge and self.bridge != bridge and self.address is not None:
            self.farewell = (self.address, self.served, bridge, 5)
            self.farewell_due = now + LINGER_MS  # what is on its way arrives first
            self.unsure = self.sent - self.confirmed
        self.bridge, self.address, self.session, self.salt = bridge, address, session, salt
        self.served = session
        if self.key:
            made_of = struct.pack(">12sQIQ", self.guid, self.run, session, salt)
            self.session_key = hmac(self.key, b"EF session" + made_of)
        self.serving, self.offer = True, None
        self.bridge_counter, self.heard, self.probe, self.tries = 0, now, 0, 0
        self.sent = self.received = self.confirmed = 0
        self.ready, self.step, self.request_due = min(self.ready, entities), 0, now
        for entity in self.entities:
            entity.asking, entity.due, entity.slow = entity.sent > entity.safe, now, False
        self.beat(now)

    # -- hearing -----------------------------------------------------------------------------------

    def receive(self, data: bytes, source: object, now: int) -> "Samples":
        """A datagram came; return the samples in it. What makes no sense is dropped."""
        try:
            return self.understand(data, source, now)
        except (ValueError, IndexError):
            return []

    def understand(self, data: bytes, source: object, now: int) -> "Samples":
        """Like receive; ValueError when it makes no sense."""
        if len(data) < 24 or data[:3] != b"EF\x01" or data[6:18] != self.guid:
            return []
        kind, session = data[3], struct.unpack(">I", data[18:22])[0]
        inside = kind not in DOOR
        if inside and not (self.serving and session == self.session and source == self.address):
            return []
        if (data[4] & 1) != (1 if self.key else 0):
            return []
        if self.key:
            tag = hmac(self.session_key if inside else self.key, data[:-16])[:16]
            counter = struct.unpack(">Q", data[-24:-16])[0]
            if tag != data[-16:] or (inside and counter <= self.bridge_counter):
                return []
            if inside:
                self.bridge_counter = counter
            data = data[:-24]
        reader = Reader(data, 24)
        if not inside:
            self.at_door(kind, session, reader, source, now)
            return []
        self.heard = now
        return self.in_session(kind, struct.unpack(">H", data[22:24])[0], reader, now)

    def at_door(self, kind: int, session: int, reader: Reader, source: object, now: int) -> None:
        """What concerns no session, or another one than that of now."""
        if kind == BYE and self.farewell and self.farewell[0] == source:
            self.farewell = None
        elif kind == ACCEPTED:
            echo, salt, entities = reader.number("Q"), reader.number("Q"), reader.number("B")
            bridge = reader.text()
            if not self.serving and session == self.session and self.is_mine(echo):
                self.go_on(now, bridge, source, session, salt, entities)
            elif self.serving and bridge != self.bridge:
                self.say_run(GOODBYE, session, self.bridge, source)
        elif kind == REFUSED and not self.serving and session == self.session:
            self.refused(reader, now)
        elif kind == ADOPT:
            run, salt, entities = reader.number("Q"), reader.number("Q"), reader.number("B")
            if run == self.run and session <= self.session + 1:  # sessions are counted here
                self.adopted((reader.text(), source, session, salt, entities), now)

    def is_mine(self, echo: int) -> bool:
        """Whether an answer is to the CONNECT of now, and to none of former times."""
        return self.echo_from <= echo <= self.counter if self.key else echo == self.run

    def refused(self, reader: Reader, now: int) -> None:
        """The owner does not take this device, or another one owns it."""
        reason, echo, floor = reader.number("B"), reader.number("Q"), reader.number("Q")
        wait, address = reader.number("H"), reader.text()
        if not self.is_mine(echo):
            return
        if reason == REPLAYED:
            self.counter, self.due = max(self.counter, floor), now
        elif reason == EARLIER and floor >= self.run:
            # Only who has just started: another run has other items.
            if not any(entity.sent for entity in self.entities):
                self.run = floor + 1
                self.counter, self.due = max(self.counter, self.run), now
        elif reason == ELSEWHERE and address:
            host, _, port = address.rpartition(":")
            if 0 < int(port) < 65536:
                self.connect(now, (host, int(port)))
        else:
            self.due = now + max(wait, 1000)

    def adopted(self, offer: "Offer", now: int) -> None:
        """Another bridge offers itself: taken if one's own has gone, or says so."""
        bridge, source, session = offer[:3]
        if not self.serving:
            if session >= self.session:
                self.go_on(now, *offer)
            else:
                self.connect(now, source)
        elif bridge == self.bridge and session == self.session:
            self.beat(now)
        elif session <= self.session or bridge == self.bridge:
            self.say_run(SERVED, self.session, self.bridge, source)
        elif self.offer is None or self.offer[0] == bridge:
            self.probe = now if self.offer is None else self.probe
            self.offer = offer
            self.beat(now)

    def in_session(self, kind: int, number: int, reader: Reader, now: int) -> "Samples":
        """What one's own bridge says."""
        if kind == ALIVE:
            self.alive(reader)
        elif kind == MOVED:
            self.confirmed, bridge = max(self.confirmed, reader.number("I")), reader.text()
            if self.offer and bridge in ("", self.offer[0]):
                self.go_on(now, *self.offer)
            else:
                self.search(now)
        elif kind == DONE:
            self.done(number, reader.number("B"), now)
        elif kind in (SAFE, SETTLED):
            self.accepted(kind, reader, now)
        elif kind == DATA:
            entity, mark = self.entities[reader.number("B")], reader.number("I")
            self.received += 1
            if entity.role == SUBSCRIBER and mark not in self.marks:
                self.marks = self.marks[-31:] + [mark]
                return [(entity, entity.unpack(reader))]
        return []

    def alive(self, reader: Reader) -> None:
        """The bridge is there, and has so many entities; who offered to serve is told."""
        self.confirmed, _, entities = reader.number("I"), reader.number("I"), reader.number("B")
        if entities < self.ready:
            self.ready, self.step = entities, 0
        if self.offer:
            self.say_run(SERVED, self.session, self.bridge, self.offer[1])
            self.offer = None

    def accepted(self, kind: int, reader: Reader, now: int) -> None:
        """Items are safe here, or the bridge they were sent to has said how far it is."""
        entity, upto = self.entities[reader.number("B")], reader.number("Q")
        if kind == SAFE and entity.safe < upto <= entity.sent and not entity.asking:
            entity.settle(upto)
            if entity.slow:
                entity.slow, entity.due = entity.safe < entity.sent, now
        elif kind == SETTLED and entity.asking and reader.text() == entity.sent_to:
            entity.settle(upto)
            entity.asking, entity.sent, entity.due = False, entity.safe, now

    def done(self, number: int, fault: int, now: int) -> None:
        """A request was answered."""
        if self.ready >= len(self.entities) or number != 3 * self.ready + self.step + 1:
            return
        entity = self.entities[self.ready]
        entity.fault, self.request_due = fault, now
        if fault == NO_SUCH_ENTITY:
            self.ready = self.step = 0
        elif fault:
            self.step, self.request_due = 0, now + 2000
        elif self.step == (1 if entity.role == ITEMS else 2):
            self.ready, self.step = self.ready + 1, 0
        else:
            self.step += 1

    # -- doing -------------------------------------------------------------------------------------

    def poll(self, now: int) -> "Outgoing":
        """Do what is due; return the datagrams to send and where to."""
        if self.serving and self.offer and now - self.probe >= PROBE_MS and self.heard < self.probe:
            self.go_on(now, *self.offer)
        if self.serving and now - self.heard >= 3 * self.heartbeat_ms:
            self.search(now)
        if not self.serving:
            if now >= self.due:
                self.connect(now)
        else:
            if now >= self.due:
                self.beat(now)
            self.set_up(now)
            for index, entity in enumerate(self.entities[: self.ready]):
                if entity.role == ITEMS:
                    self.send_items(index, entity, now)
        if self.farewell and now >= self.farewell_due:
            target, session, bridge, left = self.farewell
            self.say_run(GOODBYE, session, bridge, target)
            self.farewell = (target, session, bridge, left - 1) if left > 1 else None
            self.farewell_due = now + TRY_MS
        out, self.out = self.out, []
        return out

    def set_up(self, now: int) -> None:
        """Ask for what the bridge has not made yet: one request at a time, until it is answered."""
        if self.ready >= len(self.entities) or now < self.request_due:
            return
        self.request_due = now + TRY_MS
        entity = self.entities[self.ready]
        body = bytearray((self.ready,))
        if self.step == 0:
            body.append(entity.role)
        elif self.step == 1:
            body.append(entity.reliable)
            body += text(entity.topic)
        else:
            body += text(entity.type_name)
            body.append(len(entity.fields))
            for kind, size, name in entity.fields:
                body += bytes((kind + 1, size)) + text(name)
        self.say(CREATE + self.step, bytes(body), 3 * self.ready + self.step + 1)

    def send_data(self, entity: Entity, payload: bytes) -> bool:
        """A sample, if there is a bridge and it has the entity."""
        index = self.entities.index(entity)
        if not self.serving or index >= self.ready or len(self.out) >= 64:
            return False
        entity.mark = (entity.mark + 1) & WRAP
        self.sent += 1
        self.say(DATA, struct.pack(">BI", index, entity.mark) + payload)
        return True

    def send_items(self, index: int, entity: Entity, now: int) -> None:
        """Items that were not sent; but first what a former bridge has of those that were.

        Those that are not safe in time are sent again one by one, until all are: a burst that comes
        in another order would be refused again.
        """
        if entity.asking:
            if now >= entity.due:
                entity.due = now + 2 * TRY_MS
                self.say(SETTLE, bytes((index,)) + text(entity.sent_to))
            return
        pending = [] if entity.slow else [one for one in entity.kept if one[0] > entity.sent]
        if not pending and now >= entity.due and entity.kept:
            pending, entity.slow = entity.kept[:1], True
        for number, time_us, payload in pending:
            body = struct.pack(">BQQQ", index, number, time_us, self.salt) + payload
            self.say(ITEM, body, number - entity.safe)
            entity.sent, entity.sent_to = max(entity.sent, number), self.bridge
            entity.due = now + RESEND_MS

    def leave(self) -> None:
        """Say goodbye; the bridge lets the device go at once."""
        if self.serving:
            self.say_run(GOODBYE, self.session, "", self.address)
            self.serving = False


class Device:
    """A device with its socket; call :meth:`poll` every few milliseconds.

    Args:
        name: As for :class:`DeviceCore`; what follows and is not named here, too.
        bridges: Addresses of bridges, where there is no multicast.
        group: Where bridges are looked for otherwise.
        interface: Address of the interface by which the group is reached; empty: the one that the
            system takes, and this machine itself (a board cannot choose).
        run: Larger at every start; 0: the clock in microseconds.
    """

    def __init__(
        self,
        name: str,
        bridges: "tuple[tuple[str, int], ...]" = (),
        group: "tuple[str, int]" = ("239.255.76.1", 7601),
        interface: str = "",
        run: int = 0,
        guid: bytes = b"",
        key: bytes = b"",
        heartbeat_ms: int = 500,
        keep: int = 8,
    ) -> None:
        run = run or int(time.time() * 1000) * 1000
        check(0 < len(name.encode()) <= 64, "name: 1 to 64 bytes")
        check(len(guid) in (0, 12) and len(key) in (0, 32), "GUID: 12 bytes; key: 32 bytes")
        check(100 <= heartbeat_ms <= 60000, "heartbeat_ms: 100 to 60000")
        check(0 < run <= 1 << 53 and keep > 0, "run: 1 to 2 ** 53; keep: 1 or more")
        self._milliseconds = self._ticks = 0
        direct = bool(bridges)
        self.core = DeviceCore(name, run, guid, key, heartbeat_ms, keep, direct=direct)
        self.targets = [socket.getaddrinfo(*one)[0][-1] for one in bridges or (group,)]
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)  # noqa: FBT003
        ways = (interface,) if interface else ("0.0.0.0", "127.0.0.1")  # noqa: S104
        self._ways = [bytes([int(part) for part in way.split(".")]) for way in ways]
        if not interface and not hasattr(socket, "IP_MULTICAST_IF"):
            self._ways = []

    def publisher(self, topic: str, type_line: str, *, reliable: bool = True) -> Entity:
        """Publish samples of a type such as ``Temperature(celsius f64, room text32)``."""
        return self._add(PUBLISHER, topic, type_line, int(reliable))

    def subscriber(self, topic: str, type_line: str, *, reliable: bool = True) -> Entity:
        """Get the samples of a topic: :meth:`poll` returns them."""
        return self._add(SUBSCRIBER, topic, type_line, int(reliable))

    def items(self, topic: str) -> Entity:
        """Send items into a sliced topic, each exactly once."""
        return self._add(ITEMS, topic, "", 1)

    def _add(self, role: int, topic: str, type_line: str, reliable: int) -> Entity:
        check(0 < len(topic.encode()) <= 128, "topic: 1 to 128 bytes")
        check(role == ITEMS or type_line != "", "a type is needed")
        others = [one.topic for one in self.core.entities if one.role == ITEMS == role]
        check(topic not in others, "items of " + topic + " have an entity already")
        entity = Entity(self.core, role, topic, type_line, reliable)
        self.core.entities.append(entity)
        return entity

    def poll(self) -> "Samples":
        """Take what came, send what is due; return the samples for the subscribers."""
        samples: Samples = []
        for _ in range(64):
            try:
                data, source = self.socket.recvfrom(MOST)
            except OSError:
                break
            samples += self.core.receive(data, source, self.now())
        for data, target in self.core.poll(self.now()):
            if target is not None:
                self._send(data, target)
            else:
                for address in self.targets:
                    self._look(data, address)
        return samples

    def _look(self, data: bytes, address: "object") -> None:
        if self.core.direct or not self._ways:
            self._send(data, address)
            return
        for way in self._ways:
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, way)
            self._send(data, address)

    def _send(self, data: bytes, address: "object") -> None:
        try:
            self.socket.sendto(data, address)  # type: ignore[call-overload]
        except OSError:  # as if it were lost on its way
            pass

    def now(self) -> int:
        """Milliseconds that only grow; a board's counter begins again every few days."""
        if not hasattr(time, "ticks_ms"):
            return time.monotonic_ns() // 1000000
        ticks = time.ticks_ms()
        self._milliseconds += time.ticks_diff(ticks, self._ticks)  # type: ignore[attr-defined]
        self._ticks = ticks
        return self._milliseconds

    def close(self) -> None:
        """Say goodbye."""
        self.core.leave()
        self.poll()
        self.socket.close()
