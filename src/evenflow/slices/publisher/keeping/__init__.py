"""What a publisher of a served topic forgets, and what it keeps for consumers that come later."""
