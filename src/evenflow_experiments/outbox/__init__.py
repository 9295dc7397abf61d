"""A publisher with an outbox: killed again and again, and measured beside one without."""
