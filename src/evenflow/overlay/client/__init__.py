"""The client of the store: a core, and blocking and asyncio shells."""
