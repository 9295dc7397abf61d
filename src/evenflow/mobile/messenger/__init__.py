"""Sending messages to mobile nodes: the messenger, its rules, its shells."""
