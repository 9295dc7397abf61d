"""The brokers that take part: the membership table, neighbours, and letters passed between them."""
