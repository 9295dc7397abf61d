"""The DDS domain: how messages and batches travel between processes.

========================  ===================================================================
:mod:`~.codec`            bytes of a message, by ``struct``; pure
:mod:`~.channels`         which DDS topic carries what, and with which quality of service; pure
:mod:`~.types`            the DDS type of a message
:mod:`~.cyclone`          participant, writers, readers and waiters on Cyclone DDS
========================  ===================================================================

Importing this package needs no DDS: cores import the codec and the channels, shells import
:mod:`evenflow.domain.cyclone`.
"""
