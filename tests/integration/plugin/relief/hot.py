"""The application of a node that works hard on every item, as hard as ``effort`` says."""

from __future__ import annotations

import time


class Hot:
    """Works for 20 ms times its effort on each item."""

    effort = 1.0

    def __call__(self, batch: object) -> None:
        """Keep the application at work."""
        time.sleep(0.02 * self.effort * len(batch))  # type: ignore[arg-type]


on_new_data = Hot()
