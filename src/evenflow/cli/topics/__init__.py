"""Commands that look at topics and their items, without taking part."""
