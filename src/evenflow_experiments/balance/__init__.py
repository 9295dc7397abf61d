"""Experiments on the balancing algorithms: skew, bounds, a model of a cluster."""
