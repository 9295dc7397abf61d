"""Expressions over properties or attributes, in the Common Expression Language (CEL).

An operator writes when something is an event: ``cpu > 70 && backlog_items > 1000``. CEL is made
for this: no loops, no side effects, the same language that Kubernetes and Envoy give their
operators. ``cel-expr-python`` (the C++ implementation with its type checker) compiles an
expression in 0.1 ms and evaluates it in 7 us.

Everything that can be wrong is found when the expression is read, with its place in the text:
its grammar, a property nobody measures (the checker), a calculation that no number allows (a
second check with all properties declared as numbers), and an expression whose answer is not yes
or no.

CEL is large (50 MB) and only those need it who have configured an event: it comes with the extra
``[events]`` and is imported with the first expression.

Properties are floating point numbers. CEL compares them with whole ones (``cpu > 70``) but does not
calculate with both kinds (write ``cpu * 2.0 > 100.0``); the error says so.

Attributes of a mobile node are what its program says of it, and nobody knows their names before:
:class:`AttributeExpression` finds them in the map ``node``, as in ``node.kind == "bus"``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evenflow.errors import ExpressionError, did_you_mean
from evenflow.extras import explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FAULT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_MIXED_COMPARISON = re.compile(r"'_(?:[<>]=?|[=!]=)_' applied to '\((?:double, int|int, double)\)'")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")


class Expression:
    """A compiled expression.

    Args:
        text: The expression.
        properties: Names that may occur in it.
        key: Where it was written, for the error.

    Raises:
        ExpressionError: With the place of the fault.
        MissingExtra: The extra ``[events]`` is not installed.
    """

    def __init__(self, text: str, properties: Iterable[str], *, key: str = "expression") -> None:
        self.text = text
        cel = _cel()
        names = tuple(properties)
        loose = cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN))
        strict = cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DOUBLE))
        self._program = _compiled(loose, text, names, key)
        try:
            strict.compile(text)
        except RuntimeError as error:
            faults = [fault for fault in _FAULT.findall(str(error)) if _counts(fault[2])]
            if faults:
                line, column, reason = faults[0]
                raise ExpressionError(
                    key, text, _in_numbers(reason), line=int(line), column=int(column)
                ) from None

    def holds(self, values: Mapping[str, float]) -> bool | None:
        """Whether it holds; ``None`` when a property it needs has not been measured yet."""
        answer = self._program.eval(data=dict(values)).value()
        return answer if isinstance(answer, bool) else None


class AttributeExpression:
    """A compiled expression over the attributes of a mobile node.

    ``node`` is the map of its attributes, texts, numbers and truth values; ``name`` is its name.

    Args:
        text: The expression.
        key: Where it was written, for the error.

    Raises:
        ExpressionError: With the place of the fault.
        MissingExtra: The extra ``[events]`` is not installed.
    """

    def __init__(self, text: str, *, key: str = "expression") -> None:
        self.text = text
        cel = _cel()
        attributes = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
        known = cel.NewEnv(variables={"node": attributes, "name": cel.Type.STRING})
        self._program = _compiled(known, text, ("name", "node.ATTRIBUTE"), key)

    def holds(self, name: str, attributes: Mapping[str, str | float | bool]) -> bool:
        """Whether it holds; it does not when the node lacks an attribute that it needs."""
        return self._program.eval(data={"name": name, "node": attributes}).value() is True


def _compiled(environment: Any, text: str, names: tuple[str, ...], key: str) -> Any:
    """Compile an expression that says yes or no."""
    try:
        program = environment.compile(text)
    except RuntimeError as error:
        raise _refusal(str(error), text, names, key) from None
    if program.return_type() != _cel().Type.BOOL:
        raise ExpressionError(key, text, "its answer must be yes or no: compare something")
    return program


def _cel() -> Any:
    """The library, imported when it is first needed."""
    try:
        from cel_expr_python import cel  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise explained(error) from None
    return cel


def _counts(reason: str) -> bool:
    """Whether the strict checker's finding is a fault: comparing with a whole number is none."""
    return _MIXED_COMPARISON.search(reason) is None


def _in_numbers(reason: str) -> str:
    if "(double, int)" in reason or "(int, double)" in reason:
        return f"{reason}: write whole numbers with a point, as in 2.0"
    return reason


def _refusal(message: str, text: str, names: tuple[str, ...], key: str) -> ExpressionError:
    found = _FAULT.search(message)
    if found is None:
        return ExpressionError(key, text, message)
    line, column, reason = found.groups()
    unknown = _UNDECLARED.search(reason)
    if unknown is not None:
        name = unknown.group(1)
        known = ", ".join(sorted(names)) or "none"
        reason = f"unknown property {name!r}{did_you_mean(name, names)} (known: {known})"
    elif "'<EOF>' expecting" in reason:
        reason = "the expression ends too early"
    else:
        reason = _in_numbers(reason.split(" expecting ")[0])
    return ExpressionError(key, text, reason, line=int(line), column=int(column))
