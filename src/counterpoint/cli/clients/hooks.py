"""The hooks that clients run, and the calls they allow, as a table.

    client   file                     tells of                        calls            permissions
    claude   .claude/settings.json    SessionStart, PreCompact, Stop  PostToolUse,     each tool but those that reach outside (approvals.py)
                                                                      …Failure
    codex    .codex/hooks.json        SessionStart, Stop              PostToolUse      (according to its approval policy)
    cursor   .cursor/hooks.json       sessionStart                    –                (asks the person; set in the program)
    gemini   .gemini/settings.json    SessionStart                    AfterTool        (asks the person; `trust` would let commands be run too)

What is run is `counterpoint prime --hook NAME`, and after calls of tools, where that was asked for, `counterpoint event --hook NAME`.
Both end well whatever happens: a client takes some ends for an order to stop.
VS Code has AGENTS.md, which it reads at the beginning of a session. Codex runs a hook once its user has allowed it, word for word.

What lies in `.counterpoint/` only the server writes, but for `templates/`, `phases/` and `batches/`. Claude Code's file tools are denied the
rest (`permissions.deny`), by rules that match no name of these three: a denied folder cannot have exceptions. Its rules for `Edit` count for
all tools that change files. Codex has no such rules beside its ordinary sandbox: its profiles of permissions would replace that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.cli.clients.jsonc import load_jsonc, member, remove_member, set_member
from counterpoint.cli.clients.known import SERVER
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument

PROGRAM: Final = "counterpoint prime --hook"
REPORTER: Final = "counterpoint event --hook"
ALLOW: Final = ("permissions", "allow")
DENY: Final = ("permissions", "deny")
_TOOL: Final = f"mcp__{SERVER}__"
DENIED_EDITS: Final = tuple(
    f"Edit(//**/.counterpoint/{names})"
    # `batches`, `phases` and `templates` match none of these. Claude Code takes `!` in brackets for a letter, and is blind to case.
    for names in (
        "*.*",
        "[ac-oq-su-z0-9_]*",
        "b[b-z]*",
        "ba[a-su-z]*",
        "p[a-gi-z]*",
        "t[a-df-z]*",
    )
)
"""The rules by which Claude Code's file tools leave alone what only the server writes; `//` is the root of all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Where a client is told what to run.

    events: by the name of what it tells of. flat: a command stands in the list itself, and not in a list of its own below
    `hooks`. calls: events after a call of a tool. limit: what bounds it, in the unit of the client. asks: it has a list of tools that it need not ask for.
    """

    client: str
    file: str
    events: tuple[str, ...]
    limit: Mapping[str, Json]
    calls: tuple[str, ...] = ()
    flat: bool = False
    asks: bool = False
    more: Mapping[str, Json] = field(default_factory=dict[str, Json])
    note: str = ""

    def command(self, surface: str = "") -> str:
        """Return what is run, whose end never stops the client."""
        speaks = f" --dialect {surface}" if surface else ""
        return f"{PROGRAM} {self.client}{speaks} || true"

    def _commands_for(self, surface: str) -> tuple[str, str]:
        """Return what is run for a dialect, as it is written now and as it was before."""
        command = self.command(surface)
        return command, command.replace(" --dialect ", " --surface ")

    def entry(self, command: str = "") -> dict[str, Json]:
        """Return one entry of ours below an event. command: what is run; empty: what a session begins with."""
        command = command or self.command()
        if self.flat:
            return {"command": command, **self.limit}
        return {"hooks": [{"type": "command", "command": command, **self.limit}]}

    def added(
        self, text: str, tools: Iterable[str], surface: str = "", *, reports: bool = False
    ) -> str:
        """Return the text of its file with our entries; MalformedDocument if that is not safe.

        reports: each call of a tool is reported too, where the client tells of them.
        """
        for name, value in self.more.items():
            if member(_load(text), (name,)) is None:
                text = set_member(text, (name,), value)
        commands = dict.fromkeys(self.events, self.command(surface))
        if reports:
            commands |= dict.fromkeys(self.calls, f"{REPORTER} {self.client} || true")
        for event, command in commands.items():
            path = ("hooks", event)
            entries = _list(text, path)
            if not any(_is_ours(entry) for entry in entries):
                text = set_member(text, path, [*entries, self.entry(command)])
        return allow_tools(text, tools) if self.asks else text

    def is_in(self, tree: Path) -> bool:
        """Return whether its file in a project has entries of ours."""
        path = tree / self.file
        return path.is_file() and f"{PROGRAM} {self.client}" in path.read_text(errors="replace")

    def reports(self, text: str) -> bool:
        """Return whether calls of tools are reported; MalformedDocument."""
        return any(
            _is_ours(entry) for event in self.calls for entry in _list(text, ("hooks", event))
        )

    def speaks(self, text: str, surface: str) -> bool:
        """Return whether our entries that are there are all of a dialect; MalformedDocument."""
        entries = [
            entry
            for event in self.events
            for entry in _list(text, ("hooks", event))
            if _is_ours(entry)
        ]
        commands = self._commands_for(surface)
        return all(any(command in _commands(entry) for command in commands) for entry in entries)

    def removed(self, text: str) -> str:
        """Return the text of its file without our entries; MalformedDocument if that is not safe."""
        for event in (*self.events, *self.calls):
            entries = _list(text, ("hooks", event))
            text = _set_or_drop(
                text, ("hooks", event), entries, [entry for entry in entries if not _is_ours(entry)]
            )
        if self.asks:
            text = allow_edits(text)
            entries = _list(text, ALLOW)
            text = _set_or_drop(
                text, ALLOW, entries, [entry for entry in entries if not _is_our_tool(entry)]
            )
        if _load(text) == dict(self.more):
            for name in self.more:
                text = remove_member(text, (name,))
        return text


HOOKS: Final = (
    Hooks(
        client="claude",
        file=".claude/settings.json",
        events=("SessionStart", "PreCompact", "Stop"),
        calls=("PostToolUse", "PostToolUseFailure"),
        limit={"timeout": 10},
        asks=True,
    ),
    Hooks(
        client="codex",
        file=".codex/hooks.json",
        events=("SessionStart", "Stop"),
        calls=("PostToolUse",),
        limit={"timeout": 10},
        note="Codex CLI: Codex runs these hooks once you have looked at them and allowed them with `/hooks` in it.",
    ),
    Hooks(
        client="cursor",
        file=".cursor/hooks.json",
        events=("sessionStart",),
        limit={"timeout": 10},
        flat=True,
        more={"version": 1},
    ),
    Hooks(
        client="gemini",
        file=".gemini/settings.json",
        events=("SessionStart",),
        calls=("AfterTool",),
        limit={"timeout": 10_000},
    ),
)


def allow_tools(text: str, tools: Iterable[str]) -> str:
    """Return the text of Claude Code's settings that lets these of our tools be called unasked; MalformedDocument."""
    current = _list(text, ALLOW)
    added = [name for tool in tools if (name := f"{_TOOL}{tool}") not in current]
    return set_member(text, ALLOW, [*current, *added]) if added else text


def forbid_tools(text: str, tools: Iterable[str]) -> str:
    """Return the text of Claude Code's settings in which these of our tools are asked for again; MalformedDocument."""
    current, names = _list(text, ALLOW), {f"{_TOOL}{tool}" for tool in tools}
    return _set_or_drop(text, ALLOW, current, [name for name in current if name not in names])


def deny_edits(text: str) -> str:
    """Return the text of Claude Code's settings that denies its file tools what only the server writes; MalformedDocument."""
    current = _list(text, DENY)
    missing = [rule for rule in DENIED_EDITS if rule not in current]
    return set_member(text, DENY, [*current, *missing]) if missing else text


def allow_edits(text: str) -> str:
    """Return the text of Claude Code's settings without our denials; MalformedDocument."""
    current = _list(text, DENY)
    return _set_or_drop(text, DENY, current, [rule for rule in current if rule not in DENIED_EDITS])


def allowed_tools(text: str) -> list[str]:
    """Return which of our tools Claude Code's settings let be called unasked; MalformedDocument."""
    return [str(name).removeprefix(_TOOL) for name in _list(text, ALLOW) if _is_our_tool(name)]


def prune(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the objects on a path that hold nothing, from the last to the first."""
    for depth in range(len(path), 0, -1):
        if member(_load(text), path[:depth]) not in ({}, []):
            break
        text = remove_member(text, path[:depth])
    return text


def _set_or_drop(text: str, path: tuple[str, ...], before: list[Json], after: list[Json]) -> str:
    if after == before:
        return text
    if after:
        return set_member(text, path, after)
    return prune(remove_member(text, path), path[:-1])


def _load(text: str) -> Json:
    return load_jsonc(text) if text.strip() else {}


def _list(text: str, path: tuple[str, ...]) -> list[Json]:
    entries = member(_load(text), path)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise MalformedDocument(f"{'.'.join(path)} is not a list")
    return cast("list[Json]", entries)


def _is_ours(entry: Any) -> bool:
    """Return whether an entry runs our program, in whatever version of it."""
    return any(command.startswith((PROGRAM, REPORTER)) for command in _commands(entry))


def _commands(entry: Any) -> list[str]:
    """Return what an entry runs, of itself or below `hooks`."""
    if not isinstance(entry, dict):
        return []
    fields = cast("dict[str, Any]", entry)
    below = fields.get("hooks")
    inner = cast("list[Any]", below) if isinstance(below, list) else []
    return [
        str(fields.get("command", "")),
        *(command for part in inner for command in _commands(part)),
    ]


def _is_our_tool(entry: Json) -> bool:
    return isinstance(entry, str) and entry.startswith(_TOOL)
