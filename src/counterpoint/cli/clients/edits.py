"""The edits in a project's files that configure clients, and their removal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from counterpoint.cli.clients.approvals import CLAUDE_SETTINGS, approve_in_codex, checking_tools
from counterpoint.cli.clients.files import Change, change, drop_section, set_section
from counterpoint.cli.clients.hooks import HOOKS, Hooks, deny_edits, prune
from counterpoint.cli.clients.jsonc import load_jsonc, member, remove_member
from counterpoint.cli.clients.known import CLIENTS, Client, dialect_of_entry, runs
from counterpoint.cli.clients.toml import remove_table
from counterpoint.dialects.call import Call
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.protocol.surface import Surface

GUIDES: Final = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
_INCLUDED: Final = f"@{GUIDES[0]}"
_EMPTY: Final = ("", "{}")
_HEADING: Final = """\
## Working with Counterpoint

This project's plans, decisions and evidence are kept by the MCP server `counterpoint`.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """One thing that a file is to say, or to say no more; by_hand: what somebody does to it where we cannot."""

    file: str
    edit: Callable[[str], str]
    by_hand: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What is to be set up in a tree.

    name: the dialect that new entries speak, empty for the default. is_asked: it was asked for, so that entries which
    are there change to it. hooks: clients are to run `counterpoint prime`. reports: and to report each call of a tool.
    is_free: whether any command may be run, so that no tool that runs one is approved.
    """

    tree: Path
    environ: Mapping[str, str]
    clients: tuple[Client, ...]
    surface: Surface[Call]
    name: str = ""
    is_asked: bool = False
    hooks: bool = False
    reports: bool = False
    is_free: bool = False

    def changes(self) -> list[Change]:
        """Return the change of each file, whether it changes anything or not."""
        edits = [self._server(client) for client in self.clients]
        chosen = {client.name for client in self.clients}
        edits += [
            self._hooks(hooks)
            for hooks in HOOKS
            if hooks.client in chosen and (self.hooks or (self.is_asked and hooks.is_in(self.tree)))
        ]
        if "claude" in chosen:
            by_hand = deny_edits("")
            edits.append(_Edit(file=CLAUDE_SETTINGS, edit=deny_edits, by_hand=by_hand))
        edits += [
            _Edit(file=name, edit=_section(text), by_hand=set_section("", text))
            for name, text in self._guides().items()
        ]
        return _merged(self.tree, edits)

    def _guides(self) -> dict[str, str]:
        """Return our section for each file that agents read; the one that Gemini CLI reads takes in that of all others."""
        text = guide(self.surface)
        texts = dict.fromkeys(_guide_files(self.tree), text)
        if any(client.name == "gemini" for client in self.clients):
            path = self.tree / GUIDES[2]
            if not path.is_file() and not _gemini_reads(self.tree):
                texts[GUIDES[2]] = _INCLUDED
        return texts

    def _server(self, client: Client) -> _Edit:
        entry_wanted = client.wanted(self.name)

        def edit(text: str) -> str:
            text = enter(text)
            return approve_in_codex(text, self._checking()) if client.name == "codex" else text

        def enter(text: str) -> str:
            entry = client.entry(text)
            if entry is None or not runs(entry, self.environ):
                return client.edited(text, {**(entry or {}), **entry_wanted})
            if self.is_asked and dialect_of_entry(entry) != self.name:
                entry = client.speaking(entry, self.name)
                text = client.edited(text, entry)
            missing = client.missing_variables(entry)
            return client.edited(text, {**entry, **missing}) if missing else text

        note = f"{client.title}: {client.note}" if client.note else ""
        return _Edit(file=client.file, edit=edit, by_hand=edit(""), note=note)

    def _checking(self) -> tuple[str, ...]:
        return checking_tools(self.name, is_free=self.is_free)

    def _hooks(self, hooks: Hooks) -> _Edit:
        tools = [tool.name for tool in self.surface.tools if not tool.open_world]
        tools += self._checking()

        def edit(text: str) -> str:
            reports = self.reports or hooks.reports(text)
            if self.is_asked and not hooks.speaks(text, self.name):
                text = hooks.removed(text)
            return hooks.added(text, tools, self.name, reports=reports)

        return _Edit(
            file=hooks.file,
            edit=edit,
            by_hand=hooks.added("", tools, self.name, reports=self.reports),
            note=hooks.note,
        )


def find_configured_dialect(tree: Path) -> str:
    """Return the dialect that all entries of ours in a project ask for; empty for the default, and if they differ."""
    dialects: set[str] = set()
    for client in CLIENTS:
        # What cannot be read is told where it is to be edited.
        with suppress(MalformedDocument, OSError, UnicodeDecodeError):
            entry = client.entry((tree / client.file).read_text(encoding="utf-8"))
            dialects |= {dialect_of_entry(entry)} if entry else set()
    return dialects.pop() if len(dialects) == 1 else ""


def removals(tree: Path) -> list[Change]:
    """Return the change of each file that says something for us: what is ours is taken out."""
    edits = [
        _Edit(file=client.file, edit=_without(client), by_hand=f"the entry {'.'.join(client.path)}")
        for client in CLIENTS
    ]
    edits += [
        _Edit(file=hooks.file, edit=hooks.removed, by_hand=f"what runs `{hooks.command()}`")
        for hooks in HOOKS
    ]
    edits += [
        _Edit(file=name, edit=drop_section, by_hand="the section between our marks")
        for name in GUIDES
    ]
    return _merged(tree, [each for each in edits if (tree / each.file).exists()])


def guide(surface: Surface[Call]) -> str:
    """Return what agents are told in a file of theirs, in the words of a dialect."""
    return _HEADING + (surface.guide or f"{surface.instructions}\n")


def _merged(tree: Path, edits: Iterable[_Edit]) -> list[Change]:
    """Return one change for each file: a client may have its servers and its hooks in the same."""
    by_file: dict[str, list[_Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.file, []).append(edit)
    return [_one_change(tree, file, of_file) for file, of_file in by_file.items()]


def _one_change(tree: Path, file: str, edits: list[_Edit]) -> Change:
    def edit(text: str) -> str:
        for part in edits:
            text = part.edit(text)
        return text

    by_hand = "\n".join(part.by_hand for part in edits)
    note = "\n".join(part.note for part in edits if part.note)
    return change(tree, file, edit, by_hand=by_hand, note=note)


def is_left_empty(change: Change) -> bool:
    """Return whether nothing is left in a file but what an editor writes into a new one."""
    return change.after != change.before and change.after.strip() in _EMPTY


def _section(text: str) -> Callable[[str], str]:
    return lambda before: set_section(before, text)


def _without(client: Client) -> Callable[[str], str]:
    def edit(text: str) -> str:
        if client.format == "toml":
            return remove_table(approve_in_codex(text, ()), client.path)
        if client.entry(text) is None:
            return text
        return prune(remove_member(text, client.path), (client.table,))

    return edit


def _guide_files(tree: Path) -> list[str]:
    """Return the files agents read that are to have our section: the first always, others if they do not lead to it."""
    names = [GUIDES[0], *(name for name in GUIDES[1:] if (tree / name).is_file())]
    targets = {(tree / name).resolve(): name for name in reversed(names)}
    return [name for name in names if name in targets.values() and not _includes(tree / name)]


def _includes(path: Path) -> bool:
    """Return whether a file takes in AGENTS.md, so that one section serves both."""
    if path.name == GUIDES[0]:
        return False
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return _INCLUDED in (line.strip() for line in lines)


def _gemini_reads(tree: Path) -> bool:
    """Return whether the project's settings of Gemini CLI have it read AGENTS.md instead of a file of its own."""
    with suppress(MalformedDocument, OSError, UnicodeDecodeError):
        text = (tree / ".gemini" / "settings.json").read_text(encoding="utf-8")
        file_names = member(load_jsonc(text), ("context", "fileName")) if text.strip() else None
        return file_names == GUIDES[0] or (isinstance(file_names, list) and GUIDES[0] in file_names)
    return False


def by_file(changes: Iterable[Change], tree: Path) -> dict[str, Json]:
    """Return what is left to be done by hand, by the file it is to be done in."""
    return {
        str(change.path.relative_to(tree)): change.by_hand for change in changes if change.fault
    }
