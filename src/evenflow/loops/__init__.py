"""Event loops: tasks whose failure is heard of, and a loop in a thread for who blocks."""
