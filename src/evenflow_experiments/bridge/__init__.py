"""The experiment ``bridge`` (C-DDSB, section 5): its parts, and how they are run."""
