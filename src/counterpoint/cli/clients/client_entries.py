"""Looks at the entry of one client as that client does.

Rule 1: the entry is started if it is `counterpoint mcp`, found outside of the tree, and nothing else that a project's file may name. It has
the folder and the variables that this client hands on and `COUNTERPOINT_PROBE`, by which
`counterpoint mcp` tells their names and ends. Each that leads an agent is set for it, so what is missing then never arrives. Those that say
where a person's folders lie are missing only where they are set: without them the usual folders count on both sides.
Rule 2: what clients hand on is a table, measured with the real ones: Codex a short list and what `env_vars` names, Gemini CLI all but what is
named like a secret, Claude Code all; Cursor and VS Code are taken to do as Gemini CLI does. `env` of an entry adds to each.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.cli.clients.approvals import approved_checks
from counterpoint.cli.clients.known import SERVER, Client, variable_names
from counterpoint.cli.clients.toml import load_toml
from counterpoint.cli.supervise.agent import LEADING
from counterpoint.evidence.environment import looks_secret
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.client_session import CREDENTIAL, PROBE
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.places import FOLDERS
from counterpoint.kernel.starting.programs import find_program
from counterpoint.settings import PREFIX

PATIENCE: Final = 10.0
"""Seconds that a client's command has to tell what arrived."""
_LEADING: Final = (*LEADING, CREDENTIAL)
_LISTED: Final = frozenset(
    ("HOME", "LOGNAME", "PATH", "SHELL", "USER", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ")
)
"""The variables that Codex hands on unasked."""
_EDITORS: Final = ("cursor", "vscode")
_REFERENCE: Final = re.compile(r"\$(\w+)|\$\{(\w+)(?::-([^}]*))?\}")
_EDITOR_REFERENCE: Final = re.compile(r"\$\{env:(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing that is not in order about an entry, and what to do about it."""

    message: str
    advice: str


def remark_on(
    client: Client, entry: Mapping[str, Any], tree: Path, home: Path, environ: Mapping[str, str]
) -> Remark:
    """Return what is not in order about the entry of a client; its file, without advice, if all is.

    home: the folder that has the project's counterpoint.toml.
    """
    remarks = list(_remarks_on(client, entry, tree, home, environ))
    return Remark(
        message="; ".join(remark.message for remark in remarks) or client.file,
        advice=" ".join(remark.advice for remark in remarks),
    )


def _remarks_on(
    client: Client, entry: Mapping[str, Any], tree: Path, home: Path, environ: Mapping[str, str]
) -> Iterator[Remark]:
    yield from _missing_variables(client, entry, tree, environ)
    # Of a client that is not on this machine nobody knows what it was told.
    look = _TRUST.get(client.name) if client.is_on_path(environ) else None
    if look is not None and (untrusted := look(tree, environ)):
        yield untrusted
    with suppress(MalformedDocument, OSError, UnicodeDecodeError):
        if read_checking(home).free and (file := approved_checks(tree, client.name)):
            yield Remark(
                message=f"{file} lets agents run checks unasked, and any command may be one",
                advice="`counterpoint trust` takes that out.",
            )


def environ_of_entry(
    client: Client, entry: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that the process of an entry gets from its client, which has these."""
    if client.name == "claude":
        passed = dict(environ)
    elif client.name == "codex":
        listed = variable_names(_list(entry.get("env_vars")))
        passed = {name: text for name, text in environ.items() if name in _LISTED | listed}
    else:
        passed = {name: text for name, text in environ.items() if not looks_secret(name)}
    fixed = entry.get("env")
    for name, text in cast("dict[str, Any]", fixed if isinstance(fixed, dict) else {}).items():
        # Others, as for the loader, could have a program of the tree started.
        if name.startswith(PREFIX):
            passed[name] = _resolved(client, str(text), environ)
    return passed


def _resolved(client: Client, text: str, environ: Mapping[str, str]) -> str:
    """Return the text of a variable of an entry with the references resolved that this client knows."""
    if client.name == "codex":
        return text
    if client.name in _EDITORS:
        return _EDITOR_REFERENCE.sub(lambda match: environ.get(match[1], ""), text)
    return _REFERENCE.sub(
        lambda match: environ.get(match[1] or match[2], match[0] if match[3] is None else match[3]),
        text,
    )


def _missing_variables(
    client: Client, entry: Mapping[str, Any], tree: Path, environ: Mapping[str, str]
) -> Iterator[Remark]:
    words = [str(word) for word in _list(entry.get("args"))]
    command_name = str(entry.get("command"))
    program = find_program(command_name, environ.get("PATH", ""), str(tree))
    if program is None or Path(command_name).name != SERVER or words[:1] != ["mcp"]:
        # What else a file of the project names is not started to look at it.
        return
    set_all = {**dict.fromkeys(_LEADING, "probe"), **environ}
    command = [program, *words]
    try:
        ran = subprocess.run(  # noqa: S603 - what the client itself would start
            command,
            cwd=tree,
            env={**environ_of_entry(client, entry, set_all), PROBE: "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
        arrived = set(json.loads(ran.stdout)["variables"])
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        yield Remark(
            message=f"the command in {client.file} does not tell which variables arrive: {' '.join(command)}",
            advice="See that it starts `counterpoint mcp` of this version, and hands its variables on.",
        )
        return
    needed = (*_LEADING, *(name for name in FOLDERS if environ.get(name)))
    missing = [name for name in needed if name not in arrived]
    if missing:
        verb = "does" if len(missing) == 1 else "do"
        yield Remark(
            message=f"{', '.join(missing)} {verb} not arrive through {client.file}",
            advice=f"`counterpoint init --client {client.name}` adds what hands them on.",
        )


def _claude_remark(tree: Path, environ: Mapping[str, str]) -> Remark | None:
    """Return what is to be said where nobody has let Claude Code work in a folder, in which it uses nothing of the project's then."""
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or environ.get("HOME", "/"))
    projects = _dict(_load_json(folder / ".claude.json").get("projects"))
    if any(
        _dict(projects.get(str(at))).get("hasTrustDialogAccepted") for at in (tree, *tree.parents)
    ):
        return None
    return Remark(
        message="Claude Code was never opened in this folder, so it ignores the permissions in .claude/settings.json",
        advice=(
            "Run `claude` here once and accept its question, or start it with `--allowedTools mcp__counterpoint`:"
            " unattended it refuses every tool else."
        ),
    )


def _codex_remark(tree: Path, environ: Mapping[str, str]) -> Remark | None:
    """Return what is to be said where Codex was not told to trust a folder, whose files it does not read then."""
    folder = Path(environ.get("CODEX_HOME") or Path(environ.get("HOME", "/")) / ".codex")
    projects: Any = {}
    with suppress(OSError, UnicodeDecodeError, MalformedDocument):
        projects = load_toml((folder / "config.toml").read_text(encoding="utf-8")).get("projects")
    if _dict(_dict(projects).get(str(tree))).get("trust_level") == "trusted":
        return None
    return Remark(
        message="Codex was not told to trust this folder, so it does not read .codex/config.toml",
        advice="Run `codex` here once and accept its question.",
    )


def _gemini_remark(tree: Path, environ: Mapping[str, str]) -> Remark | None:
    """Return what is to be said where Gemini CLI was not told to trust a folder, whose settings it does not read then."""
    folders = _load_json(Path(environ.get("HOME", "/")) / ".gemini" / "trustedFolders.json")
    if environ.get("GEMINI_CLI_TRUST_WORKSPACE") or any(
        str(folders.get(str(at), "")).startswith("TRUST_") for at in (tree, *tree.parents)
    ):
        return None
    return Remark(
        message="Gemini CLI was not told to trust this folder, so it does not read .gemini/settings.json",
        advice="Run `gemini` here once and accept its question, or set GEMINI_CLI_TRUST_WORKSPACE=true for it.",
    )


_TRUST: Final = {"claude": _claude_remark, "codex": _codex_remark, "gemini": _gemini_remark}


def _load_json(path: Path) -> dict[str, Any]:
    """Return the object in a file; empty where there is none that can be read."""
    with suppress(OSError, ValueError):
        return _dict(json.loads(path.read_text(encoding="utf-8")))
    return {}


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
