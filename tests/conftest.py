"""Hypothesis profiles: ``make unit`` runs few cases of each property, ``make test`` many.

``pytest tests/unit/... --hypothesis-profile=soak`` runs as many as a night has time for.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Deadlines measure the machine, not the code; shared machines would make them fail by chance.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("quick", max_examples=25, **_COMMON)
settings.register_profile("full", max_examples=80, **_COMMON)
settings.register_profile("soak", max_examples=5_000, **_COMMON)
settings.load_profile("quick")
