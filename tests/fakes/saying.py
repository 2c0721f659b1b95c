"""Calls tools with texts as long as they take, and remembers what was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from builders import Agent

LONGEST = 30_000
SHORTER = (12_000, 5_000, 2_000, 1_000, 400, 150, 60)
FILL = 'so "it" is; '


@dataclass
class Said:
    """A text that is given to a tool: as long as the tool takes it, with marks that are looked for."""

    label: str
    most: int = LONGEST

    @property
    def marks(self) -> list[str]:
        """The words that must be found; the middle one is said more often than a page can cut."""
        return [f"zq{self.label}{place}" for place in ("first", "amid", "last")]

    @property
    def text(self) -> str:
        """The text itself."""
        first, amid, last = self.marks
        middle = f" {amid} {amid} {amid} "
        room = max(0, self.most - len(first) - len(middle) - len(last) - 2)
        fill = (FILL * (room // (2 * len(FILL)) + 1))[: room // 2].strip()
        return f"{first} {fill}{middle}{fill} {last}"


@dataclass
class Writer:
    """Calls the tools of a dialect with texts as long as they take, and remembers what was said."""

    agent: Agent
    said: dict[str, Said] = field(default_factory=dict[str, Said])
    names: set[str] = field(default_factory=set[str])

    def does(self, tool: str, by: Agent | None = None, **asked: Any) -> dict[str, Any]:
        """Call a tool; a text that is too long is said shorter, until all are taken."""
        agent, texts = by or self.agent, list(_texts(asked))
        for most in (*SHORTER, None):
            reply = agent.call(tool, _filled(asked))
            answer = inner(reply.answer)
            refused = reply.is_error or not reply.answer.get("ok", True) or "error" in answer
            if not refused:
                self.said |= {one.label: one for one in texts}
                self.names |= set(_names(reply.answer))
                return answer
            assert most is not None, (tool, reply.text[:2_000])
            limits = _limits(reply.text)
            named = {one.label.split("X")[-1] for one in texts}
            others = [limit for name, limit in limits.items() if name not in named]
            for one in texts:
                told = limits.get(one.label.split("X")[-1], min([*others, one.most]))
                one.most = min(one.most, told, LONGEST if limits else most or 0)
        raise AssertionError(tool)


def inner(answer: dict[str, Any]) -> dict[str, Any]:
    """Answer what a tool tells, without what some dialects put around it."""
    return answer.get("data", {"error": ""}) if {"ok", "meta"} & answer.keys() else answer


def _limits(refusal: str) -> dict[str, int]:
    """Answer the limits that a refusal tells, by the last word of each parameter's path."""
    found = re.findall(r"(\w+)(?:\[\d+\])?: is \d+ characters long; the limit is (\d+)", refusal)
    return {name: int(most) for name, most in found}


def _texts(value: Any) -> Iterator[Said]:
    if isinstance(value, Said):
        yield value
    for one in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _texts(one)


def _filled(value: Any) -> Any:
    if isinstance(value, Said):
        return value.text
    if isinstance(value, dict):
        return {name: _filled(one) for name, one in value.items()}
    return [_filled(one) for one in value] if isinstance(value, list) else value


def _names(value: Any) -> Iterator[str]:
    """Answer what may be the name of something: short texts without white space."""
    if isinstance(value, str) and re.fullmatch(r"[\w./#-]{1,64}", value):
        yield value
    for one in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _names(one)


def t(label: str) -> Any:
    """Answer a text for a parameter: `toolXparameter`."""
    return Said(label)
