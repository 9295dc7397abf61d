"""A simulated mobile edge: clients, gateways, a mailbox, and everything that can go wrong."""
