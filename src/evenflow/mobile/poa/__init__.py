"""The PoA-Manager (PoA: point of attachment): who keeps gateways even, on the autonomic loop.

`view` knows gateways and attachments from the domain; `evening` decides which nodes go where;
`planner` makes plans of it; `manager` hangs all of it on the loop of a balancer. All of it is pure.
"""
