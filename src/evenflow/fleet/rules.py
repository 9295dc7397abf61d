"""What counts as trouble: the numbers that the vehicles and the pipeline agree on."""

from __future__ import annotations

from typing import Final

ANSWERS: Final = "alerts"
"""The topic of answers to vehicles."""

STOP: Final = "stop"
"""A vehicle that stands still where it should drive."""
DEVIATION: Final = "deviation"
"""A vehicle that is not on its road."""
TROUBLES: Final = (STOP, DEVIATION)

ROUTES: Final = 20
FIRST_LATITUDE: Final = 48.0
LANE_DEGREES: Final = 0.01
"""Route ``n`` is the road at latitude ``FIRST_LATITUDE + n * LANE_DEGREES``."""
OFF_DEGREES: Final = 0.002
"""Further than this from its road, a vehicle has left it."""
SLOW_M_S: Final = 0.5
"""A vehicle below this speed stands still."""

WINDOW_S: Final = 4
"""Who is in trouble throughout a window of this length is told."""
SLIDE_S: Final = 1
"""How far apart windows begin, at whole seconds."""
SPAN_S: Final = 2
"""The reports of a window must reach over this time, or they tell too little."""
LATE_S: Final = 1
"""How long a window waits for late reports."""
