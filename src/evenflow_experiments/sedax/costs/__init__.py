"""What the rules of the overlay cost: messages of selections, copies when a primary returns."""
