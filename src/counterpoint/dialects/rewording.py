"""Refusals of the core in the ids and the states of a dialect.

Rules: (1) the core calls items by the ids that it keeps, and says how they stand in words of its tables; a dialect that has others says by two
tables which. (2) An id is one where it is a word of its own: in quotes, in a command, or as a part of a path or a branch it is what was given.
(3) A state is one where the core says it of an item, in the few forms below, so that no text that somebody wrote is changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, IllegalMove

_STATES: Final = frozenset({"state", "status"})
"""Facts that are a state."""
_MOVES: Final = "moves"
"""The fact with the states that may follow one."""
_FOLLOWING: Final = re.compile(r"(?<=may become: )[\w, ]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewording:
    """What a dialect calls the items and the states that a refusal names.

    prefix: that of the ids of the project. names: by the id that the core keeps. states: by the core's word.
    phrases: other words of the core, each with what stands for it.
    """

    prefix: str
    names: Mapping[str, str]
    states: Mapping[str, str]
    phrases: Mapping[str, str] = field(default_factory=dict[str, str])

    def refusal(self, refusal: CounterpointError) -> CounterpointError:
        """Return a refusal with its message, its hint and its facts in the words of the dialect."""
        is_move = isinstance(refusal, IllegalMove)
        facts = {name: self._fact(name, fact) for name, fact in refusal.facts.items()}
        if is_move and isinstance(states := facts.get(_MOVES), list):
            facts[_MOVES] = self._each(cast("list[str]", states))
        message, hint = (
            self.text(text, is_move=is_move) for text in (refusal.message, refusal.steps)
        )
        return type(refusal)(message, hint=hint, **facts)

    def text(self, text: str, *, is_move: bool = False) -> str:
        """Return a text of the core in the words of the dialect; is_move: whether it tells of a move that there is not."""
        for core, spoken in self.phrases.items():
            text = text.replace(core, spoken)
        state, name = "|".join(map(re.escape, self.states)) or "(?!)", _id(self.prefix)
        pattern = rf"(\bit is (?:in the )?|{name} (?:is |becomes |\()|\bbecame )({state})\b(, not )?({state})?\b"
        text = re.sub(pattern, self._reword_state, text)
        if is_move:
            text = re.sub(rf"'({state})'", lambda match: self.states[match[1]], text)
            text = _FOLLOWING.sub(lambda match: ", ".join(self._each(match[0].split(", "))), text)
        return re.sub(name, lambda match: self.names.get(match[0], match[0]), text)

    def _reword_state(self, match: re.Match[str]) -> str:
        before, state, but, other = match.groups(default="")
        return f"{before}{self.states[state]}{but}{self.states.get(other, other)}"

    def _each(self, states: list[str]) -> list[str]:
        return list(dict.fromkeys(self.states.get(state, state) for state in states))

    def _fact(self, name: str, fact: Json) -> Json:
        if name in _STATES and isinstance(fact, str):
            return self.states.get(fact, fact)
        return self._value(fact)

    def _value(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            parts = cast("dict[str, Json]", value)
            return {self.text(name): self._value(part) for name, part in parts.items()}
        if isinstance(value, list | tuple):
            return [self._value(part) for part in cast("list[Json]", value)]
        return value


def ids_in(refusal: CounterpointError, prefix: str) -> list[str]:
    """Return the ids of items that a refusal names, those of its message first, each once."""
    return ids_of([refusal.message, refusal.steps, dict(refusal.facts)], prefix)


def ids_of(texts: Json, prefix: str) -> list[str]:
    """Return the ids of items that texts name, in their order, each once."""
    return list(
        dict.fromkeys(name for text in _texts(texts) for name in re.findall(_id(prefix), text))
    )


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in cast("dict[str, Json]", value).items():
            yield name
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in cast("list[Json]", value):
            yield from _texts(part)


def _id(prefix: str) -> str:
    """Return a pattern of the ids of a project."""
    return rf"(?<![\w'`/.-]){re.escape(prefix)}-[1-9][0-9]*(?![\w'`/.-]*[\w'`/-])"
