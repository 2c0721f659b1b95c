"""Whose a change is in a working tree that several agents share.

1. A changed path lies apart if it lies in an area that another session held from this tree while the work went on, and in no
   area of the own item. Rules 2 and 3 take exceptions from this.
2. It stays the agent's own if a reported call of one of its tools that may write names it.
3. It stays the agent's own if one of its commits changed it. A commit is its own if git said so to its tools
   (`[main 1a2b3c4] words`), if its author has the agent's name and no other holder has that, or if its message names the item.
4. A commit lies apart if it is not the agent's own, and has files in areas of others and no other files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from counterpoint.core.model.evidence import Apart, CommitFiles, Comparison
from counterpoint.core.model.runs import INPUT, TOOL
from counterpoint.core.rules.areas import outside
from counterpoint.core.rules.wording import few
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

PATHS_KEPT: Final = 500
"""How many paths of one agent evidence keeps by name."""
_READING_TOOLS: Final = frozenset(
    {"Read", "Grep", "Glob", "LS", "NotebookRead", "read_file", "read_many_files", "list_directory"}
    | {"glob", "grep_search", "search_file_content", "view_image", "WebFetch", "WebSearch"}
)
"""Tools of clients that change no file, whatever they name."""
_READING_PROGRAMS: Final = frozenset(
    {
        "cat",
        "head",
        "tail",
        "less",
        "more",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ls",
        "wc",
        "diff",
    }
    | {"file", "stat", "find", "nl", "od", "tree", "cmp", "sha256sum", "md5sum", "test", "cd"}
)
_READING_GIT: Final = frozenset({"diff", "show", "log", "status", "blame", "grep", "ls-files"})
_SPLIT: Final = expression(r"&&|\|\||[;|\n]")
_COMMITTED: Final = expression(r"\[[^\[\]]{1,200} ([0-9a-f]{7,64})\]")
"""What `git commit` says of a commit."""
_IN_NAMES: Final = frozenset("_-.")
_ON_NAMES: Final = frozenset("_-/")


@frozen
class Hold:
    """Areas that another agent held while work went on in the same tree."""

    agent: str
    areas: tuple[str, ...]


@frozen
class ReportedCall:
    """A call of a tool that may write, as a hook reported it; what it was given and what it answered."""

    given: str
    answered: str


def foreign_paths(
    paths: Sequence[str], areas: Sequence[str], holds: Sequence[Hold]
) -> dict[str, str]:
    """Return the paths that lie in areas of others and not in the own ones, with the agent of each."""
    agents: dict[str, str] = {}
    for path in outside(areas, paths):
        holder = next((hold for hold in holds if not outside(hold.areas, [path])), None)
        if holder is not None:
            agents[path] = holder.agent
    return agents


def parse_calls(payloads: Iterable[str]) -> list[ReportedCall]:
    """Return the calls of tools that may write among payloads of reported ones; what is no JSON object is passed over."""
    calls: list[ReportedCall] = []
    for payload in payloads:
        try:
            loaded = canonical.load(payload)
        except InvalidInput:
            continue
        if not isinstance(loaded, dict):
            continue
        parts = cast("dict[str, Json]", loaded)
        if parts.get(TOOL) in _READING_TOOLS:
            continue
        answer = {name: part for name, part in parts.items() if name not in {TOOL, INPUT}}
        calls.append(
            ReportedCall(given=_written(parts.get(INPUT)), answered=canonical.dump_any(answer))
        )
    return calls


def is_named(calls: Iterable[ReportedCall], path: str) -> bool:
    """Return whether a call names a path in what it was given."""
    return any(_names(call.given, path) for call in calls)


def own_commits(
    commits: Iterable[CommitFiles], calls: Iterable[ReportedCall], item: str, agent: str
) -> list[CommitFiles]:
    """Return the commits that are an agent's own. agent: its name; empty if another holder has it too."""
    printed = tuple({id_ for call in calls for id_ in _COMMITTED.findall(call.answered)})
    return [
        commit
        for commit in commits
        if commit.id.startswith(printed)
        or (agent and commit.author.casefold() == agent.casefold())
        or _names(commit.message, item)
    ]


def set_apart(
    comparison: Comparison, agents: Mapping[str, str], commits: Mapping[str, str]
) -> tuple[Comparison, tuple[Apart, ...]]:
    """Return a comparison without the paths and commits of others, and these by agent.

    agents, commits: the agent of each such path, and of each such commit by its id.
    """
    own = replace(
        comparison,
        changes=tuple(change for change in comparison.changes if change.path not in agents),
        commits=tuple(commit for commit in comparison.commits if commit not in commits),
    )
    apart = tuple(
        Apart(
            by=agent,
            reason="held_meanwhile",
            paths=tuple(path for path in sorted(agents) if agents[path] == agent),
            commits=tuple(id_ for id_ in comparison.commits if commits.get(id_) == agent),
        )
        for agent in sorted({*agents.values(), *commits.values()})
    )
    return own, apart


def foreign_commits(
    commits: Iterable[CommitFiles],
    own: Collection[CommitFiles],
    areas: Sequence[str],
    holds: Sequence[Hold],
) -> dict[str, str]:
    """Return the commits that lie apart by their ids, each with the agent of its first file."""
    agents_by_commit: dict[str, str] = {}
    for commit in commits:
        if commit in own or not commit.paths:
            continue
        agents = foreign_paths(commit.paths, areas, holds)
        if len(agents) == len(commit.paths):
            agents_by_commit[commit.id] = agents[commit.paths[0]]
    return agents_by_commit


def apart_json(apart: Iterable[Apart]) -> list[dict[str, Any]]:
    """Return what lies apart as evidence keeps it; of many files only the first by name, all by number."""
    return [
        {
            "by": part.by,
            "reason": part.reason,
            "count": len(part.paths),
            "paths": list(part.paths[:PATHS_KEPT]),
            **({"commits": list(part.commits)} if part.commits else {}),
        }
        for part in apart
    ]


def apart_remarks(apart: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return in words what lies apart (`apart_json`), and how evidence is kept apart."""
    remarks: list[str] = []
    is_shared = False
    for part in apart:
        is_left = part["reason"] == "left_before"
        count, commits = part["count"], len(part.get("commits", ()))
        amounts = [_counted(count, "file")] * bool(count)
        amounts += [_counted(commits, "commit")] * bool(commits)
        where = f"left from {part['by']}" if is_left else f"in {part['by']}'s areas"
        when = "before the take-over" if is_left else "held meanwhile"
        names = f": {few(part['paths'])}" if count else ""
        remarks.append(f"{' and '.join(amounts)} {where}, {when}{names}")
        is_shared |= not is_left
    if is_shared:
        remarks.append("a worktree for each agent keeps their evidence apart")
    return remarks


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _written(arguments: Json) -> str:
    """Return what a tool was given as text, of a line of shell only the commands that may write."""
    parts = cast("dict[str, Json]", arguments) if isinstance(arguments, dict) else {}
    if isinstance(command := parts.get("command"), str):
        commands = _SPLIT.split(command)
        return "\n".join(line for line in commands if ">" in line or not _is_reading(line.split()))
    return canonical.dump_any(arguments)


def _is_reading(words: Sequence[str]) -> bool:
    if words[:1] == ["git"]:
        return words[1:2] == [] or words[1] in _READING_GIT
    return not words or words[0].rpartition("/")[2] in _READING_PROGRAMS


def _names(text: str, name: str) -> bool:
    """Return whether a text holds a name that is no part of a longer one; of a path a folder may stand before it."""
    at = text.find(name) if name else -1
    while at >= 0:
        before, after = text[:at][-1:], text[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before in _IN_NAMES or after.isalnum() or after in _ON_NAMES):
            return True
        at = text.find(name, at + 1)
    return False
