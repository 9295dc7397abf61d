"""The keys of devices: how they are written, read, and read again."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from evenflow.bridge.protocol.guid import guid_of, guid_text
from evenflow.bridge.shell.keys import FILE, DeviceKeys, add_key
from evenflow.cli import main
from evenflow.errors import ConfigError

KEY = "ab" * 32


def test_a_device_is_named_by_its_guid_or_its_name(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text(
        f"# all of ours\n\ntherm-1 {KEY}\n{guid_text(guid_of('b'))} {KEY.upper()} # b\n"
    )
    keys = DeviceKeys(file)
    assert len(keys) == 2
    assert keys.of(guid_of("therm-1")) == keys.of(guid_of("b")) == bytes.fromhex(KEY)
    assert keys.of(guid_of("c")) is None


def test_there_are_no_keys_without_a_file(tmp_path: Path) -> None:
    assert len(DeviceKeys(tmp_path / FILE)) == 0


@pytest.mark.parametrize("line", ["therm-1", f"therm 1 {KEY}", f"therm-1 {KEY[1:]}", "a xyz"])
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / FILE
    file.write_text(f"a {KEY}\n{line}\n")
    with pytest.raises(ConfigError, match="line 2"):
        DeviceKeys(file)


def test_what_has_changed_is_read_again_and_a_bad_file_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / FILE
    keys = DeviceKeys(file)
    add_key(file, "a")
    keys.refresh()
    assert keys.of(guid_of("a")) is not None
    file.write_text("nonsense")
    with pytest.raises(ConfigError):
        keys.refresh()
    with pytest.raises(ConfigError):
        keys.refresh()  # until it is mended
    assert keys.of(guid_of("a")) is not None
    file.write_text("# nobody\n")
    assert keys.refresh()
    assert keys.of(guid_of("a")) is None


def test_keys_whose_file_is_gone_stay(tmp_path: Path) -> None:
    """Else whoever names a device that has a key would be taken for it."""
    folder = tmp_path / "keys"
    file = folder / FILE
    add_key(file, "a")
    keys = DeviceKeys(file)
    file.rename(tmp_path / "moved")
    with pytest.raises(ConfigError, match="gone"):
        keys.refresh()
    assert keys.of(guid_of("a")) is not None
    folder.rmdir()
    folder.write_text("no folder")
    with pytest.raises(ConfigError, match="cannot be read"):
        keys.refresh()
    assert keys.of(guid_of("a")) is not None


def test_a_key_is_drawn_once_for_a_device(tmp_path: Path) -> None:
    file = tmp_path / "access" / FILE
    first, second = add_key(file, "a"), add_key(file, guid_text(guid_of("b")))
    assert first != second
    assert DeviceKeys(file).of(guid_of("b")) == bytes.fromhex(second)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for taken in ("a", guid_text(guid_of("a")), "", "a b", "#x"):
        with pytest.raises(ConfigError):
            add_key(file, taken)


def test_the_command_prints_the_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "device", "therm-1", "--dir", str(tmp_path)]) == 0
    printed = capsys.readouterr().out.strip()
    assert DeviceKeys(tmp_path / FILE).of(guid_of("therm-1")) == bytes.fromhex(printed)
    assert main(["keys", "device", "--dir", str(tmp_path)]) == 2
    assert main(["keys", "init", "therm-1", "--dir", str(tmp_path)]) == 2


def test_a_key_is_added_on_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text(f"a {KEY}")  # by an editor that ends no line
    add_key(file, "b")
    assert len(DeviceKeys(file)) == 2


def test_what_no_device_can_be_called_and_no_place_for_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="64 bytes"):
        add_key(tmp_path / FILE, "x" * 65)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        add_key(tmp_path / "file" / FILE, "a")


def test_a_device_of_the_system_is_no_file_of_keys() -> None:
    with pytest.raises(ConfigError, match="no file"):
        DeviceKeys(Path("/dev/null"))
