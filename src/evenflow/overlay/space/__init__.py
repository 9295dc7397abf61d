"""The plane of the overlay: coordinates, cells, and the delegates of a topic."""
