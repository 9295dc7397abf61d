"""Planning: rules, planners, and what they answer to an event (the P of MAPE-K)."""
