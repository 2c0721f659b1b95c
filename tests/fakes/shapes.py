"""Shapes of answers: keys and JSON types, written as a line of text.

A shape is written as `{key: type, optional?: type, *id: type}`: `str`, `int`, `num`, `bool`, `null` or `any`, one of several
joined by `|`, a list as `[type]`. No key is there that the shape does not name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from builders import Agent

SPEC = "export-2026-01-02-001"
LIMITS = (
    "max_tasks_per_session: int, max_consecutive_errors: int, context_threshold_pct: int,"
    " heartbeat_stale_minutes: int, heartbeat_grace_minutes: int, step_stale_minutes: int,"
    " max_fidelity_review_cycles_per_phase: int, avg_pct_per_step: int,"
    " context_staleness_threshold: int, context_staleness_penalty_pct: int,"
    " context_reset_threshold_pct: int, sidecar_max_age_seconds: int"
)
STOPS = "stop_on_phase_completion: bool, auto_retry_fidelity_gate: bool"
"""What unattended runs are held to."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One call and the shape of its data; before: calls that come before it."""

    call: str
    given: dict[str, Any] = field(default_factory=dict[str, Any])
    shape: str
    before: tuple[tuple[str, dict[str, Any]], ...] = ()


def row(call: str, shape: str, *before: tuple[str, dict[str, Any]], **given: Any) -> Row:
    """Return a row; before: calls that come before its call."""
    return Row(call=call, given=given, shape=shape, before=before)


def on(call: str, **given: Any) -> tuple[str, dict[str, Any]]:
    """Return a call about the spec."""
    return call, {"spec_id": SPEC, **given}


_TOKEN = re.compile(r"\s*([{}\[\]:,|?]|\*?[\w-]+)")
Shape = frozenset[str] | tuple["Shape | None"] | dict[str, "Shape"]


def parsed(text: str) -> Shape:
    """Return the shape that a text tells."""
    tokens = iter(_TOKEN.findall(text))
    return _shape(next(tokens), _Ahead(tokens))


class _Ahead:
    """Tokens of which the next can be looked at."""

    def __init__(self, tokens: Iterator[str]) -> None:
        """Look at the first."""
        self._tokens = tokens
        self.next = next(tokens, "")

    def take(self) -> str:
        """Return the next, and look at the one behind it."""
        taken, self.next = self.next, next(self._tokens, "")
        return taken


def _shape(begin: str, ahead: _Ahead) -> Shape:
    if begin == "{":
        fields: dict[str, Shape] = {}
        while ahead.next != "}":
            name = ahead.take()
            name += ahead.take() if ahead.next == "?" else ""
            assert ahead.take() == ":"
            fields[name] = _shape(ahead.take(), ahead)
            if ahead.next == ",":
                ahead.take()
        ahead.take()
        return fields
    if begin == "[":
        inner = None if ahead.next == "]" else _shape(ahead.take(), ahead)
        assert ahead.take() == "]"
        return (inner,)
    words = {begin}
    while ahead.next == "|":
        ahead.take()
        words.add(ahead.take())
    return frozenset(words)


def faults(value: Any, shape: Shape | None, where: str = "") -> list[str]:
    """Return where a value differs from a shape."""
    if isinstance(shape, frozenset):
        word = _word(value)
        also = {"num"} if word == "int" else set[str]()
        return [] if shape & {word, "any", *also} else [f"{where} is {word}"]
    if isinstance(shape, tuple):
        if not isinstance(value, list):
            return [f"{where} is {_word(value)}"]
        inner = shape[0]
        every = [
            fault
            for place, one in enumerate(value)
            for fault in faults(one, inner, f"{where}[{place}]")
        ]
        return [f"{where} is not empty"] if inner is None and value else every
    if shape is None or not isinstance(value, dict):
        return [f"{where} is {_word(value)}"]
    if "*id" in shape:
        return [
            fault
            for name, one in value.items()
            for fault in faults(one, shape["*id"], f"{where}.{name}")
        ]
    return list(_of_fields(value, shape, where))


def _of_fields(value: dict[str, Any], shape: dict[str, Shape], where: str) -> Iterator[str]:
    for name, inner in shape.items():
        plain = name.removesuffix("?")
        if plain in value:
            yield from faults(value[plain], inner, f"{where}.{plain}")
        elif plain == name:
            yield f"{where}.{name} is missing"
    known = {name.removesuffix("?") for name in shape}
    yield from (f"{where}.{name} is too many" for name in value if name not in known)


def _word(value: Any) -> str:
    words = {str: "str", bool: "bool", int: "int", float: "num", list: "list", dict: "obj"}
    return words.get(type(value), "null")


def misshapen(
    rows: Iterable[Row], tool: str, made: Callable[..., str], agent: Agent
) -> Iterator[str]:
    """Answer what differs from the rows of a tool, each called about a spec of its own; no answer is longer than a page."""
    for number, one in enumerate((one for one in rows if one.call.split()[0] == tool), 1):
        spec = f"export-2026-01-02-{number:03}"
        made(spec=spec)
        for call, given in (*one.before, (one.call, one.given)):
            own = {name: spec if value == SPEC else value for name, value in given.items()}
            name, action, *command = call.split()
            which = {"action": action, **({"command": command[0]} if command else {})}
            answer = agent.does(name, **which, **own)
        assert len(orjson.dumps(answer)) <= 10_000
        yield from (f"{one.call} {fault}" for fault in faults(answer["data"], parsed(one.shape)))
