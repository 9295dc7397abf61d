"""The gateway at work: links, domain, disk, and what plans order of it."""
