"""What a node holds: its slices, what it knows of each writer in them, and the items it keeps."""
