"""``evenflow keys``: the operator's keys and the CA."""

from __future__ import annotations

import rich_click as click

from evenflow.access.keys import init_keys, renew_server
from evenflow.cli.options import Shared, command

EXAMPLES = """\
  evenflow keys init              make all keys, in the folder access.dir
  evenflow keys init --dir /etc/evenflow/keys
  evenflow keys renew             a new certificate for the doors

What goes where:
  operator   all files; signing.key and ca.key nowhere else
  gateway    signing.pub, server.key, server.pem (it keeps revoked.txt itself)
  client     ca.pem, and a token (evenflow token issue)
"""


@command("keys", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["init", "renew"]), help="what to do")
@click.option("--dir", "folder", metavar="DIR", help="folder of the keys (access.dir)")
def keys(shared: Shared, action: str, folder: str | None) -> int:
    """Make the keys of tokens and certificates, or renew the certificate of the doors.

    A key that is there is never overwritten. Files can be read by their owner only.
    """
    if folder:
        shared.settings["access.dir"] = folder
    place = shared.config().access_folder
    made = init_keys(place) if action == "init" else renew_server(place)
    for path in made:
        print(path)
    return 0
