"""Masking of keys, tokens and passwords before anything is written down.

Rule: the time it takes grows with the text and no faster. What is tried from every place of a text takes a
bounded number of letters, or all letters of a run at once and gives none of them back (`++`): a run of
letters that each could begin a token would be read again from each of them.

A search by an expression lets no other thread run until it ends. So shapes are looked for by the letters they
begin with, which costs a hundredth, and names in windows of the text: what is found is compared where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, cast

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.matching.expressions import expression

MASK = "[secret]"
SHORTEST = 8
"""Known values shorter than this are not masked: they would hit ordinary words."""
_SHORTEST_NAMED = 6
_WINDOW: Final = 8192
_LONGEST_NAME: Final = 24
_LOOKED_AT: Final = 200

# Where a secret may begin: JSON inside of JSON has letters before it that are none, as in `\nAKIA`.
_EDGE = r"(?:\b|(?<=\\[bfnrt]))"
# A word may have `@` and `/` in it, so that the last `@` counts. What begins like a port has none.
_USER_AND_WORD = r"(?!\[)[^/\s:@]{0,100}:(?:(?!\d{1,5}(?:[/?#\\]))(?:[^\s\"'`<>\\]|\\++/){1,200}(?=@)|[^/\s:@]{1,200}+(?=@))"
# What a program is to put there itself: a variable, a call, a slot, or the sort of a value.
_NO_VALUE = r"(?!(?-i:\$[A-Z_][A-Z0-9_]{0,60}(?![a-z0-9]))|\$[({]|\{\{|\{[\w.]{0,60}\}|<[\w -]{1,60}>|%[({]|\[secret\])"
_NO_CODE = (
    r"(?!(?:[a-z_]{1,30}\.){0,4}[a-z_]{1,40}[(\[](?![^\s)\]]{0,80}[)\]]\w)"
    r"|(?:os|process|self|this|settings|config|env|secrets|args|options|request|ctx|std|var|data)\.[a-z_]"
    r"|(?-i:str|string|String|bytes|number|bool|boolean|none|None|null|undefined|required|optional"
    r"|SecretStr|missing|invalid|wrong)(?![^\s,;|=?)\]}\"'.]))"
)
_LETTER = r"(?:[^\s\"',;\\]|\\++(?![\"'])|[,;](?![\s\"',;\\]|[\w.-]{1,40}\s?[:=]|\Z))"
_HAS_DIGIT = r"(?=[^\s\"',;\\\d]{0,64}\d)"
_SHAPES: Final = tuple(
    (begin, expression(pattern, re.DOTALL))
    for begin, pattern in (
        (
            "-----BEGIN ",
            (
                r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?"
                r"(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
            ),
        ),
        ("AKIA", rf"{_EDGE}AKIA[A-Z0-9]{{16}}\b"),
        ("ASIA", rf"{_EDGE}ASIA[A-Z0-9]{{16}}\b"),
        *((f"gh{kind}_", rf"{_EDGE}gh{kind}_[A-Za-z0-9]{{20,}}") for kind in "pousr"),
        ("github_pat_", rf"{_EDGE}github_pat_[A-Za-z0-9_]{{20,}}"),
        ("glpat-", rf"{_EDGE}glpat-[A-Za-z0-9_-]{{20,}}"),
        ("cpt_", rf"{_EDGE}cpt_[0-9a-f]{{64}}"),
        ("sk-", rf"{_EDGE}sk-[A-Za-z0-9_-]{{20,}}"),
        ("xox", rf"{_EDGE}xox[abeoprs]-[A-Za-z0-9-]{{10,}}"),
        ("AIza", rf"{_EDGE}AIza[A-Za-z0-9_-]{{35}}"),
        *((f"{kind}_live_", rf"{_EDGE}{kind}_live_[A-Za-z0-9]{{10,}}") for kind in ("sk", "rk")),
        *((f"{kind}_test_", rf"{_EDGE}{kind}_test_[A-Za-z0-9]{{10,}}") for kind in ("sk", "rk")),
        ("npm_", rf"{_EDGE}npm_[A-Za-z0-9]{{30,}}"),
        ("hf_", rf"{_EDGE}hf_[A-Za-z0-9]{{30,}}"),
        ("pypi-AgE", rf"{_EDGE}pypi-AgE[A-Za-z0-9_-]{{16,}}"),
        ("SG.", rf"{_EDGE}SG\.[A-Za-z0-9_-]{{16,64}}\.[A-Za-z0-9_-]{{16,}}"),
        ("ya29.", rf"{_EDGE}ya29\.[A-Za-z0-9_-]{{20,}}"),
        ("AGE-SECRET-KEY-1", rf"{_EDGE}AGE-SECRET-KEY-1[A-Z0-9]{{40,}}"),
        ("://", _USER_AND_WORD),
        (r":\/\/", _USER_AND_WORD),
    )
)
"""What each shape begins with, or stands behind, and how it goes on from there."""
# A header of a token may stand behind other letters of its run: `_TOKEN_HEAD` looks for it there.
_TOKEN = expression(r"(?<![\w-])([\w-]{11,}+)\.eyJ[\w-]{8,}+\.[\w-]++", re.ASCII)
_TOKEN_HEAD = expression(r"(?:\b|(?<=^[bfnrt]))eyJ[\w-]{8}", re.ASCII)
# Behind an option of one letter, which clients of databases take without a blank between.
_BEHIND_P = rf"(?!\$){_NO_VALUE}([^\s\"'\\;|&]{{4,200}})"
# Where a value is told by a word before it: that stays.
_TOLD: Final = tuple(
    (begin, expression(pattern))
    for begin, pattern in (
        (
            "--",
            (
                r"(--(?:[a-z0-9]{1,20}-){0,4}(?:password|passwd|passphrase|pass|token|secret(?:-key)?|api-?key|access-key)"
                rf"\s{{1,3}}[\"']?){_NO_VALUE}(?=[^\s\"',;\\\d]{{0,64}}\d)({_LETTER}{{6,}})"
            ),
        ),
        (
            "curl",
            (
                r"(curl\s(?:[^\n]{0,100}?\s)?(?:-[a-zA-Z]{0,8}u|--(?:proxy-)?user)[\s=]{0,3}(?:\\{0,7}[\"'])?"
                rf"(?![$])[^\s:\"'\\]{{1,64}}:){_NO_VALUE}([^\s\"'\\]{{3,200}})"
            ),
        ),
        *(
            (
                begin,
                rf"({begin}[a-z]{{0,10}}\s(?:[^\n;|&]{{0,100}}?\s)?-p(?:\\{{0,7}}[\"'])?){_BEHIND_P}",
            )
            for begin in ("mysql", "mariadb")
        ),
        ("sshpass", rf"(sshpass\s{{1,3}}-p\s{{0,3}}(?:\\{{0,7}}[\"'])?){_BEHIND_P}"),
    )
)
# How such names end. What stands before that is not asked for: it would be tried from each letter of a word.
_SURE_NAMES = (
    r"(?:password|passwd|passphrase|secret(?:[_-]?(?:access[_-]?)?key)?|api[_-]?key|access[_-]?token|auth[_-]?token"
    r"|(?<![a-z0-9])pwd|(?<=[_-])pat|(?-i:(?<![A-Za-z0-9])PAT))"
)
# These name other things too: what stands behind them must look like a secret, or be set as a variable is.
_OTHER_NAMES = r"(?:token|private[_-]?key|access[_-]?key|(?<=[_-])pass)"
_SET_NAMES = r"(?-i:TOKEN|PRIVATE_KEY|ACCESS_KEY|(?<![A-Za-z0-9])PASS)"
_NAME_OF_SECRET = expression(rf"[a-z0-9_-]*?{_SURE_NAMES}", re.IGNORECASE)
_NAME_OF_VARIABLE = expression(
    r"[A-Z0-9_]*(?:_TOKEN|PRIVATE_KEY|ACCESS_KEY|_PASS)|(?i:(?:proxy-)?authorization)"
)
_NAME_BEGINS = expression(
    rf"{_SURE_NAMES}|{_OTHER_NAMES}|(?-i:(?<![A-Za-z0-9])PASS)|authorization", re.IGNORECASE
)
_QUOTE = r"(?:\\{0,7}[\"'])?"
_LINK = rf"{_QUOTE}\s{{0,3}}(?:=>|:=|[:=])\s{{0,3}}"
_NAMED = expression(
    r"(?i)(?:"
    # All between quotation marks. What ends a value in JSON inside of JSON is one behind backslashes.
    rf"({_SURE_NAMES}{_LINK}\\{{0,7}}\"){_NO_VALUE}(?!\s)(?:[^\"\n\\]|\\++(?!\")){{6,400}}+(?=\\*+\")"
    rf"|({_SURE_NAMES}{_LINK}\\{{0,7}}'){_NO_VALUE}(?!\s)(?:[^'\n\\]|\\++(?!')){{6,400}}+(?=\\*+')"
    # What begins like a path is the folder that a shell calls PWD.
    rf"|({_SURE_NAMES}{_LINK}{_QUOTE}){_NO_VALUE}{_NO_CODE}(?!(?<=pwd=)[/~]){_LETTER}{{6,}}"
    rf"|({_SET_NAMES}={_QUOTE}){_NO_VALUE}{_NO_CODE}(?![/~.]|\d{{1,20}}(?![\w-])){_LETTER}{{8,}}"
    rf"|({_OTHER_NAMES}{_LINK}{_QUOTE}){_NO_VALUE}{_NO_CODE}(?![/~.]|\d{{1,20}}(?![\w-])){_HAS_DIGIT}{_LETTER}{{8,}}"
    rf"|(authorization{_LINK}{_QUOTE}(?:basic|bearer|token|digest|apikey)\s{{1,3}})"
    rf"{_NO_VALUE}(?-i:(?=[^\s\"',;\\][^\s\"',;\\\d=+/_A-Z]{{0,64}}[\d=+/_A-Z])){_LETTER}{{8,}}"
    r")"
)
_HINTS = (*(begin for begin, _ in _SHAPES), "eyJ", "curl ", "--pass", "mysql", "mariadb", "sshpass")
_HINTS_OF_NAMES = (
    "passw",
    "passp",
    "pass=",
    "_pass",
    "-pass",
    "uthor",
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


def mask(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """Return the text with every secret in it replaced.

    secrets: exact values to hide, as from `.env` files. Shapes of well-known keys are always hidden.
    """
    if is_plain(text, secrets):
        return text
    if secrets:
        text = _any_of(secrets).sub(MASK, text)
    for begin, shape in _SHAPES:
        text = _replaced(text, _places(text, begin), shape)
    for begin, shape in _TOLD:
        text = _replaced(text, _places(text, begin), shape)
    text = _TOKEN.sub(_without_token, text)
    return _replaced(text, _names(text), _NAMED)


def _places(text: str, begin: str) -> Iterator[int]:
    """Return where something can be that begins in one way, or stands behind it."""
    behind = len(begin) if begin.startswith(":") else 0
    at = text.find(begin)
    while at >= 0:
        yield at + behind
        at = text.find(begin, at + 1)


def _names(text: str) -> Iterator[int]:
    """Return where a name of secrets begins, looked for in one window of the text after another."""
    at = 0
    for start in range(0, len(text), _WINDOW):
        end = start + _WINDOW
        while match := _NAME_BEGINS.search(text, max(start, at), end + _LONGEST_NAME):
            if match.start() >= end:
                break
            yield match.start()
            at = match.start() + 1


def _replaced(text: str, places: Iterable[int], shape: re.Pattern[str]) -> str:
    """Return a text with what has a shape masked, where that begins at one of some places.

    What the first group that there is has stands before the secret, and stays.
    """
    parts: list[str] = []
    done = 0
    for start in places:
        match = shape.match(text, start) if start >= done else None
        if match is not None:
            # Put together by hand: a template would be filled in as slowly as all else here takes.
            prefix = next((group for group in match.groups() if group is not None), "")
            parts += (text[done:start], prefix, MASK)
            done = match.end()
    return "".join((*parts, text[done:])) if parts else text


def _without_token(match: re.Match[str]) -> str:
    """Return a run of letters, points and dashes without the signed token that ends it, if there is one."""
    head = _TOKEN_HEAD.search(match[1])
    return match[0] if head is None else match[1][: head.start()] + MASK


def is_plain(text: str, secrets: frozenset[str]) -> bool:
    """Return whether nothing in a text can be a secret; one cheap look, which may also err to False."""
    if any(map(text.__contains__, _HINTS)):
        return False
    if any(map(text.casefold().__contains__, _HINTS_OF_NAMES)):
        return False
    return not secrets or _any_of(secrets).search(text) is None


def mask_json(value: Json, secrets: frozenset[str] = frozenset()) -> Json:
    """Return a JSON value with every secret in its texts and names replaced.

    What stands under a name such as `password` is hidden whatever it looks like.
    """
    if isinstance(value, str):
        return mask(value, secrets)
    if isinstance(value, dict):
        parts = cast("dict[str, Json]", value)
        return {
            mask(name, secrets): MASK if _is_named(name, part) else mask_json(part, secrets)
            for name, part in parts.items()
        }
    if isinstance(value, list | tuple):
        cleaned = [mask_json(part, secrets) for part in cast("list[Json]", value)]
        return tuple(cleaned) if isinstance(value, tuple) else cleaned
    return value


def _is_named(name: str, value: Json) -> bool:
    """Whether a value is a secret because of the name it stands under."""
    is_word = isinstance(value, str | int | float) and len(str(value)) >= _SHORTEST_NAMED
    if is_word and _NAME_OF_SECRET.fullmatch(name) is not None:
        return True
    # As it would stand in a file of variables, or in the head of a request.
    if not isinstance(value, str) or _NAME_OF_VARIABLE.fullmatch(name) is None:
        return False
    return _NAMED.search(f"{name}={value[:_LOOKED_AT]}") is not None


@lru_cache(maxsize=8)
def _any_of(secrets: frozenset[str]) -> re.Pattern[str]:
    # An alternation takes the first that fits: of a secret within another the rest would stay.
    longest_first = sorted(_long_enough(secrets), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _long_enough(secrets: Iterable[str]) -> list[str]:
    return [value for value in secrets if len(value) >= SHORTEST]
