"""What the refusals of all dialects share: a code, words that fit, facts that fit.

A dialect says in its own `envelope.py` which code each kind of refusal has, which classes are
exceptions to that, which of its tools does each act, and in what shape all of it is answered. A
refusal never has more bytes than a page: of the facts those that take the most room are left out.

Each dialect has one table, act → phrase with the tool that does it. What it has no tool for, or none
that this connection may call, is said as a person's command; what no person does is said in plain
words. Tools and commands stand in backticks, a command with the name of the program before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from counterpoint.dialects.paging import PAGE, clip, size_of
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, Kind

Codes = Mapping[Kind, str]
Exceptions = tuple[tuple[type[CounterpointError], str], ...]
"""Codes of single classes and of those below them; the first that fits is taken."""

PEOPLE: Final[Phrases] = {
    Act.HAND_IN: "have it judged by an agent who did not work on it, or by a person:"
    " `counterpoint approve ID` or `counterpoint reject ID`",
    Act.REVIEW: "have it judged by an agent who did not work on it, or by a person:"
    " `counterpoint approve ID` or `counterpoint reject ID`",
    Act.WAIVE: "leave the gate to a person: `counterpoint waive ID GATE --reason TEXT`",
    Act.ASK_LESS: "where nobody can be attested a person can let names be enough:"
    " `counterpoint policy --reviews declared`",
    Act.SIGN: "a person with a key of `counterpoint key add` can do it for what is there",
    Act.CREDENTIAL: "for work from then on have a person give each agent a credential from the start:"
    " `counterpoint agent create NAME`",
    Act.TRUST: "a person can look at counterpoint.toml and trust it: `counterpoint trust`",
    Act.CONFIGURE: "have a person do it, over a connection with a credential to maintain:"
    " `counterpoint agent create NAME --maintain`",
    Act.VERIFY: "have its checks run by a client that can, or waived by a person:"
    " `counterpoint waive ID GATE --reason TEXT`",
    Act.SUBMIT: "have its artifact handed in by a client that can, or waived by a person:"
    " `counterpoint waive ID GATE --reason TEXT`",
    Act.REOPEN: "ask a person to reopen it: `counterpoint reopen ID`",
    Act.RELEASE: "a person can free it with `counterpoint release ID`",
    Act.UNBLOCK: "ask a person to resolve its blockers: `counterpoint unblock ID`",
    Act.KEEP_DOCUMENTS: "ask a person to turn it on: `counterpoint vault on`",
    Act.REDACT: "ask a person: `counterpoint audit redact`",
}
"""What people do at the command line for agents whose dialect has no tool for it."""

WORDS: Final = 3_000
"""The most bytes of a message, and of a hint."""
_AROUND: Final = 100
"""What names and braces around the facts may take."""


_TOOL: Final = re.compile(r"`([a-z_]+)`")
"""How a phrase names a tool; a command has the name of the program before it."""


def phrases_of(own: Phrases, tools: Collection[str]) -> Phrases:
    """Return a dialect's phrases for a connection that may call these tools."""
    open_ = {act: text for act, text in own.items() if set(_TOOL.findall(text)) <= set(tools)}
    return {**PEOPLE, **open_}


def code_of(refusal: CounterpointError, codes: Codes, exceptions: Exceptions = ()) -> str:
    """Return the code of a refusal: of its class if that is an exception, else of its kind."""
    matching = (code for class_, code in exceptions if isinstance(refusal, class_))
    return next(matching, codes[refusal.kind])


def message_of(refusal: CounterpointError, most: int = WORDS) -> str:
    """Return what is wrong."""
    return clip(refusal.message, most)


def hint_of(refusal: CounterpointError, phrases: Phrases, most: int = WORDS) -> str:
    """Return what to do next, in the tools of a dialect."""
    return clip(refusal.hint_in(phrases), most)


def refusal_to_json(refusal: CounterpointError, phrases: Phrases) -> dict[str, Json]:
    """Return a refusal as the native dialect and the command line answer it.

    The code a program switches on, the kind of refusal, what is wrong, what to do next, whether the same call can succeed
    later, and what else is known.
    """
    answer: dict[str, Json] = {
        "error": refusal.code,
        "kind": refusal.kind,
        "message": message_of(refusal),
        "hint": hint_of(refusal, phrases),
        "retryable": refusal.retryable,
    }
    return {**answer, **fitting_facts(refusal.facts, answer)}


def fitting_facts(facts: Mapping[str, Json], answer: Mapping[str, Json]) -> dict[str, Json]:
    """Return the facts that fit beside an answer and are not in it, the small ones first."""
    bytes_left = PAGE - _AROUND - size_of(dict(answer))
    fitting: dict[str, Json] = {}
    for name, fact in sorted(facts.items(), key=lambda pair: size_of(pair[1])):
        bytes_left -= size_of({name: fact})
        if bytes_left >= 0 and name not in answer:
            fitting[name] = fact
    return fitting
