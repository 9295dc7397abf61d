"""What a node does for its application beside giving it items: replies, state, what it fails on."""
