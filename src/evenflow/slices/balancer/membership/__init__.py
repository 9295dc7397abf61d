"""Who takes part: the nodes that are admitted and what they said last, and which balancer leads."""
