"""The client library: a mobile node's connections, what it publishes, what is sent to it.

===================  ===========================================================================
:mod:`~.core`        everything that a client decides, on top of its connections; pure
:mod:`~.connections` the connection in use, the one that is left, where to go when one is lost
:mod:`~.attaching`   from an address to a welcome; numbers of links and connections
:mod:`~.reaching`    which address next, and when
:mod:`~.moving`      carrying out a handover: the node's executor (CES Executor of the paper)
:mod:`~.buffer`      items until they are safe: numbers, who may have accepted them, the bound
:mod:`~.inbox`       messages to the node: each once, in the order of their mailbox
:mod:`~.events`      what the core is told, and what it asks for
:mod:`~.settings`    what an application may choose, checked; statistics
:mod:`~.disk`        what is kept across a restart, in SQLite
:mod:`~.wire`        one link, as tasks of an event loop
:mod:`~.shell`       performs what the core decides
:mod:`~.aio`         the client for asyncio
:mod:`~.blocking`    the same, blocking
===================  ===========================================================================
"""
