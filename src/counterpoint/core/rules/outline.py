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
(2) no heading skips a level, (3) every attribute has a readable value,
(4) every task has a title, without control characters, and no name is given twice, (5) every line that looks like a task is one: a
list item with `[ ]` or `[x]`, (6) every fence and comment ends. What cannot be read is named by its line.

Blocks are CommonMark's (planning/markdown.py): what stands in a fence is text, a comment `<!-- … -->` is seen by nobody, and a
task in indented code, in HTML or in a fence that never ends is at fault. A value may go on in the next line, and bullets
below an attribute without a value give it. Words of other plans that mean an attribute and nothing else (`depends on`, `check`,
`acceptance criteria`, `requires approval`) are read as it; others that are near to one are at fault; any other bullet `- word: …`
is text, and told of as a remark. So is how many tasks are done already, and a plan or heading without a task.

A line of text that would be read as one of the above begins with a backslash, which is taken away; so does `{#name}` at the end
of a title that has it as words, and `<!--`. A title that is too long is cut, and stands whole in the description.

Reading takes a time that grows with the text and no faster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import DEFAULT_PRIORITY, Kind
from counterpoint.core.rules.planning.attributes import ATTRIBUTES, PHASE, command_line, is_bare
from counterpoint.core.rules.planning.markdown import escape_comments
from counterpoint.core.rules.planning.reading import PlanReader, Read, name_at, plain
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.matching.expressions import expression

__all__ = ["ATTRIBUTES", "TEXT_LIMIT", "Read", "dump", "load", "malformed_plan", "plain", "read"]

_CLOSING = expression(r"(?:^|\s)#+$")
_PLAIN_LINE = expression(r"\w|$")
_FAULTS_TOLD = 100
_GIVEN_UP = frozenset({"cancelled", "failed"})
TEXT_LIMIT = 5_000_000
"""How many characters a document may have."""


def malformed_plan(faults: Iterable[tuple[int, str]]) -> MalformedDocument:
    """Return the refusal of a plan with what is wrong with its lines."""
    # The lines and the draft that they make are looked at for themselves, so that one fault may come twice.
    unique = sorted(set(faults))
    problems = "; ".join(f"line {number}: {problem}" for number, problem in unique[:20])
    return MalformedDocument(
        f"the plan cannot be read: {problems}",
        faults=[{"line": number, "problem": problem} for number, problem in unique[:_FAULTS_TOLD]],
    )


def load(text: str, kind: Kind = "plan") -> Draft:
    """Return the draft of a Markdown plan; MalformedDocument names the lines at fault."""
    plan = read(text, kind)
    if plan.draft is None or plan.faults:
        raise malformed_plan(plan.faults)
    return plan.draft


def read(text: str, kind: Kind = "plan", *, title: str = "", words: Collection[str] = ()) -> Read:
    """Return the draft of a Markdown plan as far as it can be read, with what is wrong with its lines.

    title: of a document of somebody else that has none, or several; with one it is read with patience (planning/reading.py).
    words: characters between brackets that are no mark of a box there.
    """
    if len(text) > TEXT_LIMIT:
        return Read(None, [(1, f"it has more than {TEXT_LIMIT} characters")], {})
    return PlanReader(kind, title, words).read(text)


def dump(draft: Draft) -> str:
    """Return the Markdown of a draft; `load` reads it back to the same draft."""
    lines: list[str] = []
    _dump(draft, 1, lines)
    return "\n".join(lines).strip() + "\n"


def _dump(draft: Draft, level: int, lines: list[str]) -> None:
    at = name_at(draft.title)
    title = draft.title if at < 0 else f"{draft.title[:at]}\\{draft.title[at:]}"
    title = escape_comments(title)
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
    lines += _body(draft.body, indent)
    if draft.kind != "task" or level == 1:
        lines.append("")
    below = 2 if draft.kind != "task" or level == 1 else level + 1
    # What stands behind a phase's heading would belong to that phase: tasks come first.
    for child in sorted(draft.children, key=lambda child: child.kind != "task"):
        _dump(child, level + 1 if child.kind != "task" else below, lines)


def _body(text: str, indent: str) -> list[str]:
    """Return a description as it stands below a title, apart from what would change how its lines are read."""
    words = plain(text).split("\n") if text else []
    lines = [f"{indent}{line}".rstrip() for line in words]
    # A list, a fence or HTML could go on with what stands before it, or take in what comes after it.
    is_apart = any(not _PLAIN_LINE.match(line) for line in words)
    return ["", *lines, ""] if is_apart else lines


def _attributes(draft: Draft) -> list[tuple[str, str]]:
    attributes: list[tuple[str, str]] = []
    if draft.needs is not None:
        attributes.append(("after", ", ".join(draft.needs) or "none"))
    if draft.areas:
        attributes.append(("areas", ", ".join(draft.areas)))
    attributes += [("accept", sentence) for sentence in draft.acceptance]
    attributes += [("verify", command_line(argv)) for argv in draft.checks]
    if draft.labels:
        attributes.append(("labels", ", ".join(draft.labels)))
    if draft.priority != DEFAULT_PRIORITY:
        attributes.append(("priority", str(draft.priority)))
    if draft.profile:
        attributes.append(("profile", draft.profile))
    if draft.approval:
        attributes.append(("approval", "yes"))
    if draft.review:
        attributes.append(("review", "yes"))
    if draft.artifact:
        attributes.append(("artifact", "yes"))
    if draft.kind == "phase" and is_bare(draft):
        attributes.append((PHASE, "yes"))
    return attributes
