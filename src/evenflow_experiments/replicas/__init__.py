"""Replicas by DDS Ownership against takeover (MAPE-SDDL, section VII)."""
