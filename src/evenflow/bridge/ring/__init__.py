"""The ring: which bridge should serve which device (Chord as C-DDSB reduces it, section 3).

`identifiers` puts bridges and devices on a circle of numbers; `circle` says who owns what on it;
`arc_table` holds the arcs that were given away; `neighbours` knows who takes part, and who comes
before and after a bridge; `core` is the ring as one bridge sees it, kept up by what bridges tell
one another. `fingers` is Chord's full finger table, for comparison. All of it is pure.
"""
