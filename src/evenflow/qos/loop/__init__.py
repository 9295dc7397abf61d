"""The adaptive controller on the autonomic loop: what it hears, wants, and has told."""
