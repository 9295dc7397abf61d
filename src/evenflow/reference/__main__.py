"""Write the reference: ``python -m evenflow.reference docs``; with ``--check`` only compare."""

from __future__ import annotations

import sys
from pathlib import Path

from evenflow.reference.idl import idl
from evenflow.reference.pages import commands, configuration, exceptions, metrics, names
from evenflow.reference.spark import spark_options

HEAD = """\
# Reference

Every key of the file, command, Spark option, metric, exception and public name. Written from the
code by `make reference`; do not change it by hand. The types of the domain are in
[evenflow.idl](evenflow.idl).

[Configuration](#configuration) · [Commands](#commands) · [Spark options](#spark-options) ·
[Metrics](#metrics) · [Exceptions](#exceptions) · [Names](#names)
"""


def written(docs: Path) -> dict[str, str]:
    """The files of the reference as they should be."""
    parts = (
        HEAD.rstrip(), configuration(), commands(), spark_options(docs), metrics(), exceptions(),
        names(),
    )  # fmt: skip
    return {"reference.md": "\n\n".join(parts) + "\n", "evenflow.idl": idl()}


def main(arguments: list[str]) -> int:
    """Write the files of a folder, or say which are old."""
    check = "--check" in arguments
    docs = Path(next((one for one in arguments if one != "--check"), "docs"))
    old = 0
    for name, text in written(docs).items():
        path = docs / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        old += 1
        if check:
            sys.stderr.write(f"{path} is old: run 'make reference'\n")
        else:
            path.write_text(text, encoding="utf-8")
            sys.stderr.write(f"{path} is written\n")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
