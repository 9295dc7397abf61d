"""The broker process: its core, its disk, and the shell that runs it."""
