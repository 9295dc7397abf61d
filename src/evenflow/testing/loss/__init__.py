"""Loss as networks have it, in bursts: a model, and a relay for UDP that loses by it."""
