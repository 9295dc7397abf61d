"""A simulated mailbox among models of gateways and nodes, and everything that can go wrong."""
