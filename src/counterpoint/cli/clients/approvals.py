"""The tools that run checks, and where clients let them be called unasked.

    client   file                    approval                                                   written by
    claude   .claude/settings.json   permissions.allow: "mcp__counterpoint__verify"              init --hooks
    codex    .codex/config.toml      [mcp_servers.counterpoint.tools.verify] approval_mode       init

The server runs only the commands that a person has allowed, so an agent need not ask again. With `free = true` in
counterpoint.toml it runs any: then no approval stands, and `counterpoint trust` takes those out that do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.cli.clients.files import Change, change
from counterpoint.cli.clients.hooks import allow_tools, allowed_tools, forbid_tools
from counterpoint.cli.clients.known import CLIENTS, Client, dialect_of_entry
from counterpoint.cli.clients.toml import remove_table, set_table
from counterpoint.kernel.canonical import Json

CHECKING: Final[Mapping[str, tuple[str, ...]]] = {
    "native": ("verify",),
    "symphony": ("create_pr",),
    "foundry": ("verification", "review"),
}
"""By dialect: its tools that run checks, and are said to reach outside."""
CLAUDE_SETTINGS: Final = ".claude/settings.json"
CODEX_SETTINGS: Final = ".codex/config.toml"
_MODE: Final[Mapping[str, Json]] = {"approval_mode": "approve"}
(_CODEX,) = (client for client in CLIENTS if client.name == "codex")


def checking_tools(dialect: str, *, is_free: bool) -> tuple[str, ...]:
    """Return the tools of a dialect (empty: native) that may be called unasked though they run commands."""
    return () if is_free else CHECKING.get(dialect or "native", ())


def approve_in_codex(text: str, tools: Iterable[str]) -> str:
    """Return the text of Codex's file that approves these of our tools and no others; MalformedDocument."""
    approved = tuple(tools)
    current = approved_in_codex(text)
    for name in current:
        if name not in approved:
            text = remove_table(text, _table(name))
    for name in approved:
        # What its owner has set for a tool stays.
        if name not in _tools(text):
            text = set_table(text, _table(name), _MODE)
    return text


def approved_in_codex(text: str) -> list[str]:
    """Return the tools that Codex's file approves as `init` writes it; MalformedDocument."""
    ours = {name for names in CHECKING.values() for name in names}
    return [name for name, setting in _tools(text).items() if setting == _MODE and name in ours]


def approved_checks(tree: Path, client: str) -> str:
    """Return the file of a client in a project that lets it run checks unasked; empty if none does. MalformedDocument, OSError."""
    file = {"claude": CLAUDE_SETTINGS, "codex": CODEX_SETTINGS}.get(client, "")
    if not file or not (tree / file).is_file():
        return ""
    text = (tree / file).read_text(encoding="utf-8")
    if client == "codex":
        return file if approved_in_codex(text) else ""
    checking = checking_tools(_dialect(tree, CLIENTS[0]), is_free=False)
    return file if set(checking) & set(allowed_tools(text)) else ""


def settings_changes(tree: Path, *, is_free: bool) -> list[Change]:
    """Return the changes after which the files of a project approve the tools that run checks, or none if any command may run.

    A file that has nothing of ours stays as it is.
    """
    edits: Mapping[str, Callable[[str], str]] = {
        CLAUDE_SETTINGS: partial(_edit_claude, tree, is_free=is_free),
        CODEX_SETTINGS: partial(_edit_codex, is_free=is_free),
    }
    return [
        change(tree, file, edit, by_hand="no approval of checks" if is_free else "that of checks")
        for file, edit in edits.items()
        if (tree / file).is_file()
    ]


def _edit_claude(tree: Path, text: str, *, is_free: bool) -> str:
    # Without any tool of ours nobody has asked for permissions here.
    if not text.strip() or not allowed_tools(text):
        return text
    checking = checking_tools(_dialect(tree, CLIENTS[0]), is_free=False)
    return forbid_tools(text, checking) if is_free else allow_tools(text, checking)


def _edit_codex(text: str, *, is_free: bool) -> str:
    entry = _CODEX.entry(text)
    if entry is None:
        return text
    return approve_in_codex(text, checking_tools(dialect_of_entry(entry), is_free=is_free))


def _dialect(tree: Path, client: Client) -> str:
    path = tree / client.file
    return (
        dialect_of_entry(client.entry(path.read_text(encoding="utf-8"))) if path.is_file() else ""
    )


def _table(tool: str) -> tuple[str, ...]:
    return (*_CODEX.path, "tools", tool)


def _tools(text: str) -> dict[str, Any]:
    entry = _CODEX.entry(text) or {}
    tools = entry.get("tools")
    return cast("dict[str, Any]", tools) if isinstance(tools, dict) else {}
