"""The brokers that take part: the table of members, links to neighbours, and mail between them."""
