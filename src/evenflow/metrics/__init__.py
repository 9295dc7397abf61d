"""What a process shows to Prometheus: its counters, read when somebody asks for them.

A `Panel` (:mod:`evenflow.metrics.panel`) is a table: the name of each metric, what it means, and
how it is read from what a process counts anyway. :mod:`evenflow.metrics.catalogue` has the panels
of all kinds of processes; the reference is written from them. `Endpoint`
(:mod:`evenflow.metrics.endpoint`) answers scrapes. Nothing is counted for the metrics alone, and
nothing is done between two scrapes.

A program of your own shows its publisher by::

    from evenflow.metrics.catalogue import PUBLISHER
    from evenflow.metrics.endpoint import Endpoint

    with Publisher("items") as publisher, Endpoint("9464") as endpoint:
        endpoint.show(PUBLISHER, lambda: [((publisher.topic,), publisher.stats)])
"""
