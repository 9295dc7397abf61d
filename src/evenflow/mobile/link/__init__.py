"""The link between a mobile node and its gateway: frames, QUIC, TLS over TCP."""
