"""The overlay store: topics kept on brokers, with one, two or three copies, and evenly.

After SeDAX (Hoefling, Mills and Menth, "Distributed Load Balancing for the Resilient
Publish/Subscribe Overlay in SeDAX"). Brokers, here called nodes, have coordinates in the unit
square; a topic has a coordinate too, and is kept by the nodes closest to it. Moving a topic means
giving it another coordinate, so balancing is a choice of coordinates.

::

    geometry     geographic hash, j-closest nodes, Voronoi cells, Delaunay neighbours
    resilience   node loads of the resilience levels, kept incrementally       equations 1-4
    coordinates  coordinate loads and which coordinate is better               equations 5-10
    selection    the paper's four ways to ask for coordinates, addition        sections V, VI-A
    continuous   balancing while topics grow                                   section VI-B
    delegation   delegate lists: who is responsible for which time             section III
    growth       topics that grow, and the load that moves                     equations 12-14
    planning     quotas and a lower bound from a linear program                our own
    spots        the plane cut into spots: the tables the simulation works on
    kernel       the same rules over arrays, compiled
    simulation   whole runs of the paper's experiments

`resilience` to `delegation` are plain Python over any node names, for a live broker. `kernel` is
the same in arrays of numbers, for millions of decisions; tests hold the two equal.
"""
