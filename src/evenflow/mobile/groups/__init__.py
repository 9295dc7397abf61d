"""Groups of mobile nodes: listed, by an expression over attributes, by region; kept current."""
