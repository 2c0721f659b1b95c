"""Reads a plan in Markdown: its front matter, its structure, its items.

What text would be read as more than text in a plan, and how it is written so that it is not.
A backslash before the first letter of a line makes it text; one before `<!--` or before the `{#name}` at the end of a title does the
same there. Each is taken away when the plan is read. Between fences that end nothing is escaped.

Reads the lines of a Markdown document into the parts of a plan.
Two readers share one grammar. A plan is read strictly: what cannot be read is a fault of its line, and nothing is made. A document
of somebody else is read with patience: any mark in a box, any depth of headings, several titles or none, and what a plan would
refuse is text and told of. In both every line that looks like a task is a task, a fault, or told of with its line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, cast

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import DEPTH_LIMIT, TITLE_LIMIT, WORKABLE, Kind
from counterpoint.core.rules.planning.attributes import (
    ATTRIBUTES,
    LISTS,
    PHASE,
    Node,
    Spelling,
    attribute_within,
    settle_headings,
    spelling_of,
    take_attribute,
)
from counterpoint.core.rules.planning.markdown import (
    Line,
    Markdown,
    escape_comments,
    is_task_row,
    parse_markdown,
    split_lines,
    task_in,
    without_comments,
)
from counterpoint.core.rules.wording import control_fault, few
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.matching.expressions import expression
from counterpoint.kernel.plurals import counted
from counterpoint.kernel.yamltext import FrontMatter, read_front_matter

TITLE = "title"
_DESCRIPTION = "description"
_SENTENCES = frozenset({"accept", "verify"})
"""Attributes of which a list has one a line."""


@dataclass(frozen=True, slots=True)
class Front:
    """What stands above a plan.

    first: the number of lines it takes. attributes: line, word and value of each. text: lines for the description.
    """

    first: int = 0
    title: str = ""
    line: int = 0
    attributes: tuple[tuple[int, str, str], ...] = ()
    text: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    faults: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


def front_of(text: str, words: Collection[str]) -> Front:
    """Return the front matter of a plan. words: the words that are attributes."""
    try:
        matter = read_front_matter(text)
    except MalformedDocument as fault:
        return Front(faults=[(fault.facts["line"], fault.facts["problem"])])
    if not matter.values:
        return Front()
    title = matter.values.get(TITLE)
    others = [word for word in matter.values if word.lower() not in {*words, TITLE, _DESCRIPTION}]
    remark = f"front matter: {few(others)} is kept as text of the description" if others else ""
    first = text.count("\n") - matter.body.count("\n")
    return Front(
        first=first,
        title=title.strip() if isinstance(title, str) else "",
        line=matter.line(TITLE),
        attributes=tuple(_attributes(matter, words)),
        text=tuple(_text(matter, others)),
        remarks=(remark,) if remark else (),
    )


def _attributes(matter: FrontMatter, words: Collection[str]) -> Iterator[tuple[int, str, str]]:
    for key, value in matter.values.items():
        word, line = key.lower(), matter.line(key)
        if word not in words:
            continue
        listed = cast("list[Json]", value) if isinstance(value, list) else [value]
        if word in _SENTENCES:
            for index, part in enumerate(listed):
                yield matter.line(key, index), word, _flat(part)
        else:
            yield line, word, ", ".join(map(_flat, listed))


def _text(matter: FrontMatter, others: Collection[str]) -> Iterator[str]:
    description = matter.values.get(_DESCRIPTION)
    if isinstance(description, str) and description.strip():
        yield from (*description.strip().splitlines(), "")
    for key in others:
        yield f"{key}: {_flat(matter.values[key])}"
    if others:
        yield ""


def _flat(value: Json) -> str:
    return " ".join(value.split()) if isinstance(value, str) else dump_any(value)


_HEADING: Final = expression(r"\s*#{1,6}(?:\s|$)|\s{0,3}#{2,6}\w")
_BOX: Final = expression(
    r"\s*(?:(?:[-*+]|[0-9]{1,9}[.)])\s+)+\[.[\ufe00-\ufe0f]?\](?:\s|$)", re.DOTALL
)
_FENCE: Final = expression(r"\s*(?:```|~~~)")
_UNDERLINE: Final = expression(r"\s*(?:=+|-+)\s*$")
_HTML: Final = expression(
    r"\s*<(?:[!?](?!--)|(?:script|pre|style|textarea)(?:[\s>]|$))", re.IGNORECASE
)
_BULLET: Final = expression(r"\s*(?:(?:[-*+]|[0-9]{1,9}[.)])\s+)+")
_NAME: Final = expression(r"\{#([^\s{},#`\\<]{1,64})\}")


def name_at(title: str) -> int:
    """Return where the `{#name}` begins that ends a title; -1 if none does."""
    at = title.rfind("{#")
    return at if at >= 0 and _NAME.fullmatch(title, at) else -1


def is_structure(line: str) -> bool:
    """Return whether a line would be read as more than text, were it not for backslashes before it."""
    indent = line[: len(line) - len(line.lstrip())]
    bare = indent + line.lstrip().lstrip("\\")
    bullet = _BULLET.match(bare)
    spelling = spelling_of(bare[bullet.end() :]) if bullet else None
    return bool(
        _HEADING.match(bare)
        or _BOX.match(bare)
        or task_in(bare)[1]
        or is_task_row(bare)
        or _FENCE.match(bare)
        or _UNDERLINE.match(bare)
        or _HTML.match(bare)
        or (spelling and (spelling.word or spelling.near))
    )


def unescape(line: str) -> str:
    """Return a line of text without the backslash that made it text."""
    line = line.replace("\\<!--", "<!--")
    is_escaped = line.lstrip().startswith("\\") and is_structure(line)
    return line.replace("\\", "", 1) if is_escaped else line


def escape(line: str) -> str:
    """Return a line with a backslash where it would be read as more than text; `unescape` reads it back."""
    if is_structure(line):
        indent = line[: len(line) - len(line.lstrip())]
        line = f"{indent}\\{line.lstrip()}"
    return escape_comments(line)


def plain(text: str) -> str:
    """Return text as a document may hold it, with a backslash before what is not to be read."""
    lines = split_lines(text)
    if not any(_FENCE.match(line) for line in lines):
        return "\n".join(map(escape, lines))
    fenced = _fenced(text)
    escaped = [line if number in fenced else escape(line) for number, line in enumerate(lines)]
    # What was escaped may have held a fence together, which then is none.
    if fenced and fenced != _fenced("\n".join(escaped)):
        escaped = [escape(line) for line in lines]
    return "\n".join(escaped)


def _fenced(text: str) -> set[int]:
    """Return the places of the lines in fences; none where a fence or a comment never ends."""
    document = parse_markdown(text)
    if document.unfinished:
        return set()
    return {line.number - 1 for line in document.lines if line.kind == "fence"}


DONE_MARKS: Final = frozenset({"x", "X"})
_UNTITLED: Final = "text before the `# Title` heading"
_DEEPEST: Final = 6
_REMARKS_TOLD: Final = 30
_RANGES_TOLD: Final = 40
_PLACES: Final[Mapping[str, str]] = {
    "code": "indented code",
    "quote": "a quotation",
    "html": "HTML",
    "fence": "a fence that never ends",
    "comment": "a comment that never ends",
    "table": "a table",
}
_NO_NAME: Final = expression(r"(?<!\\)\{#[^{}]+\}$")
_SIGNED: Final = expression(r"[✅✔✓❌✗✘⬜🔲⏳🚧]")
_TODO: Final = expression(r"\s*(?:[-*+]\s+)?(?:TO{1}DO|FIX{1}ME):\s*\S")
_ESCAPED: Final = "a line of text begins with a backslash"


class Read(NamedTuple):
    """What came of reading a plan.

    draft: None where a line is at fault that would be a part of it. faults: each with its line. marks: what stands in the box of
    each task, by its line.
    """

    draft: Draft | None
    faults: list[tuple[int, str]]
    marks: Mapping[int, str]


@dataclass(slots=True)
class _Open:
    """An attribute without a value, which the bullets below it may give."""

    line: int
    node: Node
    word: str
    values: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


class PlanReader:
    """Reads one document.

    title: that of one that has none, or several; empty: such a document is no plan, and is read strictly. words: characters that
    are no mark of a box in it, but a word of the tool that wrote it.
    """

    def __init__(self, kind: Kind, title: str = "", words: Collection[str] = ()) -> None:
        self.words = words
        self.kind: Kind = kind
        self.is_patient = bool(title)
        self.title = title
        self.faults: list[tuple[int, str]] = []
        self.notes: dict[str, list[int]] = {}
        self.losses: dict[str, list[int]] = {}
        self.marks: dict[int, str] = {}
        self.is_torn = False
        self.heads: list[Node] = []
        self.tasks: dict[int, Node] = {}
        self.depths: dict[int, int] = {}
        self.open: dict[int, _Open] = {}
        self.taken: set[int] = set()
        self.levels: dict[int, int] = {}
        self.front = Front()
        self.document = Markdown(lines=())

    def read(self, text: str) -> Read:
        """Return what the document says."""
        self.front = front_of(text, ATTRIBUTES)
        self.faults += self.front.faults
        if self.front.faults:
            return Read(None, self.faults, {})
        body = "\n".join(text.removeprefix("\ufeff").split("\n")[self.front.first :])
        self.document = parse_markdown(body, first_line=self.front.first + 1)
        if self.is_patient:
            self._settle_levels()
        for unfinished in self.document.unfinished:
            self._fault(unfinished.line, f"the {unfinished.what} that begins here never ends")
        for line in self.document.lines:
            if line.number not in self.taken:
                self._line(line)
        self._open_titled()
        if not self.heads and not self.faults:
            self.faults.append(
                (1, "there is no `# Title` heading" if text.strip() else "the plan is empty")
            )
        if not self.heads or self.is_torn:
            return Read(None, sorted(self.faults), self.marks)
        self._close_open()
        self._take_front()
        if not self.faults:
            self._settle()
        remarks = (*self.front.remarks, *self._remarks())
        draft = replace(self._root.drafted(), remarks=remarks)
        return Read(draft, sorted(self.faults), self.marks)

    @property
    def _root(self) -> Node:
        return self.heads[0]

    # Headings and titles.

    def _settle_levels(self) -> None:
        """Give each heading of somebody else's document the level that it would have in a plan."""
        heads = list(self.document.headings)
        titles = [line for line in heads if line.level == 1]
        seen = (line for line in self.document.lines if line.kind not in {"blank", "comment"})
        first = next(seen, None)
        has_title = titles == [first] or (not titles and bool(self.front.title))
        # The headings above a line, each with its level there and in the plan: those of one level stand side by side.
        above = [(0, 0 if titles == [first] else 1)]
        for line in heads:
            while above[-1][0] >= line.level:
                above.pop()
            self.levels[line.number] = min(above[-1][1] + 1, _DEEPEST)
            above.append((line.level, self.levels[line.number]))
        if not has_title:
            self.heads = [Node(self.kind, 1, self.title[:TITLE_LIMIT], "", 1)]

    def _open_titled(self) -> None:
        """Begin a plan that has its title in its front matter, where no heading came first."""
        if not self.heads and self.front.title:
            node = self._node(self.kind, 1, self.front.line, self.front.title)
            self.heads = [node]

    def _heading(self, line: Line) -> None:
        level = self.levels.get(line.number, line.level)
        problem = ""
        if level == 1 and self.heads:
            problem = "a plan has one `#` heading"
        elif level > 1 and not self.heads:
            problem = "the `# Title` of the plan must come first"
        elif level > 1 and level > self.heads[-1].level + 1:
            problem = f"a heading of level {level} needs one above it first"
        node = self._node("phase" if level > 1 else self.kind, level, line.number, line.words)
        if problem:
            self._drop(line.number, problem)
            return
        if line.words.startswith(("[ ]", "[x]", "[X]")):
            self._lose("a box in a heading is no task", line.number)
        if level == 1:
            self.heads = [node]
            return
        self.heads = [head for head in self.heads if head.level < level]
        self.heads[-1].children.append(node)
        self.heads.append(node)

    def _node(self, kind: Kind, level: int, number: int, words: str) -> Node:
        """Return a part with its title and name; a title that is too long is cut, and stands whole in the description."""
        seen, is_open = without_comments(words)
        if is_open:
            self._fault(number, "a comment begins within this line and does not end in it")
        title, name = seen.strip(), ""
        at = name_at(title)
        if at >= 0 and title[at - 1 : at] != "\\":
            name, title = title[at + 2 : -1], title[:at].rstrip()
            at = name_at(title)
            if problem := control_fault(name):
                self._fault(number, problem)
        if title[max(0, at - 1) : max(0, at)] == "\\":
            title = title[: at - 1] + title[at:]
        if not title:
            self._fault(number, "there is no title")
        if problem := control_fault(title):
            self._fault(number, problem)
        if not self.is_patient:
            self._remark_on_title(title, name, number)
        node = Node(kind, level, title, name, number)
        if len(title) > TITLE_LIMIT:
            node.title = f"{title[: TITLE_LIMIT - 1].rstrip()}…"
            node.text += [title, ""]
            self._note(f"a title has at most {TITLE_LIMIT} characters, so all of it is the description", number)  # fmt: skip
        return node

    def _remark_on_title(self, title: str, name: str, number: int) -> None:
        if meant := attribute_within(title):
            written = f"{meant.written} {meant.value}".strip()
            self._note(f"{written[:80]!r} is a part of the title; an attribute is a bullet `- {meant.word}: …` below it", number)  # fmt: skip
        elif not name and _NO_NAME.search(title):
            self._note("a name `{#…}` is one word without commas, so this is a part of the title", number)  # fmt: skip

    # Lines.

    def _line(self, line: Line) -> None:
        if line.kind not in {"blank", "comment"} and not (line.kind == "heading" and line.level == 1):  # fmt: skip
            self._open_titled()
        parent = line.holders[-2].line if line.kind == "item" and line.depth > 1 else 0
        if line.kind == "heading":
            self._heading(line)
        elif parent in self.open and (not line.is_box or self.open[parent].word == "accept"):
            self._value(line, self.open[parent])
        elif line.mark in self.words:
            self._text(line)
        elif line.is_box:
            self._box(line)
        elif line.is_like_task:
            self._like_task(line)
        elif line.is_hidden_heading:
            self._hide(line, "a heading")
        elif line.kind == "item" and self.heads and self._bullet(line):
            return
        elif line.kind not in {"underline", "comment"} or line.is_unfinished:
            self._text(line)

    def _box(self, line: Line) -> None:
        mark = line.mark or " "
        if self.is_patient and not line.words:
            self._lose("a box without a title is left out", line.number)
            return
        if self.is_patient and mark not in {" ", "-", *DONE_MARKS}:
            self._lose(f"the box `[{mark}]` has no meaning here, so the task is open", line.number)
        if not self.is_patient:
            if mark not in {" ", *DONE_MARKS}:
                form = f"- [ ] {line.words[:40]}"
                again = (
                    "; `counterpoint import markdown` reads what `export` wrote"
                    if mark == "-"
                    else ""
                )
                self._fault(
                    line.number,
                    f"`[{mark}]` is no box of a plan: write `{form}`, `- [x]` if it is done, or take the line out{again}",
                )
            elif line.marker[0] not in "-*+":
                box = "x" if mark in DONE_MARKS else " "
                self._fault(line.number, f"a task is written `- [{box}] {line.words[:40]}`")
        self._task(line, line.words, mark, self._above(line))

    def _task(self, line: Line, words: str, mark: str, above: Node) -> None:
        node = self._node("task", 0, line.number, words)
        node.done = mark in DONE_MARKS
        if not self.heads:
            self._drop(line.number, "the `# Title` of the plan must come before its tasks")
            return
        depth = self.depths.get(above.line, 0) + 1 if above.line in self.tasks else 1
        if depth > DEPTH_LIMIT and not self.is_patient:
            self._drop(line.number, f"it lies deeper than {DEPTH_LIMIT} levels")
            return
        above.children.append(node)
        self.tasks[line.number] = node
        self.depths[line.number] = depth
        self.marks[line.number] = mark

    def _like_task(self, line: Line) -> None:
        """Take in a line that looks like a task, where it has a wrong form or stands where none can stand."""
        mark, words = task_in(f"{line.marker} {line.words}" if line.kind == "item" else line.text)
        if line.kind not in {"item", "text"} or not words:
            self._hide(line, "a task")
            return
        if self.is_patient:
            self._task(line, words, mark or " ", self._around(line))
            return
        form = f"{' ' * line.indent}- [{'x' if mark else ' '}] {words[:40]}"
        is_deep = line.kind == "text" and line.text.lstrip().startswith(("- [", "* [", "+ ["))
        why = ", and no more than three columns deeper than what holds it" if is_deep else ""
        self.faults.append((line.number, f"a task is written `{form}`{why}"))
        if self.heads:
            self._task(line, words, "x" if mark else " ", self._around(line))

    def _hide(self, line: Line, what: str) -> None:
        """Tell of a line that is seen by nobody in Markdown; in a plan it is a fault, but for a quotation."""
        container = _PLACES["table" if is_task_row(line.text) else line.kind]
        if self.is_patient or line.kind == "quote":
            self._lose(f"what looks like {what} stands in {container}, so it is text", line.number)
        else:
            self.faults.append(
                (line.number, f"what looks like {what} stands in {container}; {_ESCAPED}")
            )
        self._text(line)

    def _above(self, line: Line) -> Node:
        """Return what holds a list item."""
        for holder in reversed(line.holders[:-1] if line.kind == "item" else line.holders):
            if holder.line in self.tasks:
                return self.tasks[holder.line]
        return self.heads[-1] if self.heads else Node(self.kind, 1, "", "", 0)

    def _around(self, line: Line) -> Node:
        """Return what a line of text belongs to by its indentation: text at the margin is the heading's."""
        for holder in reversed(line.holders):
            is_inside = line.kind in {"blank", "fence"} or line.indent >= holder.column
            if holder.line in self.tasks and is_inside and holder.line != line.number:
                return self.tasks[holder.line]
        return self.heads[-1] if self.heads else Node(self.kind, 1, "", "", 0)

    # Attributes.

    def _bullet(self, line: Line) -> bool:
        """Take a bullet as an attribute, or tell why it is none; answer whether it was one, or is at fault."""
        spelling = spelling_of(line.words)
        if spelling is None:
            return False
        node = self._above(line)
        parent = line.holders[-2].line if line.depth > 1 else 0
        is_direct = parent == node.line or (parent == 0 and node.line not in self.tasks)
        is_listed = is_direct and (node.line in self.tasks or not node.has_text)
        if spelling.word and (spelling.is_exact or is_listed):
            self._attribute(line, node, spelling)
            return True
        if spelling.near and (is_listed or self._is_near(spelling)):
            problem = (
                f"there is no attribute {spelling.written!r}; did you mean {spelling.near!r}?"
                f" There are {', '.join(ATTRIBUTES)}"
            )
            return self._fault(line.number, f"{problem}. A line of text begins with a backslash")
        if spelling.word or spelling.near:
            meant = spelling.word or spelling.near
            self._note(
                f"{spelling.written!r} stands within text, so it is text and not the attribute {meant!r}",
                line.number,
            )
        elif is_direct and not node.has_text and spelling.is_worth_a_remark:
            self._note(
                f"{spelling.written!r} is no attribute ({', '.join(ATTRIBUTES)}), so that is text",
                line.number,
            )
        self._text(line, is_bullet=True)
        return True

    @staticmethod
    def _is_near(spelling: Spelling) -> bool:
        return spelling.near[:3] == spelling.written[:3].lower()

    def _attribute(self, line: Line, node: Node, spelling: Spelling) -> None:
        value = " ".join((spelling.value.strip(), *self._wrapped(line))).strip()
        if not value and spelling.word not in {"priority", "profile", PHASE}:
            self.open[line.number] = _Open(line.number, node, spelling.word)
            return
        self._take(line.number, node, spelling.word, value)

    def _take(self, number: int, node: Node, word: str, value: str) -> None:
        if (problem := take_attribute(node, word, value)) and self._fault(number, problem) is False:
            node.text.append(f"- {word}: {value}")

    def _wrapped(self, line: Line) -> list[str]:
        """Return the lines that go on with the sentence of a bullet."""
        column, words = line.holders[-1].column, list[str]()
        first = self.document.lines[0].number
        for follower in self.document.lines[line.number + 1 - first :]:
            is_more = follower.kind == "text" and follower.holders == line.holders
            if not is_more or follower.indent < column or follower.is_like_task:
                break
            words.append(follower.text.strip())
            self.taken.add(follower.number)
        return words

    def _value(self, line: Line, attribute: _Open) -> None:
        words = " ".join((line.words, *self._wrapped(line))).strip()
        if line.is_box:
            self._note("a box below `accept` is a sentence that must be true, and no task", line.number)  # fmt: skip
        attribute.values.append((line.number, words))

    def _close_open(self) -> None:
        """Give the attributes without a value those of the bullets below them."""
        for attribute in self.open.values():
            if not attribute.values:
                self._fault(attribute.line, f"{attribute.word!r} has no value")
            elif attribute.word in LISTS:
                joined = ", ".join(words for _, words in attribute.values)
                self._take(attribute.line, attribute.node, attribute.word, joined)
            else:
                for number, words in attribute.values:
                    self._take(number, attribute.node, attribute.word, words)

    def _take_front(self) -> None:
        words_given = {"needs" if word == "after" else word for word in self._root.values}
        for number, word, value in self.front.attributes:
            if word not in words_given and (problem := take_attribute(self._root, word, value)):
                self._fault(number, problem)
        self._root.text = [*self.front.text, *self._root.text]

    # Text.

    def _text(self, line: Line, *, is_bullet: bool = False) -> None:
        has_words = bool(line.text.strip())
        if not self.heads:
            # Once: a file that is no plan would say it of each of its lines.
            if has_words and all(problem != _UNTITLED for _, problem in self.faults):
                self.faults.append((line.number, _UNTITLED))
            return
        node = self._around(line) if line.kind != "item" else self._above(line)
        column = next((holder.column for holder in line.holders if holder.line == node.line), 0)
        words = line.text_from(column)
        if line.kind not in {"fence", "comment"} and has_words:
            self._remark_on_text(line, node)
            words = unescape(words)
        node.has_text |= has_words and not is_bullet
        node.text.append(words.rstrip())

    def _remark_on_text(self, line: Line, node: Node) -> None:
        if line.kind == "text" and without_comments(line.text)[1] and not self._ends_comment(line):
            self._fault(line.number, "a comment begins within this line and does not end with its paragraph")  # fmt: skip
        if _TODO.match(line.text):
            self._lose("a line that begins with `todo:` is text and no task", line.number)
        if line.kind == "item" and node.line not in self.tasks and _SIGNED.match(line.words):
            self._lose("a list entry that begins with a sign is text and no task", line.number)
        if line.kind == "text" and (node.line in self.tasks or not self.is_patient):
            spelling = spelling_of(line.text.strip())
            if spelling and spelling.word and spelling.is_worth_a_remark:
                self._note(
                    f"{spelling.written!r} is text here; an attribute is a bullet `- {spelling.word}: …`",
                    line.number,
                )

    def _ends_comment(self, line: Line) -> bool:
        first = self.document.lines[0].number
        for follower in self.document.lines[line.number + 1 - first :]:
            if follower.kind != "text":
                return False
            if "-->" in follower.text:
                return True
        return False

    # What is told.

    def _fault(self, number: int, problem: str) -> bool:
        """Put down what is wrong with a line; answer whether it is refused for it: with patience it is told of."""
        if self.is_patient:
            self._lose(problem, number)
            return False
        self.faults.append((number, problem))
        return True

    def _drop(self, number: int, problem: str) -> None:
        """Put down what is wrong with a line that no part of the plan can be made of."""
        self.faults.append((number, problem))
        self.is_torn = True

    def _note(self, remark: str, number: int) -> None:
        self.notes.setdefault(remark, []).append(number)

    def _lose(self, remark: str, number: int) -> None:
        self.losses.setdefault(remark, []).append(number)

    def _remarks(self) -> Iterable[str]:
        """Return what is told of, losses first; each remark once, with all its lines."""
        losses = [f"{lines_in_words(lines)}: {remark}" for remark, lines in self.losses.items()]
        notes = [f"{lines_in_words(lines)}: {remark}" for remark, lines in self.notes.items()]
        yield from losses
        yield from notes[:_REMARKS_TOLD]
        if len(notes) > _REMARKS_TOLD:
            yield f"{counted(len(notes) - _REMARKS_TOLD, 'more remark')} of the kind"

    def _settle(self) -> None:
        hint = (
            ""
            if self.is_patient
            else (
                f"; a task is a line `- [ ] Title`, and `- {PHASE}: yes` makes a phase all the same"
            )
        )
        for node in settle_headings(self._root):
            self._note(f"no task is below {node.title[:80]!r}, so it is text and no phase{hint}", node.line)  # fmt: skip
        self._remark_empty(self._root)

    def _remark_empty(self, root: Node) -> None:
        """Tell of a plan, or of a phase, in which nothing can be taken up."""
        hint = (
            ""
            if self.is_patient
            else "; a task is a line `- [ ] Title`, and any other list is text"
        )
        for node in root.walk():
            if node.kind not in WORKABLE and not node.children:
                self._note(f"the {node.kind} {node.title[:80]!r} has no task{hint}", node.line)


def lines_in_words(numbers: Iterable[int]) -> str:
    """Return numbers of lines as `line 3` or `lines 3, 5–9`, with the count of those that are too many to be told."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [str(begin) if begin == end else f"{begin}–{end}" for begin, end in ranges]
    more = len(words) - _RANGES_TOLD
    text = ", ".join(words[:_RANGES_TOLD]) + (f" and {more} more" if more > 0 else "")
    is_one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"{'line' if is_one else 'lines'} {text}"
