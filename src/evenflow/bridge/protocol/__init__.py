"""What devices and bridges say to one another: datagrams, keys, types, GUIDs (docs/bridge.md)."""
