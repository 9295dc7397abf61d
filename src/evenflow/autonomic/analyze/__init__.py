"""Analysis: events, from expressions at one process to conditions of a group (the A of MAPE-K)."""
