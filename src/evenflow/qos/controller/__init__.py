"""The adaptive controller: from how full writers are to how far apart samples have to be."""

from evenflow.qos.controller.controller import Controller, Decision
from evenflow.qos.controller.settings import Clustered, ControllerSettings

__all__ = ["Clustered", "Controller", "ControllerSettings", "Decision"]
