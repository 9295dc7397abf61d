"""``evenflow experiment overhead``: what a processing node costs, at rest and while it gives."""
