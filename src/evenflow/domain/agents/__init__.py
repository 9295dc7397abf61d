"""Agent entities: DDS writers and readers of types that are declared at run time.

A bridge knows the types of its devices only when they tell it, so no class of the program describes
them.

========================  ===================================================================
:mod:`~.declaration`      what a type declared at run time is, and which names it may have; pure
:mod:`~.plan`             bytes of its values, by a compiled plan; pure
:mod:`~.types`            its DDS type
:mod:`~.topics`           the DDS topics of a process: one type each, dropped when unused
:mod:`~.entities`         agent writers and readers, and the one wait for all readers
========================  ===================================================================
"""
