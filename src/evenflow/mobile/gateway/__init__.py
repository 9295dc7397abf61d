"""The gateway: one participant in the domain for thousands of mobile nodes."""
