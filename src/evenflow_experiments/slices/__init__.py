"""Experiments on slices: codec, handover, overhead, throughput."""
