"""The reference, written from the code: ``python -m evenflow.reference docs``.

`attributes` finds what stands under fields in the source; `pages` writes the parts of
``docs/reference.md``; `idl` writes ``docs/evenflow.idl``, the types of everything that travels in
the domain. What is added to the code appears by itself; a test says when the files are old.
"""
