"""The outbox: what a publisher has uncommitted, on disk, so that it survives its process."""
