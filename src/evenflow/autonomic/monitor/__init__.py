"""Monitoring: sensors, properties and their operation ranges (the M of MAPE-K)."""
