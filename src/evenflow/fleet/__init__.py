"""The application of ``evenflow up``: a fleet of vehicles, watched by Spark.

Vehicles on planned routes report position and speed, as mobile nodes at two gateways. A pipeline on
Spark finds those that stand still or have left their route, tells them so over a topic of answers,
which become messages to them, and keeps a table of the whole fleet. The vehicles are simulated, so
what really happened is known and the pipeline's findings can be compared with it.

===================  ===========================================================================
:mod:`~.rules`       what counts as trouble; the numbers that vehicles and pipeline agree on
:mod:`~.vehicles`    the simulated vehicles, and the books of their troubles; pure
:mod:`~.traffic`     lets them drive, report, and hear their answers
:mod:`~.radios`      their clients
:mod:`~.edge`        gateways and mailbox, and answers made into messages
:mod:`~.commits`     how much of what they reported is committed
:mod:`~.pipeline`    the queries on Spark: the part to read first
:mod:`~.job`         the process that runs them
:mod:`~.local`       all of it on one machine
===================  ===========================================================================

And the load generator ``evenflow fleet``, which drives the same vehicles as thousands of mobile
nodes:

========================  ======================================================================
:mod:`~.tour`             what vehicles are to do, and the books of it
:mod:`~.reception`        their links, which break off in dead spots
:mod:`~.mobile_fleet`     the vehicles of one process
:mod:`~.mobile_processes` several such processes, and their orders
========================  ======================================================================
"""
