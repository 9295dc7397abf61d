"""The consumer of a served topic: its place in the domain, its reading, and its position."""
