"""``evenflow keys``: the operator's keys and the CA."""

from __future__ import annotations

import rich_click as click

from evenflow.access.keys import init_keys, renew_server
from evenflow.bridge.shell.keys import FILE, add_key
from evenflow.cli.options import Shared, command
from evenflow.errors import UsageError

EXAMPLES = """\
  evenflow keys init              make all keys, in the folder access.dir
  evenflow keys init --dir /etc/evenflow/keys
  evenflow keys renew             a new certificate for the doors
  evenflow keys device therm-1    a key for a device, by its name or GUID

What goes where:
  operator   all files; signing.key and ca.key nowhere else
  gateway    signing.pub, server.key, server.pem (it keeps revoked.txt itself)
  client     ca.pem, and a token (evenflow token issue)
  bridge     devices.keys; a device has its own key, which is printed once
"""


@command("keys", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["init", "renew", "device"]), help="what to do")
@click.argument("device", required=False, help="with device: its name, or its GUID")
@click.option("--dir", "folder", metavar="DIR", help="folder of the keys (access.dir)")
def keys(shared: Shared, action: str, device: str | None, folder: str | None) -> int:
    """Make the keys of tokens and certificates or of a device; renew the certificate of the doors.

    A key that is there is never overwritten. Files can be read by their owner only.
    """
    if folder:
        shared.settings["access.dir"] = folder
    place = shared.config().access_folder
    if (action == "device") != bool(device):
        raise UsageError("device, and nothing else, takes a name: evenflow keys device NAME")
    if device:
        print(add_key(place / FILE, device))
        return 0
    made = init_keys(place) if action == "init" else renew_server(place)
    for path in made:
        print(path)
    return 0
