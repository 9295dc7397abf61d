"""The images example runs on Spark with its one command; ``test_up`` runs the fleet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = [pytest.mark.domain, pytest.mark.spark, pytest.mark.processes]


@pytest.mark.timeout(400)
def test_images_come_back_gray(domain_id: int) -> None:
    done = subprocess.run(
        [sys.executable, "images.py", "--images", "200", "--domain", str(domain_id)],
        cwd=EXAMPLES / "images",
        capture_output=True,
        text=True,
        timeout=350,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3_000:]
    assert "200 images, 0 lost, 0 repeated, 0 not gray" in done.stdout
