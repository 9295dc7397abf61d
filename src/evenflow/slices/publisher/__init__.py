"""The publisher: takes items in, batches and numbers them, keeps them until they are committed."""
