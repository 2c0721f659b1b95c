"""Which environment variables a started program may see.

A variable reaches a command if and only if (1) it has a value, (2) its name is in the allow-list
or was named by the project's settings, and (3) its name does not look like that of a secret.
Rule 3 has no exception. Git gets everything but secrets and the variables that would point it at
another repository, another index or somebody's tracing file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_ALLOWED = frozenset(
    {"PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "VIRTUAL_ENV", "CI"}
)
_ALLOWED_STARTS = ("LC_", "PYTHON", "NODE", "GIT_AUTHOR_", "GIT_COMMITTER_")
_GIT_KEPT = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)
_GIT_DECIDING = ("PATH", "HOME", "XDG_CONFIG_HOME", *sorted(_GIT_KEPT))
_GIT_FIXED = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
_SECRET = re.compile("TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL", re.IGNORECASE)


def looks_secret(name: str) -> bool:
    """Return whether a variable of this name is likely to hold a secret."""
    return _SECRET.search(name) is not None


def for_command(environ: Mapping[str, str], named: Collection[str] = ()) -> dict[str, str]:
    """Return the variables a command may see; `named` widens the allow-list."""
    return {
        name: value
        for name, value in environ.items()
        if not looks_secret(name)
        and (name in _ALLOWED or name in named or name.startswith(_ALLOWED_STARTS))
    }


def deciding_for_git(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that decide what git answers: which git, which configuration, which limits.

    Where these are equal, git says the same of a tree, wherever and by whom it was started.
    """
    return tuple(environ.get(name, "") for name in _GIT_DECIDING)


def for_git(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables git may see, with its answers fixed to plain English."""
    kept = {
        name: value
        for name, value in environ.items()
        if not looks_secret(name) and (name in _GIT_KEPT or not name.startswith("GIT_"))
    }
    kept.pop("LANGUAGE", None)
    return kept | _GIT_FIXED
