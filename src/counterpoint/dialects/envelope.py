"""What the refusals of all dialects share: a code, words that fit, facts that fit.

A dialect says in its own `envelope.py` which code each kind of refusal has, which classes are
exceptions to that, which of its tools does each act, and in what shape all of it is answered. A
refusal never has more bytes than a page: of the facts those that take the most room are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.dialects.acts import Phrases
from counterpoint.dialects.paging import PAGE, clip, size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, Kind

Codes = Mapping[Kind, str]
Exceptions = tuple[tuple[type[CounterpointError], str], ...]
"""Codes of single classes and of those below them; the first that fits is taken."""

WORDS: Final = 3_000
"""The most bytes of a message, and of a hint."""
_AROUND: Final = 100
"""What names and braces around the facts may take."""


def code_of(refusal: CounterpointError, codes: Codes, exceptions: Exceptions = ()) -> str:
    """Return the code of a refusal: of its class if that is an exception, else of its kind."""
    found = (code for class_, code in exceptions if isinstance(refusal, class_))
    return next(found, codes[refusal.kind])


def message_of(refusal: CounterpointError, most: int = WORDS) -> str:
    """Return what is wrong."""
    return clip(refusal.message, most)


def hint_of(refusal: CounterpointError, phrases: Phrases, most: int = WORDS) -> str:
    """Return what to do next, in the tools of a dialect."""
    return clip(refusal.hint_in(phrases), most)


def fitting_facts(facts: Mapping[str, Json], answer: Mapping[str, Json]) -> dict[str, Json]:
    """Return the facts that fit beside an answer and are not in it, the small ones first."""
    room = PAGE - _AROUND - size_of(dict(answer))
    kept: dict[str, Json] = {}
    for name, fact in sorted(facts.items(), key=lambda pair: size_of(pair[1])):
        room -= size_of({name: fact})
        if room >= 0 and name not in answer:
            kept[name] = fact
    return kept
