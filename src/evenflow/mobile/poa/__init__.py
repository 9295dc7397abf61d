"""The PoA-Manager (PoA: point of attachment): who keeps gateways even, on the autonomic loop.

`view` knows gateways and attachments from the domain; `evening` decides which nodes go where, and
`planner` makes plans of it; `fleet` decides how many gateways there are, and `fleet_planner` makes
plans of that; `manager` hangs all of it on the loop of a balancer. All of it is pure.
"""
