"""What brokers and clients say to one another: messages, framing, connections."""
