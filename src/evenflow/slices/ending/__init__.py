"""How writers end, for everybody at the same place; and who is registered, across restarts."""
