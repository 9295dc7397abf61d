from __future__ import annotations

import socket
from types import SimpleNamespace
from urllib.request import urlopen

import pytest

from evenflow.errors import ConfigError
from evenflow.metrics.endpoint import Endpoint
from evenflow.metrics.panel import Panel, counter, gauge

PANEL = Panel(
    "a thing",
    ("topic",),
    (
        counter("thing_items", "items", "Items."),
        gauge("thing_parts", "parts", "Parts.", ("part",)),
    ),
)


def scrape(endpoint: Endpoint) -> dict[str, float]:
    with urlopen(endpoint.url, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        lines = answer.read().decode().splitlines()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in lines
        if not line.startswith("#")
    }


def test_a_scrape_reads_what_is_counted_then() -> None:
    thing = SimpleNamespace(items=1, parts={("a",): 2})
    with Endpoint("0") as endpoint:
        endpoint.show(PANEL, lambda: [(("fleet",), thing)])
        found = scrape(endpoint)
        assert found['evenflow_thing_items_total{topic="fleet"}'] == 1
        assert found['evenflow_thing_parts{part="a",topic="fleet"}'] == 2
        thing.items = 5
        assert scrape(endpoint)['evenflow_thing_items_total{topic="fleet"}'] == 5


def test_the_process_itself_is_shown() -> None:
    with Endpoint("0") as endpoint:
        found = scrape(endpoint)
    assert any(name.startswith("evenflow_info{version=") for name in found)
    assert found["process_resident_memory_bytes"] > 0


def test_nothing_is_read_between_scrapes() -> None:
    reads = []

    def read() -> list[tuple[tuple[str, ...], object]]:
        reads.append(len(reads))
        return []

    with Endpoint("0") as endpoint:
        endpoint.show(PANEL, read)
        assert reads == []
        scrape(endpoint)
        assert reads == [0]
        scrape(endpoint)
    assert reads == [0, 1]


def test_what_cannot_be_read_is_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with Endpoint("0") as endpoint:
        endpoint.show(PANEL, lambda: [(("fleet",), object())])
        scrape(endpoint)
        found = scrape(endpoint)
    assert not any(name.startswith("evenflow_thing") for name in found)
    assert found["evenflow_scrape_errors_total"] >= 1
    assert [record.message for record in caplog.records] == [
        "the metrics of a thing cannot be read"
    ]


def test_a_client_that_says_nothing_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenflow.metrics.endpoint._Quiet.timeout", 0.05)
    with Endpoint("0") as endpoint:
        port = int(endpoint.url.split(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port)):
            assert scrape(endpoint)


def test_it_is_on_the_loopback_unless_a_host_is_named() -> None:
    with Endpoint("0") as endpoint:
        assert endpoint.url.startswith("http://127.0.0.1:")
    with Endpoint("[::1]:0") as endpoint:
        assert endpoint.url.startswith("http://[::1]:")
        assert scrape(endpoint)


def test_a_port_that_is_taken_is_an_error_in_words() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as caught:
            Endpoint(str(port), "metrics.node")
    assert str(caught.value) == (
        f"metrics.node = '{port}': port {port} of 127.0.0.1 cannot be used"
        " (Address already in use): name another, or 0 for any"
    )


def test_of_a_range_the_first_free_port_is_taken() -> None:
    with Endpoint("0") as first:
        port = int(first.url.split(":")[2].partition("/")[0])
        if port > 65_000:
            pytest.skip("too near to the end")
        with Endpoint(f"127.0.0.1:{port}-{port + 100}") as second:
            assert second.url != first.url
        with pytest.raises(ConfigError, match=f"each of the ports {port}-{port} |port {port} of"):
            Endpoint(f"{port}-{port}")


@pytest.mark.parametrize(
    "where", ["", "x", "-1", "9100-", "9110-9101", "70000", "a b:9100", "::1:9100", "host:"]
)
def test_what_is_no_address_is_refused_in_words(where: str) -> None:
    with pytest.raises(ConfigError, match="must be PORT, HOST:PORT"):
        Endpoint(where)
