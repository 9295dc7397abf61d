"""The topics of one broker: serving clients, moving, creating and delegating them."""
