"""The consumer of a served topic: its place in the domain, its reading, and its position.

=======================  ==========================================================================
:mod:`~.core`            how far it may read, where, and what it commits; pure
:mod:`~.registry`        who is registered, how far each is, what those said last who are away; pure
:mod:`~.epoch_items`     how many items epochs have, as publishers tell it; pure
:mod:`~.counts`          how many there are, as nodes count them, and limits by it; pure
:mod:`~.splits`          epochs that are taken in parts; pure
:mod:`~.ticket`          what a reader asks a node for, as JSON; pure
:mod:`~.pieces`          what is wanted of one sample: all of it, or some of its runs; pure
:mod:`~.row_numbers`     which numbers the rows of a record batch have; pure
:mod:`~.arrow_batches`   samples as Arrow record batches; pure
:mod:`~.served_batch`    items between two positions, as an application gets them; pure
:mod:`~.follower`        a participant that follows maps, progress and epochs, and commits
:mod:`~.planning`        the next batch of a consumer with a log of its own
:mod:`~.reading`         reads a range of items by Flight, from whoever has them
:mod:`~.idle_limit`      a stream that is left when nothing comes
:mod:`~.following`       ``evenflow.follow``: a loop over the batches of a topic
=======================  ==========================================================================

The serving nodes' side of it is :mod:`evenflow.slices.node.serving`. Spark's source and the archive
of durable topics are consumers like any other.
"""
