"""The autonomic loop (MAPE-K): monitor, events, plans, execution, and the history of all of it.

Nothing here knows what a slice is, except the slice planner: gateways, bridges, storage and
quality of service hang on the same loop.
"""
