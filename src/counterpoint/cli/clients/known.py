"""The MCP clients we write a configuration for, as a table.

    client   file                    format  where the entry stands      also
    claude   .mcp.json               JSON    mcpServers.counterpoint     type
    codex    .codex/config.toml      TOML    mcp_servers.counterpoint    required, env_vars
    cursor   .cursor/mcp.json        JSON    mcpServers.counterpoint     type, env
    vscode   .vscode/mcp.json        JSON    servers.counterpoint        type, env
    gemini   .gemini/settings.json   JSON    mcpServers.counterpoint     env

Codex starts a turn without a server that is not there after about a second; with `required` it
waits. Of its variables it hands on those alone that `env_vars` names. Gemini CLI keeps back what is named like a secret, and Cursor
and VS Code may: `env` of their entries hands the credential on. An unset one may arrive as the reference, which counts as none
(kernel/client_session.py). Codex reads a project's file only in a project that its user has said to trust, and so does Gemini CLI.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, cast

from counterpoint.cli.clients.jsonc import load_jsonc, member, set_member
from counterpoint.cli.clients.toml import load_toml, set_table
from counterpoint.cli.supervise.agent import LEADING
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.client_session import CREDENTIAL
from counterpoint.kernel.places import FOLDERS

SERVER: Final = "counterpoint"
DIALECT: Final = "--dialect"
_DIALECT_BEFORE: Final = "--surface"
"""What entries were written with before, and may still have."""
_VARIABLES: Final = ("env", "env_vars")
"""The keys of an entry that say which variables a client hands on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One program that speaks MCP, and where it looks for its servers.

    table: the key under which the servers stand. more: what an entry has besides the command.
    marks: files and folders of a project that show that it is used there. home: the same, of a user.
    programs: names on the PATH.
    """

    name: str
    title: str
    file: str
    format: Literal["json", "toml"]
    table: str
    more: Mapping[str, Json] = field(default_factory=dict[str, Json])
    marks: tuple[str, ...]
    home: str
    programs: tuple[str, ...]
    note: str = ""

    @property
    def path(self) -> tuple[str, str]:
        """Where the entry stands in the file."""
        return self.table, SERVER

    def is_used(self, tree: Path, environ: Mapping[str, str]) -> bool:
        """Return whether there is a trace of it in the project, the home or on the PATH."""
        home = environ.get("HOME")
        return (
            any((tree / mark).exists() for mark in (self.file, *self.marks))
            or (home is not None and (Path(home) / self.home).is_dir())
            or self.is_on_path(environ)
        )

    def is_on_path(self, environ: Mapping[str, str]) -> bool:
        """Return whether a program of it can be started here."""
        path = environ.get("PATH", "")
        return any(shutil.which(name, path=path) for name in self.programs)

    def entry(self, text: str) -> dict[str, Any] | None:
        """Return our entry in the text of its file, or None; MalformedDocument."""
        if not text.strip():
            return None
        whole = load_toml(text) if self.format == "toml" else load_jsonc(text)
        entry = member(whole, self.path)
        return cast("dict[str, Any]", entry) if isinstance(entry, dict) else None

    def wanted(self, surface: str = "") -> dict[str, Json]:
        """Return our entry as it should be: the same for everybody who has the file, so without a place on a machine."""
        speaks = [DIALECT, surface] if surface else []
        return {
            **({"type": self.more["type"]} if "type" in self.more else {}),
            "command": SERVER,
            "args": ["mcp", *speaks, "--agent", self.name],
            **{key: value for key, value in self.more.items() if key != "type"},
        }

    def speaking(self, entry: Mapping[str, Any], surface: str) -> dict[str, Json]:
        """Return an entry that is there with another dialect, empty for the default; its other arguments stay."""
        args_there = entry.get("args")
        args = (
            [str(arg) for arg in cast("list[Any]", args_there)]
            if isinstance(args_there, list)
            else ["mcp"]
        )
        for option in (DIALECT, _DIALECT_BEFORE):
            if option in args:
                index = args.index(option)
                del args[index : index + 2]
        if surface:
            index = args.index("mcp") + 1 if "mcp" in args else len(args)
            args[index:index] = [DIALECT, surface]
        return {**entry, "args": [*args]}

    def missing_variables(self, entry: Mapping[str, Any]) -> dict[str, Json]:
        """Return the keys of an entry that lack a variable to hand on, with what they hold and that; empty if none lacks."""
        missing: dict[str, Json] = {}
        for key in _VARIABLES:
            needed, current = self.more.get(key), entry.get(key)
            if isinstance(needed, Mapping) and isinstance(current, dict | None):
                both = {**cast("dict[str, Json]", needed), **cast("dict[str, Json]", current or {})}
                missing |= {key: both} if both != current else {}
            elif isinstance(needed, list) and isinstance(current, list | None):
                listed = cast("list[Any]", current or [])
                names = variable_names(listed)
                added = [name for name in cast("list[Json]", needed) if name not in names]
                missing |= {key: [*listed, *added]} if added else {}
        return missing

    def edited(self, text: str, entry: Mapping[str, Json]) -> str:
        """Return the text of its file with our entry in it; MalformedDocument if not safe."""
        if self.format == "toml":
            current = self.entry(text) or {}
            changed = {key: value for key, value in entry.items() if current.get(key) != value}
            return set_table(text, self.path, changed)
        return set_member(text, self.path, dict(entry))


CLIENTS: Final = (
    Client(
        name="claude",
        title="Claude Code",
        file=".mcp.json",
        format="json",
        table="mcpServers",
        more={"type": "stdio"},
        marks=(".claude", "CLAUDE.md"),
        home=".claude",
        programs=("claude",),
    ),
    Client(
        name="codex",
        title="Codex CLI",
        file=".codex/config.toml",
        format="toml",
        table="mcp_servers",
        more={"required": True, "env_vars": [*LEADING, *FOLDERS, CREDENTIAL]},
        marks=(".codex",),
        home=".codex",
        programs=("codex",),
        note="Codex reads this file once you have trusted the project in it.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        file=".cursor/mcp.json",
        format="json",
        table="mcpServers",
        more={"type": "stdio", "env": {CREDENTIAL: f"${{env:{CREDENTIAL}}}"}},
        marks=(".cursor",),
        home=".cursor",
        programs=("cursor", "cursor-agent"),
    ),
    Client(
        name="vscode",
        title="VS Code",
        file=".vscode/mcp.json",
        format="json",
        table="servers",
        more={"type": "stdio", "env": {CREDENTIAL: f"${{env:{CREDENTIAL}}}"}},
        marks=(".vscode",),
        home=".vscode",
        programs=("code",),
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        file=".gemini/settings.json",
        format="json",
        table="mcpServers",
        more={"env": {CREDENTIAL: f"${CREDENTIAL}"}},
        marks=(".gemini", "GEMINI.md"),
        home=".gemini",
        programs=("gemini",),
        note="Gemini CLI reads this file once you have trusted the folder in it.",
    ),
)


def variable_names(env_vars: list[Any]) -> set[str]:
    """Return the variables that a list of Codex names, each by its name or in a table with `name`."""
    return {
        str(cast("dict[str, Any]", item).get("name") if isinstance(item, dict) else item)
        for item in env_vars
    }


def dialect_of_entry(entry: Mapping[str, Any] | None) -> str:
    """Return the dialect that an entry asks for, empty for the default."""
    args = (entry or {}).get("args")
    words = cast("list[Any]", args) if isinstance(args, list) else []
    dialects = [
        str(after) for before, after in pairwise(words) if before in (DIALECT, _DIALECT_BEFORE)
    ]
    return dialects[-1] if dialects and dialects[-1] != "native" else ""


def runs(entry: Mapping[str, Any] | None, environ: Mapping[str, str]) -> bool:
    """Return whether an entry names a program that is there."""
    program = entry.get("command") if entry else None
    return isinstance(program, str) and bool(shutil.which(program, path=environ.get("PATH", "")))
