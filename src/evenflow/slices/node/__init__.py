"""The processing node: owns slices, fills gaps, hands slices over, and feeds the application."""
