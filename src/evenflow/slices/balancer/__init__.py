"""The balancer of slices: members, owners, handover sessions, its part of the autonomic loop."""
