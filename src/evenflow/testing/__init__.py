"""Twins and clusters for tests: ship with the package, never run on a product path."""
