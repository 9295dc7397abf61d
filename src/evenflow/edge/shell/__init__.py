"""What a door has on disk, and the threads that write it."""
