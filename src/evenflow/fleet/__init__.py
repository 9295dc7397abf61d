"""The application of ``evenflow up``: a fleet of vehicles, watched by Spark.

Vehicles on planned routes report position and speed. A pipeline on Spark finds those that stand
still or have left their route, tells them so over a topic of answers, and keeps a table of the
whole fleet. The vehicles are simulated, so what really happened is known and the pipeline's
findings can be compared with it.

===================  ===========================================================================
:mod:`~.rules`       what counts as trouble; the numbers that vehicles and pipeline agree on
:mod:`~.vehicles`    the simulated vehicles, and the books of their troubles; pure
:mod:`~.traffic`     publishes their reports, gives them their answers
:mod:`~.pipeline`    the queries on Spark: the part to read first
:mod:`~.job`         the process that runs them
:mod:`~.local`       all of it on one machine
===================  ===========================================================================
"""
