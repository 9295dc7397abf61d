"""Commands about the quality of service."""
