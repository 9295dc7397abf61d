"""Items of devices at work: the bridge's door between core, disk and domain.

The disk has a thread for each topic; all else runs in the bridge's loop. A bridge keeps what it has
accepted in a folder called like it, so it goes by its name for ever, as a gateway does.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from evenflow.bridge.events import EntityMade, ItemSafe, ItemSettled, TakeItem
from evenflow.bridge.item_door import ItemDoor
from evenflow.bridge.shell.complaints import Complaints
from evenflow.edge.actions import Accept, Complain, GiveUp, Remember, Write
from evenflow.edge.shell.disk import DoorDisk
from evenflow.edge.twins import Life
from evenflow.errors import DomainError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from evenflow.bridge.events import AskSettled, Event, MakeEntity
    from evenflow.bridge.item_door import Done
    from evenflow.clock import Clock
    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant
    from evenflow.edge.settings import EdgeSettings

TIDY_S: Final = 3_600.0
COMMIT_S: Final = 2.0
"""How long the end waits until what was accepted is committed; the rest stays in the outbox."""
_log = logging.getLogger(__name__)


class DeviceItems:
    """The items of a bridge's devices.

    Args:
        name: The bridge.
        folder: Where its marks and outboxes are.
        topics: Sliced topics that devices may publish to.
        config: The configuration.
        participant: The process's place in the domain.
        clock: The time.

    Raises:
        StorageError: The folder cannot be used, or another process uses it.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        topics: Sequence[str],
        config: Config,
        participant: Participant,
        clock: Clock,
    ) -> None:
        self._name = name
        self._clock = clock
        self._disk = DoorDisk(folder, topics, config, participant)
        self._tidy_at = clock.monotonic() + TIDY_S
        self._complaints = Complaints(clock.monotonic)

    def start(
        self,
        settings: EdgeSettings,
        life: Life,
        *,
        is_heard: Callable[[str], bool],
        tell_core: Callable[[list[Event]], object],
        tell: Callable[[Write], object],
        soon: Callable[[Callable[[], object]], object],
        fail: Callable[[BaseException], object],
        fail_soon: Callable[[BaseException], object],
    ) -> None:
        """Begin to take items.

        Args:
            settings: Bounds and times.
            life: The process.
            is_heard: Whether another bridge is there.
            tell_core: Gives the core events.
            tell: Tells another bridge.
            soon: Has something called in the bridge's loop; from any thread.
            fail: Told what ends the bridge.
            fail_soon: The same, from any thread.
        """
        self._tell_core, self._tell, self._fail = tell_core, tell, fail
        self.door = ItemDoor(
            self._name,
            self._disk.newest_units,
            self._disk.marks.of,
            settings,
            is_heard=is_heard,
            forgotten=self._disk.marks.forgotten(),
            life=life,
        )
        self._disk.start(
            self._clock, lambda topic, unit: soon(lambda: self._on_synced(topic, unit)), fail_soon
        )

    # -- what comes --------------------------------------------------------------------------------

    def make(self, action: MakeEntity) -> None:
        """A device wants to publish items."""
        fault = self.door.make(action.guid, action.entity, action.topic)
        if fault:
            self._complaints.tell(action.guid, action.entity, fault)
        self._tell_core([EntityMade(action.guid, action.entity, fault)])

    def take(self, action: TakeItem | AskSettled) -> None:
        """An item, or a question, of a device."""
        if isinstance(action, TakeItem):
            self._turn(self.door.take, action)
        else:
            self._turn(self.door.ask, action)

    def hear(self, message: Any) -> None:
        """What the domain says of other bridges."""
        self._turn(self.door.hear, message)

    def poll(self) -> None:
        """Do what is due."""
        now = self._clock.monotonic()
        if now >= self.door.deadline():
            self._turn(self.door.poll)
        if now >= self._tidy_at:
            self._tidy_at = now + TIDY_S
            try:
                self._disk.marks.tidy(self._clock.wall())
            except StorageError:
                _log.exception("old marks stay")  # a disk that fails is found by the next unit

    def _on_synced(self, topic: str, unit: int) -> None:
        self._turn(self.door.on_synced, topic, unit)

    def _turn(self, step: Callable[..., list[Done]], *what: Any) -> None:
        """Let the door take a step, and do what follows."""
        try:
            self._do(step(*what, int(self._clock.wall() * 1e6), self._clock.monotonic()))
        except Exception as failure:  # noqa: BLE001 - a broken door must not go on
            _log.exception("the bridge's items fail")
            self._fail(failure)

    # -- what follows ------------------------------------------------------------------------------

    def _do(self, actions: list[Done]) -> None:
        told: list[Event] = []
        for action in actions:
            match action:
                case ItemSafe() | ItemSettled():
                    told.append(action)
                case Accept():
                    self._disk.write(action)
                case Write():
                    self._tell(action)
                case Remember(forgotten):
                    self._disk.marks.forget(forgotten)
                case Complain(what):
                    _log.error(what)
                case GiveUp(why):
                    self._fail(DomainError(f"bridge {self._name}", why))
        if told:
            self._tell_core(told)

    @property
    def uncommitted(self) -> int:
        """Items in the outboxes that nobody has committed."""
        return self._disk.uncommitted

    def close(self) -> None:
        """End: what was accepted is in the outboxes, unless it is committed in a moment."""
        self._disk.close(COMMIT_S)
