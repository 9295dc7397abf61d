"""Experiments on the Spark pipeline: throughput, delay, skew, exactly once."""
