"""The bridge at work: datagrams, the domain, agent entities, and what plans order of it."""
