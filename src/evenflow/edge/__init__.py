"""What all doors share: numbered items of clients into sliced topics, each once, whatever dies.

A *door* is where clients that are not in the domain come in: a gateway for mobile nodes, a bridge
for embedded devices. Clients number their items and may go from door to door. The rules are those
of docs/mobile.md, 1 to 4; :mod:`evenflow.edge.acceptance` composes them for a door,
:mod:`evenflow.edge.shell` has the disk.

Doors settle by name, in the partition of that name. So a name belongs to one door of the domain,
whatever its kind: a bridge is called ``bridge NAME`` there, as no gateway can be (names have no
spaces).
"""
