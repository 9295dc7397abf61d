"""Bounded loads: bridges that have too many devices give arcs of the ring away, by plans.

`bounded` decides which arcs go where; `view` knows bridges, arcs and loads from the domain;
`planner` makes plans of it, `arcs_action` is what they order; `manager` hangs it on the loop of a
balancer. All of it is pure.
"""
