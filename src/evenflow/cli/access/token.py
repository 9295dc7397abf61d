"""``evenflow token``: issue tokens, list them, revoke them."""

from __future__ import annotations

import json
import math
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.access.keys import signing_key, write_private
from evenflow.access.register import Issued, issued, note
from evenflow.access.revocation import FILE, add_revoked, read_revoked
from evenflow.access.tokens import TOKEN_ID, Allowed, issue
from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import Column, print_table, prose
from evenflow.cli.values import lifetime
from evenflow.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from evenflow.config import Config

EXAMPLES = """\
  evenflow token issue car-7 --publish items     print a token for one node
  evenflow token issue 'car-*' --publish items --expires 30d
  evenflow token issue ops --send --no-receive --out ops.token
  evenflow token list
  evenflow token revoke 9f2c81d04be3a675         by the id that list shows
  evenflow token revoke car-7                    all tokens of a subject

Who has a token may do what it allows, so --out makes a file that its owner
alone can read; what a shell makes of > is as a rule for everybody to read.

A revoked token ends the connections that were made with it within seconds, at
every gateway of the domain; --no-domain writes the file of this folder only.
"""
COLUMNS = (
    "id", "subject", prose("publish", 2), Column("may", 3), Column("expires", 1), "state",
)  # fmt: skip
TELL_S = 2.0
MATCH_S = 0.7


@command("token", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["issue", "list", "revoke"]), help="what to do")
@click.argument("name", required=False, help="subject of a new token; id or subject to revoke")
@click.option("--publish", metavar="T", multiple=True, help="topic or pattern (may be repeated)")
@click.option("--receive/--no-receive", default=True, help="may receive messages (yes)")
@click.option("--send", is_flag=True, help="may send messages to others")
@click.option("--expires", type=lifetime, default="365d", metavar="TIME", help="after (365d)")
@click.option("--out", metavar="FILE", help="new file for a new token, its owner's alone (printed)")
@click.option("--no-domain", is_flag=True, help="revoke in the file only")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def token(
    shared: Shared,
    action: str,
    name: str | None,
    publish: tuple[str, ...],
    *,
    receive: bool,
    send: bool,
    expires: float,
    out: str | None,
    no_domain: bool,
    as_json: bool,
) -> int:
    """Issue, list and revoke tokens."""
    config = shared.config()
    folder = config.access_folder
    if action == "list":
        return _list(folder, config.access.clock_skew_s, as_json=as_json)
    if out is not None and action == "revoke":
        raise UsageError("--out is for a new token: evenflow token issue NAME --out FILE")
    if not name:
        raise UsageError(f"say whose: evenflow token {action} NAME")
    if action == "revoke":
        return _revoke(config, name, tell=not no_domain)
    if out is not None and Path(out).exists():
        raise UsageError(f"{out} is there already, and is not overwritten: name another file")
    made = _issue(folder, name, Allowed(publish, receive, send), expires)
    print(made if out is None else write_private(Path(out), made.encode() + b"\n"))
    return 0


def _issue(folder: Path, subject: str, allowed: Allowed, lifetime_s: float) -> str:
    key, now, number = signing_key(folder), time.time(), secrets.token_hex(8)
    made = issue(
        key, subject=subject, allowed=allowed, issued=now, expires=now + lifetime_s, id=number
    )
    entry = Issued(
        number, subject, allowed.publish, allowed.receive, allowed.send, now, now + lifetime_s
    )
    note(folder, entry)
    return made


def _list(folder: Path, skew_s: float, *, as_json: bool) -> int:
    revoked, now = read_revoked(folder / FILE), time.time()
    rows = [_row(one, revoked, now, skew_s) for one in issued(folder)]
    if as_json:
        print(json.dumps(rows, indent=2))
        return 0
    if not rows:
        print(f"no token was issued here ({folder})")
        return 0
    print_table(COLUMNS, [_cells(row) for row in rows])
    for row in rows:
        left_s = row["accepted_until"] - now
        if row["state"] == "expired" and left_s > 0:
            print(f"{row['id']} has expired, and doors accept it for {math.ceil(left_s)} s more")
    return 0


def _cells(row: dict[str, Any]) -> list[str]:
    may = " ".join(what for what in ("receive", "send") if row[what])
    until = datetime.fromtimestamp(row["expires"], UTC).strftime("%Y-%m-%d")
    return [row["id"], row["subject"], ", ".join(row["publish"]), may, until, row["state"]]


def _row(one: Issued, revoked: dict[str, float], now: float, skew_s: float) -> dict[str, Any]:
    state = "revoked" if one.id in revoked else "expired" if now > one.expires else "valid"
    return {
        "id": one.id,
        "subject": one.subject,
        "publish": list(one.publish),
        "receive": one.receive,
        "send": one.send,
        "issued": one.issued,
        "expires": one.expires,
        "accepted_until": one.expires + skew_s,
        "state": state,
    }


def _revoke(config: Config, name: str, *, tell: bool) -> int:
    folder = config.access_folder
    known = issued(folder)
    found = {one.id: one.expires for one in known if name in {one.id, one.subject}}
    if not found and TOKEN_ID.fullmatch(name):
        found = {name: time.time() + 10 * 365 * 86_400}  # issued elsewhere: remember it for long
    if not found:
        raise UnknownName("token", name, [*dict.fromkeys(one.subject for one in known)])
    add_revoked(folder / FILE, found)
    for number in found:
        print(f"{number} is revoked")
    if tell:
        print(f"{_tell(config, found)} doors of domain {config.domain.id} were told")
    return 0


def _tell(config: Config, found: dict[str, float]) -> int:
    """Tell the doors of the domain; return how many are there."""
    from evenflow.domain.channels import REVOCATIONS  # noqa: PLC0415 - the file needs no domain
    from evenflow.domain.cyclone import Participant  # noqa: PLC0415
    from evenflow.model.messages import Revocation  # noqa: PLC0415

    with Participant(config.domain) as participant:
        writer = participant.writer(REVOCATIONS)
        time.sleep(MATCH_S)  # until the doors of the domain are known to this new writer
        for number, expires in found.items():
            writer.write(Revocation(number, expires))
        writer.wait_acked(TELL_S)
        return writer.matched()
