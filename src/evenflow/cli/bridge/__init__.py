"""Commands around bridges and their devices."""
