"""The configuration: one TOML file, its sections as frozen dataclasses that check themselves.

:class:`Config` is the whole (`loading`); `sections`, `loop_sections`, `mobile_sections` and
`qos_section` hold what may be written in it, `section` how a field states what it accepts.
"""

from evenflow.config.access_section import AccessConfig
from evenflow.config.bridge_section import BridgeConfig
from evenflow.config.gateway_section import GatewayConfig
from evenflow.config.loading import Config
from evenflow.config.loop_sections import (
    ElasticConfig,
    EventConfig,
    GroupConfig,
    HistoryConfig,
    MonitorConfig,
    PlannerConfig,
    RuleConfig,
)
from evenflow.config.metrics_section import MetricsConfig
from evenflow.config.mobile_sections import MailboxConfig, MobileGroupConfig
from evenflow.config.qos_section import QosConfig
from evenflow.config.sections import (
    BalancerConfig,
    ConsumerConfig,
    DomainConfig,
    NodeConfig,
    PublisherConfig,
    StoreConfig,
    TopicConfig,
)

__all__ = [
    "AccessConfig",
    "BalancerConfig",
    "BridgeConfig",
    "Config",
    "ConsumerConfig",
    "DomainConfig",
    "ElasticConfig",
    "EventConfig",
    "GatewayConfig",
    "GroupConfig",
    "HistoryConfig",
    "MailboxConfig",
    "MetricsConfig",
    "MobileGroupConfig",
    "MonitorConfig",
    "NodeConfig",
    "PlannerConfig",
    "PublisherConfig",
    "QosConfig",
    "RuleConfig",
    "StoreConfig",
    "TopicConfig",
]
