"""The mailbox: holds messages to mobile nodes on its disk until the nodes have them.

======================  =====================================================================
:mod:`~.letters`        what is held, and for each node the queue of what it is still to have
:mod:`~.delivery`       who is sent what, when, by which gateway; windows, repetitions
:mod:`~.directory`      who the nodes are and where they are attached
:mod:`~.sources`        requests of messengers: each carried out once, in order
:mod:`~.acceptance`     which requests are refused, and who the recipients are
:mod:`~.core`           all of it together: messages of the domain in, actions out
:mod:`~.disk`           the SQLite file; the only one that has the payloads
:mod:`~.mailbox`        the shell: DDS, disk, clock
======================  =====================================================================
"""
