"""Steps in which a rule of the protocol matters, because something old crosses something new."""
