"""Whether a learning says enough to be kept, and whether it was said before.

A learning is kept if and only if (1) its pattern, trimmed, has at least 50 characters, (2) its context,
if there is one, has at least 100, (3) its kind is known, (4) nothing alike is known of the same item.

Two patterns are alike if and only if their folded texts are equal, or their telling words are the same
and (a) they share 85 % of all their words, or (b) the later one, of at least 8 words, has no word that
the earlier one lacks. Folding: NFKC, small letters, every run of other signs than letters and digits
is one blank. Telling words are those with a digit, and negations.

85 %, because a pattern that passes the gates has about ten words: one changed word of ten shares 82 %
and may be another subject, so it is kept; refusing a good learning costs more than keeping a twin.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal, get_args

from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import counted

LearningKind = Literal["convention", "gotcha", "pattern"]
LEARNING_KINDS: tuple[LearningKind, ...] = get_args(LearningKind)
LEAST_PATTERN = 50
LEAST_CONTEXT = 100
FIRST_QUALITY = 50
ALIKE_FROM = 0.85
_WHOLE_FROM = 8
_BETWEEN = re.compile(r"[\W_]+")
_NEGATIONS = frozenset(
    {"no", "not", "never", "none", "without", "cannot", "don", "doesn", "isn", "shouldn", "mustn"}
)


def check(pattern: str, context: str | None = None, kind: str | None = None) -> None:
    """Raise InvalidInput with every fault of a learning; None is what was not given."""
    faults: list[str] = []
    if (length := len(pattern.strip())) < LEAST_PATTERN:
        faults.append(
            f"the pattern has {counted(length, 'character')}, but needs at least {LEAST_PATTERN}"
        )
    if context is not None and (length := len(context.strip())) < LEAST_CONTEXT:
        faults.append(
            f"the context has {counted(length, 'character')}, but needs at least {LEAST_CONTEXT}"
        )
    if kind is not None and kind not in LEARNING_KINDS:
        faults.append(f"{kind!r} is not one of {', '.join(LEARNING_KINDS)}")
    if faults:
        raise InvalidInput(
            "; ".join(faults),
            hint="Begin with the subject, say what is true of it and where; leave a context out "
            "rather than give a short one.",
        )


def folded(text: str) -> str:
    """Return a text as it is compared: letters and digits only, small, apart by single blanks."""
    return _BETWEEN.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def likeness(first: str, other: str) -> float:
    """Return the share of words that two texts have in common among all their words, 0 to 1."""
    first_words, other_words = _words(first), _words(other)
    every = first_words | other_words
    return (
        len(first_words & other_words) / len(every)
        if every
        else float(first.strip() == other.strip())
    )


def is_twin(later: str, earlier: str) -> bool:
    """Return whether a pattern repeats an earlier one."""
    later_text, earlier_text = folded(later), folded(earlier)
    if later_text == earlier_text:
        return bool(later_text) or later.strip() == earlier.strip()
    later_words, earlier_words = set(later_text.split()), set(earlier_text.split())
    if _telling(later_words) != _telling(earlier_words):
        return False
    is_inside = len(later_words) >= _WHOLE_FROM and later_words <= earlier_words
    return is_inside or likeness(later, earlier) >= ALIKE_FROM


def find_twin(pattern: str, patterns: Iterable[tuple[str, str]]) -> str | None:
    """Return the id of the first known pattern, given as (id, pattern), that is alike, or None."""
    return next((name for name, earlier in patterns if is_twin(pattern, earlier)), None)


def _words(text: str) -> set[str]:
    return set(folded(text).split())


def _telling(words: set[str]) -> set[str]:
    """Return the words that tell otherwise equal patterns apart: versions, ports, negations."""
    return {word for word in words if word in _NEGATIONS or any(map(str.isdigit, word))}
