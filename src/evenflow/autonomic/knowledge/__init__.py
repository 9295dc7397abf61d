"""Knowledge: what planners are told, and the history of all that was seen and done (the K)."""
