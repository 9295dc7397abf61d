"""What makes a node a member of a group, as the configuration says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.expression import AttributeExpression
from evenflow.domain.channels import is_node
from evenflow.errors import ConfigError
from evenflow.mobile.groups.region import Region

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.config import MobileGroupConfig


@dataclass(frozen=True, slots=True)
class Definition:
    """A group: its members by name; or whom an expression, a region, or both hold for."""

    name: str
    members: tuple[str, ...] = ()
    expression: AttributeExpression | None = None
    region: Region | None = None

    @property
    def words(self) -> str:
        """What kind of group it is."""
        if self.members:
            return "listed"
        parts = [("expression", self.expression), ("region", self.region)]
        return " and ".join(word for word, part in parts if part is not None)


def definitions(groups: Iterable[MobileGroupConfig]) -> tuple[Definition, ...]:
    """Read the groups of the configuration.

    Raises:
        ExpressionError: An expression is faulty; says where.
        ConfigError: A region is none, or no node can be called as a member is.
        MissingExtra: There is an expression, and the extra ``[events]`` is not installed.
    """
    return tuple(map(_definition, groups))


def _definition(group: MobileGroupConfig) -> Definition:
    expression = region = None
    odd = [name for name in group.members if not is_node(name)]
    if odd:
        raise ConfigError(group.key("members"), odd[0], "no mobile node can be called so")
    if group.expression:
        expression = AttributeExpression(group.expression, key=group.key("expression"))
    if group.region:
        try:
            region = Region(group.region)
        except ValueError as error:
            raise ConfigError(group.key("region"), group.region, str(error)) from None
    return Definition(group.name, group.members, expression, region)
