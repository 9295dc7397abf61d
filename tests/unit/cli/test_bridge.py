"""``evenflow bridge``: what it refuses before it begins."""

from __future__ import annotations

import pytest

from evenflow.cli import main


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--listen", "239.1.1.1:0"], "--listen = '239.1.1.1'"),
        (["--listen", "127.0.0.1:0", "--advertise", "0.0.0.0:7600"], "--advertise = '0.0.0.0'"),
        (["--listen", "127.0.0.1:0", "--advertise", "10.0.0.1:0"], "--advertise = '10.0.0.1'"),
        (["--listen", "127.0.0.1:0", "--advertise", ""], "--advertise = ''"),
        (["--listen", "127.0.0.1:0", "--keys", "nowhere/keys"], "--keys = 'nowhere/keys'"),
        (["--listen", "127.0.0.1:0", "--keys", "/dev/zero"], "--keys = '/dev/zero'"),
    ],
)
def test_what_cannot_be_served_is_refused_at_once(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bridge", "--name", "x", *options, "--for", "1s"]) == 2
    assert said in capsys.readouterr().err
