"""Each test gets a DDS domain of its own."""

from __future__ import annotations

import itertools
import os

import pytest

_NUMBERS = itertools.count(os.getpid())


@pytest.fixture
def domain_id():
    """Return a domain id that no other test of this run uses."""
    return 1 + next(_NUMBERS) % 199
