"""The client library: a mobile node's connections, what it publishes, what is sent to it.

===================  ===========================================================================
:mod:`~.core`        everything that a client decides; pure
:mod:`~.buffer`      items until they are safe: numbers, who may have accepted them, the bound
:mod:`~.reaching`    finding a gateway: which address next, and when
:mod:`~.moving`      carrying out a handover: the node's executor (CES Executor of the paper)
:mod:`~.inbox`       messages to the node: each once, in the order of their mailbox
:mod:`~.events`      what the core is told, and what it asks for
:mod:`~.disk`        what is kept across a restart, in SQLite
:mod:`~.aio`         the client for asyncio
:mod:`~.blocking`    the same, blocking
===================  ===========================================================================
"""
