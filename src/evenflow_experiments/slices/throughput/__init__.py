"""``evenflow experiment throughput``: five nodes join one after the other."""
