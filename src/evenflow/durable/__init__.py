"""Durable topics: the items of a topic in the overlay store, and their way back to a late reader.

DDS keeps the newest samples of a writer that lives, and nothing of one that died. A topic that is
declared durable (``[topics.NAME] durable = true``) is kept by the overlay store instead::

    publishers --> serving nodes --> archiver --> overlay store --> late reader
                         +------------------------------------------^

==============  ===============================================================================
`frames`        items as messages of the store, and back; pure
`index`         what an archive has: entries of which each makes a bundle count; pure
`selection`     which items are wanted; pure
`archive`       an archive in the store: bundles are added, and found by the index
`merging`       the archive and the live stream as one; pure
`joining`       from the archive into the live stream: where the two are joined; pure
`live`          the newest items from the serving nodes, for those who read along
`archiver`      writes a topic to the store; a registered consumer of the topic
`states`        states of an application at the store, for its nodes
`reader`        `read_from`: the past, then what comes, each item once
`spark`         ``format("evenflow-store")``: tables, streams, and a sink
==============  ===============================================================================

**Exactly once** rests on three facts. An item has a name that nothing else has: its writer, slice
and number. Nothing is forgotten in the domain before the archiver has committed it, and it commits
only what the store has acknowledged; so what is not in the store is still at a node. And who sees
an item twice knows it by its number; so the archiver may write again what it does not know to be
stored, after a crash, and a reader may listen to the store and to the nodes at the same time.

This package stands above the parts that it brings together: the consumer of served topics
(`evenflow.slices.consumer`) and the client of `evenflow.overlay`.
"""
