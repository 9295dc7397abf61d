"""What commands show besides their results: tables, the log, metrics."""
