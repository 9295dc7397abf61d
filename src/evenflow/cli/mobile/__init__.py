"""Commands of the mobile edge."""
