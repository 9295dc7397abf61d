"""The bridge: devices that do not speak DDS join the domain, each on exactly one bridge (C-DDSB).

`ring` says which bridge should serve which device; `balancing` gives arcs of the ring from bridges
that have too many devices to others, on the loop of a balancer.
"""
