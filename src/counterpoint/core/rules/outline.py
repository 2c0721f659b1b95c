"""Plans written in Markdown: read into drafts, and written back.

    # Title of the plan                    one, first; the text below it describes the plan
    ## Title of a phase {#name}            phases follow each other unless `after` says otherwise
    - [ ] Title of a task {#name}          `[x]` is done already; deeper indents are sub-tasks
      - after: name, title of another      what must be done first; `none` lifts the usual order
      - areas: src/api, tests/**           what it will touch, below the project
      - accept: a sentence                 what must be true at the end; any number
      - verify: pytest -q tests/api        a command that must pass; any number; no shell (planning/commands.py)
      - labels: one, two
      - priority: 0                        0 most urgent … 4 least; 2 if not given
      - profile: reviewer
      - approval: yes                      needs an approving verdict before it starts
      - review: yes                        needs an approving verdict before it ends
      - artifact: yes                      needs a submission
      - phase: yes                           below a heading: it is a phase though it has no task yet
      any other indented text              describes the task

Under a heading the same attributes, not indented, belong to the phase (or, before the first phase, to
the plan). A heading with neither a task nor an attribute below it, `## Notes`, is text of what it stands in, unless the plan
has no task at all. Front matter (YAML between two lines `---` at the top) may say the same of the plan, and its `title`.

A document is valid if and only if (1) it has exactly one `#` heading, or a `title`, and it comes first,
(2) no heading skips a level, (3) every attribute is one of those above with a readable value,
(4) every task has a title, without control characters, and no name is given twice. Everything else that cannot be read is named by its line.

A line that was surely meant as a task (`- [] a`, `-[ ] a`, `1. [ ] a`, `[ ] a`) is at fault, with the form of one. A plan or
heading in which there is no task is told of as a remark, for any other list in it is text, and so is how many tasks are done already.

Before any text of an item a bullet `- word: …` stands where attributes do. A word that is none of them is at fault if it is
near to one, or means one elsewhere (`depends`, `check`); any other is text, and told of as a remark.

Between fences (``` or ~~~) all is text. A line of text that would be read as one of the above begins
with a backslash, which is taken away; so does `{#name}` at the end of a title that has it as words.

Reading takes a time that grows with the text and no faster: no expression here has two parts beside each other that
could share letters, and the ends of a line are taken off by what looks at each letter once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import NamedTuple

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import (
    DEFAULT_PRIORITY,
    DEPTH_LIMIT,
    TITLE_LIMIT,
    WORKABLE,
    Kind,
)
from counterpoint.core.rules.planning.commands import command_line
from counterpoint.core.rules.planning.front import Front, front_of
from counterpoint.core.rules.planning.parts import PHASE, Node, is_bare, settle_headings, take
from counterpoint.core.rules.wording import control_fault
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.matching.expressions import expression

_HEADING = expression(r"(#{1,6})\s+")
_TASK = expression(r"(\s*)[-*+]\s+\[([ xX])\](?:\s+(.*))?$")
_NEAR = expression(
    r"(\s*)(?:[-*+]\s*\[[ ]{0,3}([xX]?)[ ]{0,3}\]|[0-9]{1,9}[.)]\s*\[[ ]?([xX]?)\]|\[(?:[ ]|([xX]))\])"
    r"(?![\[(:])\s*(\S.*)"
)
"""A line that was surely meant as a task: a link, `[x](…)`, is none."""
_ATTRIBUTE = expression(r"(\s*)[-*+]\s+([A-Za-z][A-Za-z_-]*)\s*:(.*)")
_NAME = expression(r"\{#([A-Za-z0-9_.-]{1,64})\}")
_CLOSING = expression(r"(?:^|\s)#+$")
_FENCE = expression(r"\s*(```|~~~)")
_LONGEST_MEANT = 12
"""Letters of the longest word that can be meant for an attribute."""
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("depends", "dependson", "dependencies", "needs", "requires"), "after"),
    **dict.fromkeys(("blockedby", "waitsfor"), "after"),
    **dict.fromkeys(("check", "checks", "command", "commands", "test", "tests"), "verify"),
    **dict.fromkeys(("gate", "gates"), "verify"),
    **dict.fromkeys(("criteria", "criterion", "acceptance"), "accept"),
    **dict.fromkeys(("files", "paths"), "areas"),
    **dict.fromkeys(("tag", "tags"), "labels"),
    **dict.fromkeys(("role", "assignee"), "profile"),
    **dict.fromkeys(("reviewer", "reviewers"), "review"),
}
"""What other plans call the attributes, without hyphens."""
_UNTITLED = "text before the `# Title` heading"
_FAULTS_TOLD = 100
_REMARKS_TOLD = 20
_GIVEN_UP = frozenset({"cancelled", "failed"})
TEXT_LIMIT = 5_000_000
"""How many characters a document may have."""

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
    PHASE,
)


class Read(NamedTuple):
    """What came of reading a plan.

    draft: None where a line is at fault that would be a part of it. faults: each with its line.
    """

    draft: Draft | None
    faults: list[tuple[int, str]]


class _Reader:
    """Reads a document line by line and remembers what it could not read."""

    def __init__(self, kind: Kind) -> None:
        self.kind: Kind = kind
        self.faults: list[tuple[int, str]] = []
        self.remarks: list[str] = []
        self.is_torn = False
        self.heads: list[Node] = []
        self.tasks: list[Node] = []
        self.in_fence = False
        self.front = Front()

    def read(self, text: str) -> Read:
        self.front = front_of(text, ATTRIBUTES)
        self.faults += self.front.faults
        self.remarks += self.front.remarks
        if self.front.faults:
            return Read(None, self.faults)
        lines = text.splitlines()
        for number, line in enumerate(lines[self.front.first :], self.front.first + 1):
            # Indents are compared by their width.
            self._line(number, line.expandtabs(4).rstrip())
        self._open_titled()
        if not self.heads and not self.faults:
            what = "there is no `# Title` heading" if text.strip() else "the plan is empty"
            self.faults.append((1, what))
        if not self.heads or self.is_torn:
            return Read(None, self.faults)
        self._take_front()
        if not self.faults:
            self._remark_folded(settle_headings(self._root))
            self._remark_empty(self._root)
            self._remark_done()
        return Read(replace(self._root.drafted(), remarks=tuple(self.remarks)), self.faults)

    def _open_titled(self) -> None:
        """Begin a plan that has its title in its front matter, where no heading came first."""
        if not self.heads and self.front.title:
            title, name = self._title(self.front.line, self.front.title)
            self.heads = [Node(self.kind, 1, title, name, self.front.line)]

    def _take_front(self) -> None:
        known = {"needs" if word == "after" else word for word in self._root.values}
        for number, word, value in self.front.attributes:
            if word not in known and (problem := take(self._root, word, value)):
                self.faults.append((number, problem))
        self._root.text = [*self.front.text, *self._root.text]

    def _remark_folded(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self._tell(
                f"line {node.line}: no task is below {node.title[:80]!r}, so it is text and no phase; a task is"
                f" a line `- [ ] Title`, and `- {PHASE}: yes` makes a phase all the same"
            )

    def _remark_done(self) -> None:
        count = sum(node.done for node in self._root.walk())
        if count:
            self._tell(f"{count} ticked: what is ticked begins as done")

    def _tell(self, remark: str) -> None:
        if len(self.remarks) < _REMARKS_TOLD:
            self.remarks.append(remark)

    @property
    def _root(self) -> Node:
        return self.heads[0]

    def _remark_empty(self, node: Node) -> None:
        """Tell of a plan, or of a phase, in which nothing can be taken up."""
        if node.kind in WORKABLE:
            return
        if not node.children:
            what = f"the {node.kind} {node.title[:80]!r} has no task"
            self._tell(
                f"line {node.line}: {what}; a task is a line `- [ ] Title`, and any other list is text"
            )
        for child in node.children:
            self._remark_empty(child)

    def _line(self, number: int, line: str) -> None:
        if line.strip() and not line.startswith("# "):
            self._open_titled()
        if _FENCE.match(line):
            self.in_fence = not self.in_fence
        elif not self.in_fence:
            if heading := _HEADING.match(line):
                self._heading(number, len(heading[1]), _unclosed(line[heading.end() :]))
                return
            if task := _TASK.match(line):
                self._task(number, len(task[1]), task[2] != " ", task[3] or "")
                return
            if near := _NEAR.match(line):
                done = bool(near[2] or near[3] or near[4])
                form = f"{near[1]}- [{'x' if done else ' '}] {near[5][:40]}"
                self.faults.append((number, f"a task is written `{form}`"))
                self._task(number, len(near[1]), done, near[5])
                return
            if self.heads and (found := _ATTRIBUTE.match(line)):
                is_listed = not self._above(len(found[1])).has_text
                if _meant(found[2], is_listed=is_listed):
                    self._attribute(number, found)
                    return
                self._remark(number, found, is_listed=is_listed)
                self._text(number, line, is_bullet=True)
                return
        self._text(number, line)

    def _above(self, indent: int) -> Node:
        """Return what a line of an indent belongs to."""
        return next((one for one in reversed(self.tasks) if one.level < indent), self.heads[-1])

    def _drop(self, number: int, problem: str) -> None:
        """Remember what is wrong with a line that no part of the plan can be made of."""
        self.faults.append((number, problem))
        self.is_torn = True

    def _heading(self, number: int, level: int, words: str) -> None:
        self.tasks = []
        title, name = self._title(number, words)
        if level == 1 and self.heads:
            self._drop(number, "a plan has one `#` heading")
            return
        if level > 1 and not self.heads:
            self._drop(number, "the `# Title` of the plan must come first")
            return
        if level > 1 and level > self.heads[-1].level + 1:
            self._drop(number, f"a heading of level {level} needs one above it first")
            return
        node = Node("phase" if level > 1 else self.kind, level, title, name, number)
        if level == 1:
            self.heads = [node]
            return
        self.heads = [head for head in self.heads if head.level < level]
        self.heads[-1].children.append(node)
        self.heads.append(node)

    def _task(self, number: int, indent: int, done: bool, words: str) -> None:
        title, name = self._title(number, words)
        if not self.heads:
            self._drop(number, "the `# Title` of the plan must come before its tasks")
            return
        node = Node("task", indent, title, name, number, done=done)
        while self.tasks and self.tasks[-1].level >= indent:
            self.tasks.pop()
        if len(self.tasks) >= DEPTH_LIMIT:
            self._drop(number, f"it lies deeper than {DEPTH_LIMIT} levels")
            return
        (self.tasks or self.heads)[-1].children.append(node)
        self.tasks.append(node)

    def _title(self, number: int, words: str) -> tuple[str, str]:
        title, name = words.strip(), ""
        place = _name_at(title)
        if place >= 0 and title[place - 1 : place] != "\\":
            name, title = title[place + 2 : -1], title[:place].rstrip()
            place = _name_at(title)
        if title[max(0, place - 1) : max(0, place)] == "\\":
            title = title[: place - 1] + title[place:]
        if not title:
            self.faults.append((number, "there is no title"))
        if problem := control_fault(title):
            self.faults.append((number, problem))
        if len(title) > TITLE_LIMIT:
            self.faults.append((number, f"the title is longer than {TITLE_LIMIT} characters"))
        return title, name

    def _attribute(self, number: int, attribute: re.Match[str]) -> None:
        indent, word, value = len(attribute[1]), attribute[2].lower(), attribute[3].strip()
        while self.tasks and self.tasks[-1].level >= indent:
            self.tasks.pop()
        node = self._above(indent)
        if word not in ATTRIBUTES:
            known = ", ".join(ATTRIBUTES)
            problem = f"there is no attribute {word!r}; did you mean {_meant(word, is_listed=True)!r}? There are {known}"
            self.faults.append((number, f"{problem}. A line of text begins with a backslash"))
            return
        problem = take(node, word, value)
        if problem:
            self.faults.append((number, problem))

    def _remark(self, number: int, bullet: re.Match[str], *, is_listed: bool) -> None:
        """Tell of a bullet that is read as text where attributes stand."""
        # What a colon stands in without a blank behind it is an address, a time or code.
        is_word = len(bullet[2]) <= _LONGEST_MEANT and bullet[3][:1] in {"", " "}
        if is_listed and is_word:
            known = ", ".join(ATTRIBUTES)
            self._tell(
                f"line {number}: {bullet[2]!r} is no attribute ({known}), so that line is text"
            )

    def _text(self, number: int, line: str, *, is_bullet: bool = False) -> None:
        if not self.heads:
            # Once: a file that is no plan would say it of each of its lines.
            if line.strip() and all(problem != _UNTITLED for _, problem in self.faults):
                self.faults.append((number, _UNTITLED))
            return
        indent = len(line) - len(line.lstrip())
        if line.strip() and not self.in_fence and indent == 0:
            self.tasks = []
        node = (self.tasks or self.heads)[-1]
        node.has_text |= bool(line.strip()) and not is_bullet
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
        or _NEAR.match(bare)
        or _FENCE.match(bare)
        or (attribute and _meant(attribute[2], is_listed=True))
    )


def _meant(word: str, *, is_listed: bool) -> str:
    """Return the attribute that the word of a bullet is meant for; empty for a line of text.

    is_listed: it stands where attributes do, so that it is one if it means one elsewhere.
    """
    if len(word) > _LONGEST_MEANT:
        return ""
    asked = word.lower()
    near = get_close_matches(asked, ATTRIBUTES, n=1, cutoff=0.8)
    elsewhere = _ELSEWHERE.get(re.sub("[_-]", "", asked), "") if is_listed else ""
    return near[0] if near else elsewhere


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


def malformed(faults: Iterable[tuple[int, str]]) -> MalformedDocument:
    """Return the refusal of a plan with what is wrong with its lines."""
    # The lines and the draft that they make are looked at for themselves, so that one fault may come twice.
    found = sorted(set(faults))
    shown = "; ".join(f"line {number}: {problem}" for number, problem in found[:20])
    return MalformedDocument(
        f"the plan cannot be read: {shown}",
        faults=[{"line": number, "problem": problem} for number, problem in found[:_FAULTS_TOLD]],
    )


def _unclosed(words: str) -> str:
    """Return the words of a heading without the signs that may close it."""
    title = words.strip()
    before = title.rstrip("#")
    return before.rstrip() if before[-1:].isspace() else title


def _name_at(title: str) -> int:
    """Return where the `{#name}` begins that ends a title; -1 if none does."""
    place = title.rfind("{#")
    return place if place >= 0 and _NAME.fullmatch(title, place) else -1


def load(text: str, kind: Kind = "plan") -> Draft:
    """Return the draft of a Markdown plan; MalformedDocument names the lines at fault."""
    found = read(text, kind)
    if found.draft is None or found.faults:
        raise malformed(found.faults)
    return found.draft


def read(text: str, kind: Kind = "plan") -> Read:
    """Return the draft of a Markdown plan as far as it can be read, with what is wrong with its lines."""
    if len(text) > TEXT_LIMIT:
        return Read(None, [(1, f"it has more than {TEXT_LIMIT} characters")])
    return _Reader(kind).read(text)


def dump(draft: Draft) -> str:
    """Return the Markdown of a draft; `load` reads it back to the same draft."""
    lines: list[str] = []
    _dump(draft, 1, lines)
    return "\n".join(lines).strip() + "\n"


def _dump(draft: Draft, level: int, lines: list[str]) -> None:
    place = _name_at(draft.title)
    title = draft.title if place < 0 else f"{draft.title[:place]}\\{draft.title[place:]}"
    name = f" {{#{draft.name}}}" if draft.name else ""
    if draft.kind == "task" and level > 1:
        depth = "  " * max(0, level - 2)
        # What was given up is no task of a plan that is made from this.
        mark = "x" if draft.done else "-" if draft.status in _GIVEN_UP else " "
        lines.append(f"{depth}- [{mark}] {title}{name}")
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
    found += [("verify", command_line(argv)) for argv in draft.checks]
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
    if draft.kind == "phase" and is_bare(draft):
        found.append((PHASE, "yes"))
    return found
