"""A program that reads along: all items of a topic, or some, without owning slices."""
