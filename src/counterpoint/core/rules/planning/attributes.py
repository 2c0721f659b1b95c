"""The attributes of a plan: how they are spelled, and which of their values can be read.

A bullet `word: value` is an attribute if the word is one of `ATTRIBUTES`, or means one elsewhere (`depends on`). Words that may
mean something else as well (`tests`) are refused with the attribute that is near. Letters, hyphens and emphasis do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from counterpoint.core.model.work import PRIORITIES
from counterpoint.core.rules.areas import area_fault, pattern_fault
from counterpoint.core.rules.planning.commands import command_of
from counterpoint.core.rules.planning.parts import Node
from counterpoint.kernel.matching.expressions import expression

PHASE: Final = "phase"
"""The attribute of a heading that is a phase though it has no task yet."""
FLAGS: Final = frozenset({"approval", "review", "artifact", PHASE})
"""Attributes that are yes or no."""
LISTS: Final = frozenset({"after", "areas", "labels"})
"""Attributes whose value is a list of words."""
ATTRIBUTES: Final = (
    "after",
    "areas",
    "accept",
    "verify",
    "labels",
    "priority",
    "profile",
    "approval",
    "review",
    "artifact",
    PHASE,
)
_MEANINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "after": (
        "depends", "depends on", "depends upon", "depend on", "dependent on", "dependency", "dependencies", "blocked by",
        "blocked on", "waits for", "wait for", "waiting for", "waits on", "wait on", "needs", "requires", "prerequisite",
        "prerequisites", "runs after", "run after", "starts after", "start after", "comes after", "follows",
    ),
    "verify": ("check", "checks", "command", "commands", "verification", "verify with", "verified by"),
    "accept": (
        "acceptance", "criteria", "criterion", "acceptance criteria", "acceptance criterion", "accepted when", "done when",
        "definition of done",
    ),
    "areas": ("area", "file", "files", "path", "paths", "touches"),
    "labels": ("label", "tag", "tags"),
    "priority": ("prio",),
    "profile": ("role",),
    "approval": ("requires approval", "needs approval", "approval required", "approval needed"),
    "review": ("requires review", "needs review", "review required", "review needed"),
    "artifact": ("requires artifact", "requires an artifact", "needs artifact", "needs an artifact", "artifact required"),
}  # fmt: skip
"""What other plans call the attributes, where it can mean nothing else."""
_DOUBTFUL: Final[Mapping[str, str]] = {
    **dict.fromkeys(("test", "tests", "gate", "gates"), "verify"),
    **dict.fromkeys(("assignee", "agent", "owner"), "profile"),
    **dict.fromkeys(("reviewer", "reviewers"), "review"),
    **dict.fromkeys(("blocks", "before"), "after"),
}
"""What may mean an attribute, or something that a plan does not have."""
_TRUE: Final = frozenset({"yes", "true", "required"})
_FALSE: Final = frozenset({"no", "false"})
_WORDS_AT_MOST: Final = 4
_LONGEST_WORD: Final = 12
"""Letters of the longest single word that can be meant for an attribute."""
_NEAR_WORD: Final = 0.8
_NEAR_PHRASE: Final = 0.85
_SPELLED: Final = expression(
    r"[*_`]{0,3}([A-Za-z][A-Za-z _-]{0,40}?)[*_`]{0,3}\s{0,3}[:\uff1a][*_`]{0,3}(.*)$", re.DOTALL
)
_WITHIN: Final = expression(r"(?:[(\[]|\s[-–—|;]+\s)\s*([A-Za-z][^()\[\]]{1,120}?)\s*[)\]]?$")
_WAITS: Final = expression(
    r"(depends? (?:up)?on|blocked (?:by|on)|wait(?:s|ing)? (?:for|on)|after)[: ]\s*(\S.*)",
    re.IGNORECASE,
)
_SPANS: Final = expression(r"`[^`]+`(?:(?:\s*,\s*|\s+and\s+)`[^`]+`)*")
_SPAN: Final = expression(r"`([^`]+)`")


def _plain_word(words: str) -> str:
    return re.sub(r"[\s_-]+", "", words.lower())


_ATTRIBUTE_OF: Final[Mapping[str, str]] = {
    **{word: word for word in ATTRIBUTES},
    **{_plain_word(words): word for word, spellings in _MEANINGS.items() for words in spellings},
}
_PHRASES: Final = tuple(
    _plain_word(words) for spellings in _MEANINGS.values() for words in spellings if " " in words
)


class Spelling(NamedTuple):
    """What a bullet says that has the form of an attribute.

    word: the attribute; empty if it is none. written, value: the two sides of the colon. near: the attribute that a word is near to
    which is none; such a word is refused.
    """

    word: str
    written: str
    value: str
    near: str = ""

    @property
    def is_exact(self) -> bool:
        """Return whether the word is one of `ATTRIBUTES` itself."""
        return self.written.lower() == self.word

    @property
    def is_worth_a_remark(self) -> bool:
        """Return whether it is short enough to have been meant for an attribute, though it is none."""
        count = len(self.written.split())
        # What a colon stands in without a blank behind it is an address, a time or code.
        is_divided = not self.value or self.value[:1].isspace()
        return is_divided and count < _WORDS_AT_MOST and len(self.written) <= count * _LONGEST_WORD


def spelling_of(text: str) -> Spelling | None:
    """Return what the text of a bullet says in the form of an attribute; None if it has another form."""
    bare = text.strip().strip("*_`").rstrip(".!")
    word = _ATTRIBUTE_OF.get(_plain_word(bare), "") if len(bare) <= 3 * _LONGEST_WORD else ""
    if word in FLAGS and bare.lower() != word:
        return Spelling(word, bare, " yes")
    match = _SPELLED.match(text)
    if match is None:
        return None
    written, value = match[1].strip(), match[2].rstrip()
    plain = _plain_word(written)
    if attribute := _ATTRIBUTE_OF.get(plain):
        return Spelling(attribute, written, value)
    return Spelling("", written, value, _near(plain, is_phrase=" " in written))


def attribute_within(title: str) -> Spelling | None:
    """Return the attribute that the end of a title looks like, as in `Title (depends on a)`; None if it is none."""
    match = _WITHIN.search(title)
    if match is None:
        return None
    waits = _WAITS.match(match[1])
    spelling = Spelling("after", waits[1], waits[2]) if waits else spelling_of(match[1])
    return spelling if spelling and spelling.word else None


def _near(plain: str, *, is_phrase: bool) -> str:
    if plain in _DOUBTFUL:
        return _DOUBTFUL[plain]
    if is_phrase:
        near = get_close_matches(plain, _PHRASES, n=1, cutoff=_NEAR_PHRASE)
        return _ATTRIBUTE_OF[near[0]] if near else ""
    if len(plain) > _LONGEST_WORD:
        return ""
    near = get_close_matches(plain, ATTRIBUTES, n=1, cutoff=_NEAR_WORD)
    return near[0] if near else ""


def take_attribute(node: Node, word: str, value: str) -> str:
    """Put one attribute into a part; answer what is wrong with it, or nothing."""
    value = value.strip()
    if not value:
        return f"{word!r} has no value"
    if word in FLAGS:
        return _take_flag(node, word, _without_ticks(value).lower().rstrip("."))
    values = node.values
    if word == "priority":
        number = _without_ticks(value)
        if number not in map(str, PRIORITIES):
            return f"priority is a number from 0 to {PRIORITIES[-1]}, not {number!r}"
        values[word] = int(number)
    elif word == "after":
        values["needs"] = () if value.lower() == "none" else words_of(value)
    elif word == "accept":
        node.acceptance.append(value)
    elif word == "verify":
        return _take_commands(node, value)
    elif word == "areas" and (
        problem := area_fault(words_of(value)) or pattern_fault(words_of(value))
    ):
        return problem
    else:
        values[word] = _without_ticks(value) if word == "profile" else words_of(value)
    return ""


def _take_flag(node: Node, word: str, value: str) -> str:
    if value not in _TRUE | _FALSE:
        return f"{word!r} is yes or no, not {value!r}"
    if word != PHASE:
        node.values[word] = value in _TRUE
    elif node.kind != "phase":
        return f"{word!r} stands below the heading of a phase"
    else:
        node.is_asked = value in _TRUE
    return ""


def _take_commands(node: Node, value: str) -> str:
    # Commands between back-ticks are how Markdown shows them; one or several.
    lines = _SPAN.findall(value) if _SPANS.fullmatch(value) else [value]
    for line in lines:
        argv, problem = command_of(line)
        if problem:
            return problem
        node.checks.append(argv)
    return ""


def _without_ticks(value: str) -> str:
    match = _SPAN.fullmatch(value)
    return match[1].strip() if match else value


def words_of(value: str) -> tuple[str, ...]:
    """Return the words of a list that commas divide; a comma between braces divides none."""
    words, depth, start = list[str](), 0, 0
    last = value.rfind("}")
    for index, letter in enumerate(value):
        if letter == "{" and index < last:
            depth += 1
        elif letter == "}":
            depth = max(0, depth - 1)
        elif letter == "," and not depth:
            words.append(value[start:index])
            start = index + 1
    words.append(value[start:])
    bare = (_without_ticks(word.strip()).removeprefix("#") for word in words)
    return tuple(word for word in bare if word)
