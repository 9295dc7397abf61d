"""The keys of devices, from a file of the access folder.

One device a line: its GUID (24 hexadecimal digits) or its name, and its key (64 hexadecimal
digits); ``#`` begins a remark. The file is read again when it has changed, so no bridge needs to be
started again when a device is added or struck off. A file that cannot be read, or has a line that
is none, leaves the keys as they were, and the fault is told.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from typing import TYPE_CHECKING, Final

from evenflow.bridge.protocol.guid import MOST_DEVICE_NAME, guid_of, parse_guid
from evenflow.bridge.protocol.keys import KEY_BYTES
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE: Final = "devices.keys"
LOOK_S: Final = 1.0
"""How often the file is looked at."""
_KEY: Final = re.compile(rf"[0-9a-f]{{{2 * KEY_BYTES}}}")
_MODE: Final = 0o600
"""Its owner alone may read it."""
_log = logging.getLogger(__name__)


class DeviceKeys:
    """The keys of a file, by the GUIDs of devices.

    Args:
        file: The file; one that is not there has no keys.

    Raises:
        ConfigError: It cannot be read, or has a line that is none.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp: tuple[int, int] = (0, 0)
        self._keys: dict[bytes, bytes] = {}
        self.refresh()

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, guid: bytes) -> bytes | None:
        """The key of a device; None: it has none."""
        return self._keys.get(guid)

    def refresh(self) -> bool:
        """Read the file again if it has changed; return whether it has.

        Raises as at first, and keeps what it had. So it does if the file is gone: else whoever
        names a device that has a key would be taken for it.
        """
        try:
            found = self._file.stat()
        except FileNotFoundError:
            if self._keys:
                raise ConfigError("keys", str(self._file), "is gone") from None
            return False
        except OSError as error:
            raise ConfigError("keys", str(self._file), f"cannot be read: {error}") from None
        stamp = (found.st_mtime_ns, found.st_size)
        if stamp == self._stamp:
            return False
        self._keys = read_keys(self._file)
        self._stamp = stamp
        return True


async def keep_fresh(keys: DeviceKeys, on_changed: Callable[[], object]) -> None:
    """Look at the file again and again; a fault is told once."""
    told = ""
    while True:
        await asyncio.sleep(LOOK_S)
        fault = ""
        try:
            if await asyncio.to_thread(keys.refresh):
                on_changed()
        except ConfigError as error:
            fault = str(error)
        if fault and fault != told:
            _log.error("the keys of devices stay as they were: %s", fault)
        told = fault


def read_keys(file: Path) -> dict[bytes, bytes]:
    """The keys of a file; `ConfigError` names the line that is none."""
    keys: dict[bytes, bytes] = {}
    if not file.is_file():  # a device of the system may never end
        raise ConfigError("keys", str(file), "is no file that can be read")
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("keys", str(file), f"cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not _KEY.fullmatch(words[1].lower()):
            where = f"{file}, line {number}"
            raise ConfigError(
                "keys", where, "must be a GUID or name and a key of 64 hexadecimal digits"
            )
        keys[device_guid(words[0])] = bytes.fromhex(words[1])
    return keys


def device_guid(device: str) -> bytes:
    """The GUID of a device that is named by it or by its name."""
    try:
        return parse_guid(device)
    except ValueError:
        return guid_of(device)


def add_key(file: Path, device: str) -> str:
    """Draw a key for a device and add it to the file; return it in hexadecimal digits.

    Raises:
        ConfigError: The device has one already, or cannot be called so.
    """
    if not device or "#" in device or device.split() != [device]:
        raise ConfigError("device", device, "must be a GUID or a name without space and '#'")
    if len(device.encode()) > MOST_DEVICE_NAME:
        raise ConfigError("device", device, f"must be at most {MOST_DEVICE_NAME} bytes long")
    if file.exists() and device_guid(device) in read_keys(file):
        raise ConfigError("device", device, f"has a key already: strike it off {file} first")
    key = secrets.token_hex(KEY_BYTES)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(_MODE)
        before = "" if file.read_bytes()[-1:] in (b"", b"\n") else "\n"
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{before}{device} {key}\n")
    except OSError as error:
        raise ConfigError("keys", str(file), f"cannot be written: {error}") from None
    return key
