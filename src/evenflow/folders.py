"""Folders whose names last: what is synced in one is of no use when nobody finds the folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless they are there; after a crash they still are."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in made or [folder]:  # whoever made it may have died before this
        try:
            sync_folder(one.parent)
        except PermissionError:
            return  # a folder that may be gone through and not listed


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
