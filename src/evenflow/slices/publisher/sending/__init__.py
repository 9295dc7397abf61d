"""The ways between a publisher and the domain: who owns what, writers, replays, readers."""
