"""What may happen around the end of a writer, in simulated clusters."""
