"""Rates: how full the writers of a process are, and how far apart its items have to be.

Here is what every process has that publishes to, or reads, a topic that may be thinned: it tells
how full it is and obeys separations. Who decides on them is :mod:`evenflow.qos`.
"""

from evenflow.autonomic.rates.separations import Target, Usage
from evenflow.autonomic.rates.station import Part, take_part

__all__ = ["Part", "Target", "Usage", "take_part"]
