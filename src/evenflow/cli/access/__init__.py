"""Commands of the operator who lets others in: keys and tokens."""
