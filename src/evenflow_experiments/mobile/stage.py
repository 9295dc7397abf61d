"""A mobile edge on this machine: balancer, counting node, mailbox, gateways, and a fleet."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import psutil

from evenflow.access.keys import init_keys
from evenflow.access.names import CA_FILE
from evenflow.closing import Closing
from evenflow.domain.channels import GATEWAYS
from evenflow.domain.cyclone import Participant
from evenflow.errors import ExperimentError
from evenflow.fleet.mobile_processes import FleetProcesses
from evenflow.fleet.tour import Tour
from evenflow.mobile.link.connection import Trust
from evenflow.mobile.messenger.messenger import Messenger
from evenflow.processes import LocalCluster, free_ports, wait_until
from evenflow_experiments.mobile.counting import serve_counts
from evenflow_experiments.slices.helper import Helper

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.config import Config
    from evenflow.fleet.tour import TourBooks
    from evenflow_experiments.mobile.counting import Arrivals
    from evenflow_experiments.options import Given

TOPIC: Final = "items"
SLICES: Final = 16
PATIENCE_S: Final = 60.0


def staged_config(given: Given, domain: int, folder: Path, more: dict[str, Any]) -> Config:
    """The configuration of a stage; everything on disk is in its folder."""
    return given.config(
        {
            "domain.id": domain,
            "topics": {TOPIC: {"slices": SLICES, "assignment": "hash:sender"}},
            "access.dir": str(folder / "keys"),
            "gateway.state_dir": str(folder / "gateways"),
            "mailbox.state_dir": str(folder / "mail"),
            **more,
        }
    )


class Stage(Closing):
    """Everything but the fleet, running."""

    def __init__(self, experiment: str, config: Config, folder: Path, *, mailbox: bool) -> None:
        self.experiment = experiment
        self.config = config
        self.addresses: dict[str, str] = {}
        self._folder = folder
        self._cleanup = contextlib.ExitStack()
        with self._cleanup:
            enter = self._cleanup.enter_context
            (folder / "logs").mkdir(parents=True, exist_ok=True)
            init_keys(config.access_folder)
            self.cluster = enter(LocalCluster(config, log_dir=folder / "logs"))
            self.cluster.start_balancer()
            if mailbox:
                self.cluster.start("mailbox", ["mailbox", "--name", "m1"])
            self._counter = enter(Helper(experiment, serve_counts, config))
            self._counter.answer()
            self.participant = enter(Participant(config.domain))
            self._reports = self.participant.reader(GATEWAYS)
            self._cleanup = self._cleanup.pop_all()

    def start_gateway(self, name: str) -> str:
        """Start a gateway and wait until the domain hears of it; return its address."""
        address = self.addresses[name] = f"quic://127.0.0.1:{free_ports(1)[0]}"
        self.cluster.start(name, ["gateway", "--name", name, "--listen", address])
        if not wait_until(lambda: self._is_heard(name), PATIENCE_S, 0.002):
            log = self.cluster.log(name).strip()
            raise ExperimentError(self.experiment, f"gateway {name} is not heard: {log[-500:]}")
        return address

    def _is_heard(self, name: str) -> bool:
        self.cluster.check()
        return any(getattr(one, "gateway", "") == name for one in self._reports.take())

    def fleet(self, processes: int, **tour: Any) -> FleetProcesses:
        """Start vehicles that attach to the gateways there are."""
        from evenflow.cli.mobile.fleet import own_token  # noqa: PLC0415 - the command's module

        orders = Tour(
            gateways=tuple(self.addresses.values()),
            token=own_token(self.config),
            trust=Trust(str(self.config.access_folder / CA_FILE)),
            **tour,
        )
        return FleetProcesses(orders, processes)

    def process(self, name: str) -> psutil.Process:
        """A process of the stage, for whoever wants to know what it costs."""
        return psutil.Process(self.cluster.processes[name].pid)

    def cpu_s(self, name: str) -> float:
        """CPU seconds that a process of the stage has used."""
        times = self.process(name).cpu_times()
        return float(times.user + times.system)

    def rss_kib(self, name: str) -> float:
        """Resident memory of a process of the stage."""
        return float(self.process(name).memory_info().rss) / 1_024

    def arrivals(self) -> Arrivals:
        """What has come out of the topic."""
        found: Arrivals = self._counter.ask("count")
        return found

    def await_arrivals(self, books: TourBooks) -> Arrivals:
        """Wait until everything that was published came out, or clearly does not."""
        found = self.arrivals()
        deadline = time.monotonic() + PATIENCE_S
        while found.distinct < books.published and time.monotonic() < deadline:
            time.sleep(0.2)
            delays, found = found.delays_ms, self.arrivals()
            found.delays_ms = delays + found.delays_ms
        return found

    def close(self) -> None:
        """End everything."""
        self._cleanup.close()


class Dispatcher(Closing):
    """Sends a numbered message to all nodes once a second, in a thread."""

    def __init__(self, stage: Stage, every_s: float = 1.0) -> None:
        self.sent = 0
        self._every_s = every_s
        self._ended = threading.Event()
        self._messenger = Messenger("dispatch", config=stage.config, participant=stage.participant)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._ended.wait(self._every_s):
            number += 1
            self.sent += self._messenger.send(str(number), all=True, expires_s=600.0).recipients

    def stop(self) -> int:
        """Send no more; return how many were sent, one to many nodes counted for each."""
        self._ended.set()
        self._thread.join()
        return self.sent

    def close(self) -> None:
        """End it."""
        self.stop()
        self._messenger.close()
