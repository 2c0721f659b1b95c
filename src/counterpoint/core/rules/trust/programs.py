"""Tell by its name what a program is to an agent: a starter, a terminal, a reaper.

What a process calls itself is never proof. So a name counts only where nothing is gained by a lie: a program
that pretends to be a starter is passed over, and then its own parent is the agent; one that pretends to take
up orphans is attested less; an editor that shows a terminal is passed over only directly above its shell.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.identity import Process

SHELLS: Final = frozenset(["ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "tcsh", "zsh"])
STARTERS: Final = SHELLS | frozenset(
    [
        *("bunx", "conda", "corepack", "direnv", "doas", "env", "hatch", "mamba", "mcp-proxy"),
        *("micromamba", "mise", "nice", "nohup", "nox", "npm", "npm-cli", "npx", "npx-cli", "pdm"),
        *("pipx", "pixi", "pnpm", "pnpx", "poetry", "rye", "setsid", "stdbuf", "sudo", "timeout"),
        *("tox", "uv", "uvx", "volta", "xargs", "yarn", "yarnpkg"),
    ]
)
"""What stands between an agent and what it starts: shells and runners, also those that are scripts."""
REAPERS: Final = frozenset(
    [
        *("bwrap", "catatonit", "conmon", "containerd-shim-runc-v2", "docker-init", "dumb-init"),
        *("init", "launchd", "openrc-init", "runit", "runsvdir", "s6-svscan", "systemd", "tini"),
        "tini-static",
    ]
)
"""What takes up orphans."""
EDITORS: Final = frozenset(
    [
        *("clion", "code", "code-insiders", "code-oss", "codium", "cursor", "datagrip", "electron"),
        *("emacs", "goland", "idea", "phpstorm", "pycharm", "rider", "rubymine", "rustrover"),
        *("vscodium", "webstorm", "windsurf", "zed", "zed-editor"),
    ]
)
"""What starts agents and has terminals for people too."""

_FIRST: Final = 1
_PART: Final = " helper"
"""How the processes of one application are called on macOS: `Code Helper (Plugin)`."""


def is_starter(process: Process) -> bool:
    """Return whether a process may be there only to start another."""
    return process.name in STARTERS or process.script in STARTERS


def is_terminal_shell(process: Process) -> bool:
    """Return whether a process is what a person types into: a shell that leads the session of a terminal."""
    leads = process.session == process.pid and process.has_terminal
    return leads and process.name in SHELLS


def is_editor(process: Process) -> bool:
    """Return whether a program has terminals for people beside the agents that it starts."""
    return process.name.casefold().partition(_PART)[0] in EDITORS


def is_reaper(process: Process) -> bool:
    """Return whether a process takes up orphans; the first one that can be seen always does."""
    return process.pid == _FIRST or process.name in REAPERS
