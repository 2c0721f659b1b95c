"""The shape of refusals.

A refusal is `{"error", "kind", "message", "hint", "retryable", …facts}`: the code a program switches
on, the kind of refusal, what is wrong, what to do next, whether the same call can succeed later, and
what else is known. It never has more bytes than a page: the longest facts go first.
"""

from __future__ import annotations

from counterpoint.dialects.paging import PAGE, clip, size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError

_WORDS = 3_000


def refuse(refusal: CounterpointError) -> Json:
    """Return a refusal as an object that a caller can act on."""
    answer: dict[str, Json] = {
        "error": refusal.code,
        "kind": refusal.kind,
        "message": clip(refusal.message, _WORDS),
        "hint": clip(refusal.hint, _WORDS),
        "retryable": refusal.retryable,
    }
    facts = {name: fact for name, fact in refusal.facts.items() if name not in answer}
    room = PAGE - size_of(answer)
    for name, fact in sorted(facts.items(), key=lambda pair: size_of(pair[1])):
        room -= size_of({name: fact})
        if room >= 0:
            answer[name] = fact
    return answer
