"""One copy of a topic: its states, replication, and catching up."""
