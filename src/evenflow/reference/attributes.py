"""What stands under the fields of a class, which Python itself forgets."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from itertools import pairwise
from typing import Any


def documented(kind: type[Any]) -> dict[str, str]:
    """The text under each field of a class and its bases, in one line each."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        try:
            source = textwrap.dedent(inspect.getsource(base))
        except (OSError, TypeError):
            continue
        body = ast.parse(source).body[0]
        if isinstance(body, ast.ClassDef):
            found |= _texts(body.body)
    return found


def _texts(body: list[ast.stmt]) -> dict[str, str]:
    """Each name that is assigned, with the text that follows it."""
    found = {}
    for here, after in pairwise(body):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    found[here.target.id] = one_line(text)
    return found


def constants(source: str) -> dict[str, Any]:
    """The names that a module binds to plain values."""
    found = {}
    for here in ast.parse(source).body:
        target = here.targets[0] if isinstance(here, ast.Assign) else None
        target = here.target if isinstance(here, ast.AnnAssign) else target
        value = here.value if isinstance(here, ast.Assign | ast.AnnAssign) else None
        if isinstance(target, ast.Name) and value is not None:
            try:
                found[target.id] = ast.literal_eval(value)
            except ValueError:
                continue
    return found


def one_line(text: str) -> str:
    """A docstring as it reads in a table: in one line, code in backticks."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", " ".join(text.split()))
    return text.replace("``", "`").replace("|", "\\|")


def first_sentence(kind: Any) -> str:
    """What a docstring begins with."""
    text = inspect.getdoc(kind) or ""
    return one_line(text.split("\n\n")[0])
