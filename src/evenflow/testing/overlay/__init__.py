"""Test doubles of the overlay store: a simulated cluster of brokers, clients, disks and paths."""
