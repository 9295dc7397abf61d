"""The figures of the SeDAX load balancing paper, in percent of the mean topic load of a node.

Triples are the 5 % quantile, the mean and the 95 % quantile; None stands where the paper prints
no number.
"""

from __future__ import annotations

from typing import NamedTuple


class Paper(NamedTuple):
    """What the paper says of one row."""

    q5: float | None
    mean: float | None
    q95: float | None


TABLE_I = {
    ("homogeneous", 1000): (
        Paper(29.5, 100.0, 194.7),
        Paper(85.0, 200.0, 332.9),
        Paper(122.6, 257.4, 411.6),
    ),
    ("homogeneous", 100): (
        Paper(24.8, 100.0, 192.5),
        Paper(80.2, 200.0, 335.3),
        Paper(117.3, 258.0, 410.6),
    ),
    ("heterogeneous", 100): (
        Paper(24.7, 100.0, 197.3),
        Paper(78.6, 200.0, 345.7),
        Paper(113.5, 259.2, 419.2),
    ),
    ("homogeneous", 10): (
        Paper(12.0, 100.0, 204.0),
        Paper(60.8, 200.0, 349.6),
        Paper(102.0, 262.9, 433.5),
    ),
    ("heterogeneous", 10): (
        Paper(7.1, 100.0, 239.7),
        Paper(37.3, 200.0, 391.7),
        Paper(78.2, 271.3, 488.8),
    ),
}
"""Node loads of levels 1 to 3 without delegation, by topic loads and topics per node."""

CELLS = Paper(29.0, 100.0, 191.4)
"""Sizes of the Voronoi cells (section VII-B)."""

TABLE_II = {
    ("homogeneous", 1000): (0.9984, 0.6830, 0.6028),
    ("homogeneous", 100): (0.9844, 0.6740, 0.5954),
    ("heterogeneous", 100): (0.9522, 0.6528, 0.5770),
    ("homogeneous", 10): (0.8680, 0.6026, 0.5336),
    ("heterogeneous", 10): (0.6996, 0.4914, 0.4365),
}
"""Correlation of cell size and node load of levels 1 to 3."""

TABLE_III = {
    ("individual", 1): Paper(176.8, 254.0, 282.3),
    ("individual", 10): Paper(225.5, 245.8, 251.1),
    ("individual", 100): Paper(234.2, 237.7, 239.1),
    ("local", 1): Paper(175.9, 245.3, 312.7),
    ("local", 10): Paper(230.6, 235.6, 237.9),
    ("local", 100): Paper(223.8, 235.4, 238.4),
    ("regional", 1): Paper(226.8, 235.8, 239.4),
    ("regional", 10): Paper(226.2, 235.1, 238.4),
    ("regional", 100): Paper(214.6, 236.1, 242.0),
    ("global", 1): Paper(213.5, 236.2, 243.3),
}
"""Level 3 node loads by selection and queries; more queries change nothing for global."""

TABLE_IV = {
    "ascending": Paper(207.7, 248.6, 264.6),
    "descending": Paper(205.7, 248.6, 257.1),
    "shuffled": Paper(207.0, 248.3, 261.3),
}
"""Level 3 node loads by the order in which exponential topics are added."""

TABLE_V = {
    None: Paper(175.7, 249.7, 290.5),
    0.1: Paper(188.6, 249.2, 282.8),
    0.01: Paper(193.3, 249.9, 278.5),
    0.001: Paper(199.0, 249.8, 276.0),
}
"""Level 3 node loads after growth by the interval of continuous balancing, None without it."""

FIGURE_6 = {
    ("unbalanced", "before"): Paper(None, 272.1, 397.5),
    ("unbalanced", "after"): Paper(None, 273.1, 415.1),
    ("balanced", "before"): Paper(None, 248.7, 278.8),
    ("balanced", "after"): Paper(175.7, 249.7, 290.5),
    ("continuous", "after"): Paper(193.3, 249.9, 278.5),
}
"""Level 3 node loads before and after growth; its bottom row repeats Table IV."""
