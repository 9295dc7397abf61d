"""Every exception Evenflow raises on purpose.

::

    EvenflowError
    ├── UsageError               the caller's fault: change the call or the configuration
    │   ├── ConfigError          a key of evenflow.toml or of the command line
    │   │   └── ExpressionError  an event's expression, with the place of the fault
    │   ├── QosError             policies that do not go together, a topic that is never thinned
    │   ├── RegistryError
    │   │   └── UnknownName      a name that no registry knows
    │   ├── AssignmentError      an item that gets no slice
    │   ├── ItemFailed           an application that cannot process one item, and says which
    │   ├── ClosedError          use after close
    │   ├── SnapshotError        a load snapshot that contradicts itself
    │   ├── PlanError            a plan that cannot or must not be carried out
    │   ├── OverlayError         an overlay that cannot be built, or a topic it cannot hold
    │   │   ├── DelegationError  a change that a topic's delegate list cannot take
    │   │   └── UnknownTopic     a topic that the store does not have
    │   ├── ExperimentError      an experiment that cannot run here
    │   └── MissingExtra         a library that an extra of the package brings
    ├── StorageError             a disk cannot be used
    │   ├── OutboxRefused        an outbox of somebody else, or in use
    │   └── OutboxDamaged        an outbox that cannot be read whole
    ├── GatewayTimeout           no gateway took what a mobile node has in time
    ├── StoreTimeout             the overlay store did not answer in time
    ├── PublishTimeout           nobody commits: the stream is blocked for too long
    ├── DeliveryTimeout          a flush or close before the nodes had everything
    ├── WriterFull               the readers of a plain topic are too slow for its writer
    ├── WriterEnded              a publisher that comes back when it is long forgotten
    ├── SparkFailed              Spark did not start, or a query of it failed
    ├── NoMailbox                nobody takes messages to mobile nodes
    ├── SendTimeout              a mailbox did not answer: nobody knows whether it took a message
    ├── DomainError              the DDS domain failed or does not answer
    │   └── NameTaken            another process that runs has this name
    └── PeerError                what another process sent or refused
        ├── DecodeError          a damaged or foreign sample
        ├── MoveRefused          a move of slices that must not happen
        ├── NodeRefused          a mobile node that no gateway takes
        ├── ReadFailed           items that no serving node gives
        ├── StoreRefused         what brokers of the store do not do now, or do not take
        ├── LinkLost             a mobile node and its gateway have lost one another
        ├── AccessDenied         a token that does not open this door
        ├── SendRefused          a message that a mailbox does not take
        └── TypeRefused          a type declared at run time that cannot be, or not beside another

An error carries its context as attributes, and a message that says what to do. All of them survive
pickling, so they can cross from a worker process to its parent.
"""

from evenflow.errors.peers import (
    AccessDenied,
    DecodeError,
    LinkLost,
    MoveRefused,
    NodeRefused,
    ReadFailed,
    SendRefused,
    StoreRefused,
    TypeRefused,
)
from evenflow.errors.root import EvenflowError, PeerError, UsageError, did_you_mean
from evenflow.errors.running import (
    DeliveryTimeout,
    DomainError,
    GatewayTimeout,
    NameTaken,
    NoMailbox,
    OutboxDamaged,
    OutboxRefused,
    PublishTimeout,
    SendTimeout,
    SparkFailed,
    StorageError,
    StoreTimeout,
    WriterEnded,
    WriterFull,
)
from evenflow.errors.usage import (
    AssignmentError,
    ClosedError,
    ConfigError,
    DelegationError,
    ExperimentError,
    ExpressionError,
    ItemFailed,
    MissingExtra,
    OverlayError,
    PlanError,
    QosError,
    RegistryError,
    SnapshotError,
    UnknownName,
    UnknownTopic,
)

__all__ = [
    "AccessDenied",
    "AssignmentError",
    "ClosedError",
    "ConfigError",
    "DecodeError",
    "DelegationError",
    "DeliveryTimeout",
    "DomainError",
    "EvenflowError",
    "ExperimentError",
    "ExpressionError",
    "GatewayTimeout",
    "ItemFailed",
    "LinkLost",
    "MissingExtra",
    "MoveRefused",
    "NameTaken",
    "NoMailbox",
    "NodeRefused",
    "OutboxDamaged",
    "OutboxRefused",
    "OverlayError",
    "PeerError",
    "PlanError",
    "PublishTimeout",
    "QosError",
    "ReadFailed",
    "RegistryError",
    "SendRefused",
    "SendTimeout",
    "SnapshotError",
    "SparkFailed",
    "StorageError",
    "StoreRefused",
    "StoreTimeout",
    "TypeRefused",
    "UnknownName",
    "UnknownTopic",
    "UsageError",
    "WriterEnded",
    "WriterFull",
    "did_you_mean",
]
