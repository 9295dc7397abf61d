"""Who reads a served topic, and how far each of them has come.

A consumer is registered by its first commit and stays registered when its process dies: it will
come back, from its own checkpoint, and want what it has not committed. What all registered
consumers have committed may be forgotten; while nobody is registered, nothing may.

A process that starts while a consumer is away cannot hear that consumer's commits. It learns the
name from the serving nodes (``Progress.consumers``) and keeps everything until the consumer speaks.
The nodes also pass on its newest commit (``CommitCopy``), so that a consumer without a checkpoint
of its own finds its position again.

==================  ===============================================================================
:mod:`~.states`     whether a consumer counts, and what changes that: a table
:mod:`~.consumers`  all consumers of a topic: their states, positions and last words
:mod:`~.declared`   who counts without a word of its own: the archive, dead letters, the file's
:mod:`~.copies`     what is passed on of a commit, and how an expiry is told from a release
==================  ===============================================================================

All of it is pure. Publishers, nodes, the balancer, consumers and commands have one each.
"""
