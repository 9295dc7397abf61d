"""What is open until it is closed: ``with`` closes it, however the block ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something with a :meth:`close`."""

    @abstractmethod
    def close(self) -> None:
        """End it; nothing of it is left behind."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
