"""Names that both sides of a door know; clients need nothing else of this package."""

from __future__ import annotations

from typing import Final

SERVER_NAME: Final = "server.evenflow.internal"
"""In the certificate of every door: clients trust it for its CA, whatever its address."""
CA_FILE: Final = "ca.pem"
"""What clients trust."""
SERVER_KEY: Final = "server.key"
"""Private key of every door."""
SERVER_FILE: Final = "server.pem"
"""Certificate of every door."""
