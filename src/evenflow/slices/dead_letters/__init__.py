"""Dead letters: items that an application could not process, put aside with the reason.

`letter` is what is put aside, `office` how a node does it, `reading` how they are read again.
"""
