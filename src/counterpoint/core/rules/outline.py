"""Plans written in Markdown: read into drafts, and written back.

    # Title of the plan                    one, first; the text below it describes the plan
    ## Title of a phase {#name}            phases follow each other unless `after` says otherwise
    - [ ] Title of a task {#name}          `[x]` is done already; deeper indents are sub-tasks
      - after: name, title of another      what must be done first; `none` lifts the usual order
      - areas: src/api, tests/**           what it will touch
      - accept: a sentence                 what must be true at the end; any number
      - verify: pytest -q tests/api        a command that must pass; any number; no shell
      - labels: one, two
      - priority: 0                        0 most urgent … 4 least; 2 if not given
      - profile: reviewer
      - approval: yes                      needs an approving verdict before it starts
      - review: yes                        needs an approving verdict before it ends
      - artifact: yes                      needs a submission
      any other indented text              describes the task

Under a heading the same attributes, not indented, belong to the phase (or, before the first phase, to
the plan). A document is valid if and only if (1) it has exactly one `#` heading and it comes first,
(2) no heading skips a level, (3) every attribute is one of those above with a readable value,
(4) every task has a title. Everything else that cannot be read is named by its line.

Between fences (``` or ~~~) all is text. A line of text that would be read as one of the above begins
with a backslash, which is taken away; so does `{#name}` at the end of a title that has it as words.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import (
    DEFAULT_PRIORITY,
    DEPTH_LIMIT,
    PRIORITIES,
    TITLE_LIMIT,
    Kind,
)
from counterpoint.kernel.errors import MalformedDocument

_HEADING = re.compile(r"(#{1,6})\s+(.*?)(?:\s+#+)?\s*$")
_TASK = re.compile(r"(\s*)[-*+]\s+\[([ xX])\](?:\s+(.*))?$")
_ATTRIBUTE = re.compile(r"(\s*)[-*+]\s+([A-Za-z]+)\s*:\s*(.*?)\s*$")
_NAME = re.compile(r"\s*(?<!\\)\{#([A-Za-z0-9_.-]{1,64})\}$")
_PLAIN_NAME = re.compile(r"(\\*\{#[A-Za-z0-9_.-]{1,64}\})$")
_CLOSING = re.compile(r"(?:^|\s)#+$")
_FENCE = re.compile(r"\s*(```|~~~)")
_SHELL = re.compile(r"(?<!\S)(?:&&|\|\|?|;|2?>>?|<|&|2>&1)(?!\S)")
_MARK = "\0"
_TRUE = frozenset({"yes", "true", "required"})
_FALSE = frozenset({"no", "false"})

ATTRIBUTES = (
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
)


@dataclass(slots=True)
class _Node:
    """A draft in the making."""

    kind: Kind
    level: int
    title: str
    name: str
    line: int
    done: bool = False
    text: list[str] = field(default_factory=list[str])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    children: list[_Node] = field(default_factory=list["_Node"])

    def drafted(self) -> Draft:
        return Draft(
            kind=self.kind,
            title=self.title,
            name=self.name,
            body="\n".join(self.text).strip(),
            done=self.done,
            line=self.line,
            children=tuple(child.drafted() for child in self.children),
            **self.values,
        )


class _Reader:
    """Reads a document line by line and remembers what it could not read."""

    def __init__(self, kind: Kind) -> None:
        self.kind: Kind = kind
        self.faults: list[tuple[int, str]] = []
        self.heads: list[_Node] = []
        self.tasks: list[_Node] = []
        self.in_fence = False

    def read(self, text: str) -> Draft:
        for number, line in enumerate(text.splitlines(), 1):
            # Indents are compared by their width.
            self._line(number, line.expandtabs(4).rstrip())
        if not self.heads and not self.faults:
            self.faults.append((1, "there is no `# Title` heading"))
        if self.faults:
            raise _malformed(self.faults)
        return self.heads[0].drafted()

    def _line(self, number: int, line: str) -> None:
        if _FENCE.match(line):
            self.in_fence = not self.in_fence
        elif not self.in_fence:
            if heading := _HEADING.match(line):
                self._heading(number, len(heading[1]), heading[2])
                return
            if task := _TASK.match(line):
                self._task(number, len(task[1]), task[2] != " ", task[3] or "")
                return
            if self.heads and (found := _ATTRIBUTE.match(line)) and _is_meant(found):
                self._attribute(number, found)
                return
        self._text(number, line)

    def _heading(self, number: int, level: int, words: str) -> None:
        self.tasks = []
        title, name = self._title(number, words)
        if level == 1 and self.heads:
            self.faults.append((number, "a plan has one `#` heading"))
            return
        if level > 1 and not self.heads:
            self.faults.append((number, "the `# Title` of the plan must come first"))
            return
        if level > 1 and level > self.heads[-1].level + 1:
            self.faults.append((number, f"a heading of level {level} needs one above it first"))
            return
        node = _Node("phase" if level > 1 else self.kind, level, title, name, number)
        if level == 1:
            self.heads = [node]
            return
        self.heads = [head for head in self.heads if head.level < level]
        self.heads[-1].children.append(node)
        self.heads.append(node)

    def _task(self, number: int, indent: int, done: bool, words: str) -> None:
        title, name = self._title(number, words)
        if not self.heads:
            self.faults.append((number, "the `# Title` of the plan must come before its tasks"))
            return
        node = _Node("task", indent, title, name, number, done=done)
        while self.tasks and self.tasks[-1].level >= indent:
            self.tasks.pop()
        if len(self.tasks) >= DEPTH_LIMIT:
            self.faults.append((number, f"it lies deeper than {DEPTH_LIMIT} levels"))
            return
        (self.tasks or self.heads)[-1].children.append(node)
        self.tasks.append(node)

    def _title(self, number: int, words: str) -> tuple[str, str]:
        found = _NAME.search(words)
        title = _NAME.sub("", words).strip()
        if plain := _PLAIN_NAME.search(title):
            title = title[: plain.start()] + plain[1].removeprefix("\\")
        if not title:
            self.faults.append((number, "there is no title"))
        if len(title) > TITLE_LIMIT:
            self.faults.append((number, f"the title is longer than {TITLE_LIMIT} characters"))
        return title, found[1] if found else ""

    def _attribute(self, number: int, attribute: re.Match[str]) -> None:
        indent, word, value = len(attribute[1]), attribute[2].lower(), attribute[3]
        while self.tasks and self.tasks[-1].level >= indent:
            self.tasks.pop()
        node = (self.tasks or self.heads)[-1]
        if word not in ATTRIBUTES:
            # There always is one: a bullet is only taken for an attribute if it is close to some.
            nearest = get_close_matches(word, ATTRIBUTES, n=1, cutoff=0.0)[0]
            self.faults.append(
                (number, f"there is no attribute {word!r}; did you mean {nearest!r}?")
            )
            return
        problem = _take(node.values, word, value)
        if problem:
            self.faults.append((number, problem))

    def _text(self, number: int, line: str) -> None:
        if not self.heads:
            if line.strip():
                self.faults.append((number, "text before the `# Title` heading"))
            return
        indent = len(line) - len(line.lstrip())
        if line.strip() and not self.in_fence and indent == 0:
            self.tasks = []
        node = (self.tasks or self.heads)[-1]
        words = line[min(indent, node.level + 2) :] if self.tasks else line
        is_escaped = not self.in_fence and _is_structure(words) and "\\" in words
        node.text.append(words.replace("\\", "", 1) if is_escaped else words)


def _is_structure(line: str) -> bool:
    """Whether a line would be read as more than text, were it not for backslashes before it."""
    indent = line[: len(line) - len(line.lstrip())]
    bare = indent + line.lstrip().lstrip("\\")
    attribute = _ATTRIBUTE.match(bare)
    return bool(
        _HEADING.match(bare)
        or _TASK.match(bare)
        or _FENCE.match(bare)
        or (attribute and _is_meant(attribute))
    )


def _is_meant(attribute: re.Match[str]) -> bool:
    """Whether a bullet `word: …` is meant as an attribute and not as a line of text."""
    return bool(get_close_matches(attribute[2].lower(), ATTRIBUTES, n=1, cutoff=0.8))


def plain(text: str) -> str:
    """Return text as a document may hold it, with a backslash before what is not to be read."""
    lines = text.splitlines()
    fences = [_FENCE.match(line) is not None for line in lines]
    # A fence that nothing closes would take in what comes after this text.
    keeps_fences = sum(fences) % 2 == 0
    in_fence = False
    for place, line in enumerate(lines):
        if fences[place] and keeps_fences:
            in_fence = not in_fence
        elif not in_fence and _is_structure(line):
            lines[place] = f"{line[: len(line) - len(line.lstrip())]}\\{line.lstrip()}"
    return "\n".join(lines)


def _take(values: dict[str, Any], word: str, value: str) -> str:
    """Put one attribute into the values; answer what is wrong with it, or nothing."""
    if not value:
        return f"{word!r} has no value"
    if word in {"approval", "review", "artifact"}:
        if value.lower() not in _TRUE | _FALSE:
            return f"{word!r} is yes or no, not {value!r}"
        values[word] = value.lower() in _TRUE
    elif word == "priority":
        if value not in map(str, PRIORITIES):
            return f"priority is a number from 0 to {PRIORITIES[-1]}, not {value!r}"
        values[word] = int(value)
    elif word == "after":
        values["needs"] = () if value.lower() == "none" else _words(value)
    elif word == "accept":
        values["acceptance"] = (*values.get("acceptance", ()), value)
    elif word == "verify":
        argv, problem = command_of(value)
        if problem:
            return problem
        values["checks"] = (*values.get("checks", ()), argv)
    else:
        values[word] = value if word == "profile" else _words(value)
    return ""


def command_of(text: str) -> tuple[tuple[str, ...], str]:
    """Return the argument list of a command line, and what is wrong with it, or nothing."""
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
    signs = [word for word in marked if word.startswith(_MARK)]
    if signs:
        sign = signs[0].removeprefix(_MARK)
        return (), f"{sign!r} needs a shell, and commands run without one: put it into a script"
    return argv, ""


def _words(value: str) -> tuple[str, ...]:
    return tuple(word.strip().removeprefix("#") for word in value.split(",") if word.strip())


def _malformed(faults: Iterable[tuple[int, str]]) -> MalformedDocument:
    found = sorted(faults)
    shown = "; ".join(f"line {number}: {problem}" for number, problem in found[:20])
    return MalformedDocument(
        f"the plan cannot be read: {shown}",
        faults=[{"line": number, "problem": problem} for number, problem in found],
    )


def load(text: str, kind: Kind = "plan") -> Draft:
    """Return the draft of a Markdown plan; MalformedDocument names every line at fault."""
    return _Reader(kind).read(text)


def dump(draft: Draft) -> str:
    """Return the Markdown of a draft; `load` reads it back to the same draft."""
    lines: list[str] = []
    _dump(draft, 1, lines)
    return "\n".join(lines).strip() + "\n"


def _dump(draft: Draft, level: int, lines: list[str]) -> None:
    title = _PLAIN_NAME.sub(r"\\\1", draft.title)
    name = f" {{#{draft.name}}}" if draft.name else ""
    if draft.kind == "task" and level > 1:
        depth = "  " * max(0, level - 2)
        lines.append(f"{depth}- [{'x' if draft.done else ' '}] {title}{name}")
        indent = depth + "  "
    else:
        closing = " #" if _CLOSING.search(title) and not name else ""
        lines += ["", f"{'#' * level} {title}{name}{closing}", ""]
        indent = ""
    lines += [f"{indent}- {word}: {value}" for word, value in _attributes(draft)]
    lines += [f"{indent}{line}".rstrip() for line in plain(draft.body).splitlines()]
    if draft.kind != "task" or level == 1:
        lines.append("")
    below = 2 if draft.kind != "task" or level == 1 else level + 1
    # What stands behind a phase's heading would belong to that phase: tasks come first.
    for child in sorted(draft.children, key=lambda child: child.kind != "task"):
        _dump(child, level + 1 if child.kind != "task" else below, lines)


def _attributes(draft: Draft) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if draft.needs is not None:
        found.append(("after", ", ".join(draft.needs) or "none"))
    if draft.areas:
        found.append(("areas", ", ".join(draft.areas)))
    found += [("accept", sentence) for sentence in draft.acceptance]
    found += [("verify", shlex.join(argv)) for argv in draft.checks]
    if draft.labels:
        found.append(("labels", ", ".join(draft.labels)))
    if draft.priority != DEFAULT_PRIORITY:
        found.append(("priority", str(draft.priority)))
    if draft.profile:
        found.append(("profile", draft.profile))
    if draft.approval:
        found.append(("approval", "yes"))
    if draft.review:
        found.append(("review", "yes"))
    if draft.artifact:
        found.append(("artifact", "yes"))
    return found
