"""Adaptive quality of service: streams are thinned out before the system drowns in them."""
