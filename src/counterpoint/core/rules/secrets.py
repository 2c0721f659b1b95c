"""Masking of keys, tokens and passwords before anything is written down.

Rule: the time it takes grows with the text and no faster. What is tried from every place of a text takes a
bounded number of letters, or all letters of a run at once and gives none of them back (`++`): a run of
letters that each could begin a token would be read again from each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import cast

from counterpoint.kernel.canonical import Json

MASK = "[secret]"
SHORTEST = 8
"""Known values shorter than this are not masked: they would hit ordinary words."""
_SHORTEST_NAMED = 6

# Where a secret may begin: JSON inside of JSON has letters before it that are none, as in `\nAKIA`.
_EDGE = r"(?:\b|(?<=\\[bfnrt]))"
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    rf"|{_EDGE}(?:AKIA|ASIA)[A-Z0-9]{{16}}\b"
    rf"|{_EDGE}gh[pousr]_[A-Za-z0-9]{{20,}}"
    rf"|{_EDGE}github_pat_[A-Za-z0-9_]{{20,}}"
    rf"|{_EDGE}glpat-[A-Za-z0-9_-]{{20,}}"
    rf"|{_EDGE}cpt_[0-9a-f]{{64}}"
    rf"|{_EDGE}sk-[A-Za-z0-9_-]{{20,}}"
    rf"|{_EDGE}xox[abeoprs]-[A-Za-z0-9-]{{10,}}"
    rf"|{_EDGE}AIza[A-Za-z0-9_-]{{35}}"
    r"|(?:(?<=://)|(?<=:\\/\\/))[^/\s:@]{1,100}:[^/\s:@]{1,200}(?=@)",
    re.DOTALL,
)
# A header of a token may stand behind other letters of its run: `_TOKEN_HEAD` looks for it there.
_TOKEN = re.compile(r"(?<![\w-])([\w-]{11,}+)\.eyJ[\w-]{8,}+\.[\w-]++", re.ASCII)
_TOKEN_HEAD = re.compile(r"(?:\b|(?<=^[bfnrt]))eyJ[\w-]{8}", re.ASCII)
# How such names end. What stands before that is not asked for: it would be tried from each letter of a word.
_NAMES_OF_SECRETS = (
    r"(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token"
    r"|(?<![a-z0-9])pwd|(?<=[_-])pat|(?-i:(?<![A-Za-z0-9])PAT))"
)
_NAME_OF_SECRET = re.compile(rf"[a-z0-9_-]*?{_NAMES_OF_SECRETS}", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?i)({_NAMES_OF_SECRETS}"
    # What begins like a path is the folder that a shell calls PWD.
    r"(?:\\{0,7}[\"'])?\s{0,3}[:=]\s{0,3}(?:\\{0,7}[\"'])?)"
    # What ends a value in JSON inside of JSON is a quotation mark behind backslashes.
    r"(?!(?<=pwd=)[/~])((?:[^\s\"',;\\]|\\++(?![\"'])){6,})"
)
_HINTS = (
    *("PRIVATE KEY", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "cpt_", "sk-", "xox", "AIza", "eyJ", "://", ":\\/\\/"),
)
_HINTS_OF_NAMES = (
    "passw",
    "secret",
    "key",
    "token",
    "pwd",
    "pat=",
    "pat:",
    'pat"',
    "pat'",
    "pat ",
    "pat\\",
)
"""With the hints of shapes one cheap look that most texts pass without meeting a pattern.

Names are found in any case. No hint of theirs has an `i`, which has more cases than folding knows.
"""


def mask(text: str, known: frozenset[str] = frozenset()) -> str:
    """Return the text with every secret in it replaced.

    known: exact values to hide, as from `.env` files. Shapes of well-known keys are always hidden.
    """
    if is_plain(text, known):
        return text
    if known:
        text = _any_of(known).sub(MASK, text)
    return _NAMED.sub(rf"\1{MASK}", _TOKEN.sub(_without_token, _SHAPES.sub(MASK, text)))


def _without_token(found: re.Match[str]) -> str:
    """Return a run of letters, points and dashes without the signed token that ends it, if there is one."""
    head = _TOKEN_HEAD.search(found[1])
    return found[0] if head is None else found[1][: head.start()] + MASK


def is_plain(text: str, known: frozenset[str]) -> bool:
    """Return whether nothing in a text can be a secret; one cheap look, which may also err to False."""
    if any(map(text.__contains__, _HINTS)):
        return False
    if any(map(text.casefold().__contains__, _HINTS_OF_NAMES)):
        return False
    return not known or _any_of(known).search(text) is None


def mask_json(value: Json, known: frozenset[str] = frozenset()) -> Json:
    """Return a JSON value with every secret in its texts and names replaced.

    What stands under a name such as `password` is hidden whatever it looks like.
    """
    if isinstance(value, str):
        return mask(value, known)
    if isinstance(value, dict):
        parts = cast("dict[str, Json]", value)
        return {
            mask(name, known): MASK if _is_named(name, part) else mask_json(part, known)
            for name, part in parts.items()
        }
    if isinstance(value, list | tuple):
        cleaned = [mask_json(part, known) for part in cast("list[Json]", value)]
        return tuple(cleaned) if isinstance(value, tuple) else cleaned
    return value


def _is_named(name: str, value: Json) -> bool:
    """Whether a value is a secret because of the name it stands under."""
    is_word = isinstance(value, str | int | float) and len(str(value)) >= _SHORTEST_NAMED
    return is_word and _NAME_OF_SECRET.fullmatch(name) is not None


@lru_cache(maxsize=8)
def _any_of(known: frozenset[str]) -> re.Pattern[str]:
    # An alternation takes the first that fits: of a secret within another the rest would stay.
    longest_first = sorted(_long_enough(known), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _long_enough(known: Iterable[str]) -> list[str]:
    return [value for value in known if len(value) >= SHORTEST]
