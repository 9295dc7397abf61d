"""The frozen vocabulary: messages, batches, loads, plans. No sockets, clocks or threads."""
