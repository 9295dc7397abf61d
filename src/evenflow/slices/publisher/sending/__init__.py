"""The ways from a publisher to the nodes: who owns what, writers to owners, replays."""
