"""Attributes of an item in a plan, and the commands that check it.

Command lines of plans and templates, read into argument lists.
Commands run without a shell. So what only a shell gives a meaning to is refused, and not handed to a program as a word: a sign
between blanks, such as `|`, a `;` behind a word, backticks, `$(`, and `NAME=value` before the program. Inside of quotation marks, and behind a
backslash, each of these is a letter.

The parts of a Markdown plan while they are read, and which are phases.
A heading is a phase if a task is below it, or if it asks for something: an attribute, a `{#name}`. Any other one is a title
within the description of what it stands in, with its text: a section of notes must not hold what comes after it. Where a plan
has no task at all, its headings are its phases, to be filled later.

The attributes of a plan: how they are spelled, and which of their values can be read.
A bullet `word: value` is an attribute if the word is one of `ATTRIBUTES`, or means one elsewhere (`depends on`). Words that may
mean something else as well (`tests`) are refused with the attribute that is near. Letters, hyphens and emphasis do not matter.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import PRIORITIES, WORKABLE, Kind
from counterpoint.core.rules.areas import area_fault, pattern_fault
from counterpoint.kernel.matching.expressions import expression

COMMAND_LIMIT: Final = 4_000
"""How many characters the line of a command may have."""
_SHELL: Final = expression(r"(?<!\S)(?:&&|\|\|?|;|2?>>?|<|&|2>&1)(?!\S)")
_QUOTED: Final = expression(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_VARIABLE: Final = expression(r"\s*([A-Za-z_][A-Za-z0-9_]*)=")
_GLUED: Final = expression(r"\$\(|;(?!\S)")
_MARK: Final = "\0"


def command_of(text: str) -> tuple[tuple[str, ...], str]:
    """Return the argument list of a command line, and what is wrong with it, or nothing."""
    if len(text) > COMMAND_LIMIT:
        return (), f"the command is longer than {COMMAND_LIMIT} characters"
    if _MARK in text:
        return (), "the command has a NUL character"
    try:
        argv = tuple(shlex.split(text))
        # Marked before it is split: what stands in quotation marks is a word, and no sign of a
        # shell.
        marked = shlex.split(_SHELL.sub(lambda sign: _MARK + sign[0], text))
    except ValueError as fault:
        return (), f"the command cannot be read: {str(fault).lower()}"
    if not argv:
        return (), "the command is empty"
    signs = [word.removeprefix(_MARK) for word in marked if word.startswith(_MARK)]
    problem = _of_shell(text, signs)
    return (() if problem else argv), problem


def _of_shell(text: str, signs: Sequence[str]) -> str:
    """Return what only a shell would understand in a command line, with the right form; empty without it."""
    bare = _QUOTED.sub("_", text)
    if shell_signs := [*signs, *_GLUED.findall(bare)]:
        return (
            f"{shell_signs[0]!r} needs a shell, and commands run without one:"
            f" write sh -c {shlex.quote(text.strip())}, or put it into a script"
        )
    if "`" in bare:
        return f"a command stands without backticks: {text.replace('`', '').strip()}"
    if variable := _VARIABLE.match(bare):
        return f"{variable[1]!r} is no program: to set a variable for one, write env {text.strip()}"
    return ""


def find_shell_word(argv: Sequence[str]) -> str:
    """Return what only a shell would understand in an argument list, with the right form; empty without it.

    Here a sign is a word of its own. `find` ends `-exec` with a `;`.
    """
    signs = [word for word in argv if _SHELL.fullmatch(word)]
    if signs and not (set(signs) == {";"} and any(word.startswith("-exec") for word in argv)):
        words = [word if _SHELL.fullmatch(word) else shlex.quote(word) for word in argv]
        line = json.dumps(["sh", "-c", " ".join(words)], ensure_ascii=False)
        return f"{signs[0]!r} needs a shell, and commands run without one: give {line}, or put it into a script"
    if variable := _VARIABLE.match(argv[0] if argv else ""):
        return f"{variable[1]!r} is no program: to set a variable for one, put `env` before it"
    return ""


def command_line(argv: Sequence[str]) -> str:
    """Return the line of an argument list, which `command_of` reads back to the same."""
    text = shlex.join(argv)
    # What a program is called may look like a variable.
    return f"'{argv[0]}'{text[len(argv[0]) :]}" if _VARIABLE.match(text) else text


@dataclass(slots=True)
class Node:
    """A draft in the making.

    values: attributes by the name of their field. is_asked: whether it says itself that it is a phase.
    """

    kind: Kind
    level: int
    title: str
    name: str
    line: int
    done: bool = False
    has_text: bool = False
    is_asked: bool = False
    text: list[str] = field(default_factory=list[str])
    acceptance: list[str] = field(default_factory=list[str])
    checks: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    children: list[Node] = field(default_factory=list["Node"])

    def drafted(self) -> Draft:
        """Return the draft that was read."""
        return Draft(
            kind=self.kind,
            title=self.title,
            name=self.name,
            body="\n".join(self.text).strip(),
            done=self.done,
            line=self.line,
            children=tuple(child.drafted() for child in self.children),
            acceptance=tuple(self.acceptance),
            checks=tuple(self.checks),
            **self.values,
        )

    @property
    def asks(self) -> bool:
        """Whether anything but a title and text was written for it."""
        return bool(self.is_asked or self.name or self.acceptance or self.checks or self.values)

    def walk(self) -> Iterator[Node]:
        """Return this part and all below it, parents first."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def settle_headings(root: Node) -> list[Node]:
    """Make each heading that is no phase text of what it stands in; answer of the topmost of these."""
    if not any(node.kind in WORKABLE and node is not root for node in root.walk()):
        return []
    phases = _phases(root)
    folded: list[Node] = []
    for node in [node for node in root.walk() if node is root or id(node) in phases]:
        titles = [
            child for child in node.children if child.kind == "phase" and id(child) not in phases
        ]
        folded += titles
        node.children = [child for child in node.children if child not in titles]
        for title in titles:
            for node_below in title.walk():
                node.text += ["", f"{'#' * node_below.level} {node_below.title}", *node_below.text]
    return sorted(folded, key=lambda node: node.line)


def _phases(root: Node) -> Mapping[int, Node]:
    """Return the headings that hold a task, or what asks for something, by identity."""
    phases: dict[int, Node] = {}
    # Children come after what holds them, so backwards each is decided before it.
    for node in reversed(list(root.walk())):
        if node.kind == "phase" and (
            node.asks
            or any(child.kind in WORKABLE or id(child) in phases for child in node.children)
        ):
            phases[id(node)] = node
    return phases


def is_bare(draft: Draft) -> bool:
    """Return whether a phase is only known as one by saying so: nothing is below it and nothing asked."""
    plain = Draft(kind=draft.kind, title=draft.title, body=draft.body)
    return draft == plain


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
