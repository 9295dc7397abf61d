"""One slice's way out: order, congestion, recovery."""

from __future__ import annotations

from evenflow.slices.publisher.slice_writer import Outlet


class FullableWriter:
    """A writer that can be full, and whose readers may not have caught up."""

    def __init__(self) -> None:
        self.full = False
        self.caught_up = True
        self.written: list[bytes] = []

    def write_encoded(self, encoded: bytes) -> bool:
        if not self.full:
            self.written.append(encoded)
        return not self.full

    def wait_acked(self, timeout_s: float) -> bool:
        return self.caught_up


def put(outlet: Outlet, *numbers: int) -> None:
    for number in numbers:
        outlet.put(number, b"%d" % number)
    outlet.drain()


def test_writes_in_order() -> None:
    writer = FullableWriter()
    outlet = Outlet(writer)  # type: ignore[arg-type]
    put(outlet, 1, 2)
    put(outlet, 3)
    assert writer.written == [b"1", b"2", b"3"]
    assert (outlet.written, outlet.congested, outlet.skipped) == (True, False, 0)


def test_a_full_writer_is_not_tried_again_until_its_readers_caught_up() -> None:
    writer = FullableWriter()
    outlet = Outlet(writer)  # type: ignore[arg-type]
    put(outlet, 1)
    writer.full, writer.caught_up = True, False
    put(outlet, 2)
    writer.full = False
    put(outlet, 3)
    outlet.recover()
    put(outlet, 4)
    assert (outlet.congested, outlet.hole, outlet.skipped) == (True, 4, 3)
    writer.caught_up = True
    outlet.recover()
    put(outlet, 5)
    assert (outlet.congested, outlet.hole, outlet.skipped) == (False, 4, 3)
    assert writer.written == [b"1", b"5"]
