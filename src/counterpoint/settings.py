"""Every setting, its default, and the environment variable that sets it.

A value comes from, in this order: a flag, the environment (`COUNTERPOINT_` and the name in capitals),
the default below. The environment is read once, at start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

PREFIX = "COUNTERPOINT_"
READONLY = "READONLY"
"""The mode in which nothing is written and nothing signed, whoever asks."""
LEASE_SECONDS = range(1, 86_401)
GRACE_SECONDS = range(86_401)
IDLE_MINUTES = range(10_081)
HOSTED = (
    "grace_seconds",
    "git_witness",
    "witness_push",
    "witnesses",
    "pass_env",
    "global_memory",
    "embedding",
)
"""Settings of a connection that are those of the server it came to."""


@frozen
class Settings:
    """What can be set.

    db: the path of the database; empty: `.counterpoint/ledger.db` at the git root.
    project: the project's id; empty: made from the name of the git root's folder.
    surface: the dialect an agent speaks. item: the item a connection is for.
    agent, profile: who is calling. session: the one to write in; empty: a fresh one.
    tool_scope: a file with a JSON list of the tools that are offered; empty: as the profile says.
    run: the run of an agent that what is written belongs to.
    worktree: the tree that is measured and worked in; empty: the one the connection started in.
    project_slug, symphony_dir: where older systems kept an agent's memory; see `docs/symphony.md`.
    mode: what may be done: `FULL`, or `READONLY`; the colibri surface has `TEST` and `MINIMAL` too. proofs:
    `1`: offer the tools for proofs too.
    tool_dependencies: a file that says which tools need something else first; empty: none does.
    skills: folders of skills beside those of the project, by commas.
    specs_dir: the folder of foundry's specs, in the project; empty: `specs` at the git root.
    role: what the foundry surface lets a connection do: `maintainer`, `autonomy_runner` or `observer`; empty: as the posture says, or
    everything. posture: how unattended runs of specs are held: `unattended`, `supervised` or `debug`; empty: as `foundry-mcp.toml` says.
    pass_env: names of variables that commands may see besides the usual ones, by commas.
    lease_seconds: how long a claim holds if the caller does not say; from a second to a day.
    grace_seconds: how long others wait for what somebody left whose connection has ended; at most a day.
    signer: who signs the ledger: `file`, the state of this account, `keyring`, the same with its keys in the system's
        keyring, or `command:PROGRAM WORDS`, see docs/decisions/0041.
    git_witness: whether heads are kept in the repository too, `on` or `off`. witness_push: the git remote
    that they are pushed to; empty: none. witnesses: those elsewhere that cosign heads, `VKEY URL` by commas. Of a
    server that is shared, those count that it was started with.
    global_memory: whether roles are given what they remembered as global in other projects of the database, `on` or
    `off`; of a server that is shared, as it was started.
    embedding: the model that texts are found by, beside their words: `auto`, what counterpoint.toml says of a provider's, else `static`, which comes with
        the product, or `off`; of a server that is shared, as it was started.
    idle_minutes: how long a server that an agent's connection started stays when nobody is
    connected; at most a week; 0: it leaves with the last.
    """

    db: str = ""
    project: str = ""
    surface: str = "native"
    item: str = ""
    agent: str = ""
    profile: str = ""
    session: str = ""
    tool_scope: str = ""
    run: str = ""
    worktree: str = ""
    project_slug: str = ""
    symphony_dir: str = ""
    mode: str = "FULL"
    proofs: str = ""
    tool_dependencies: str = ""
    skills: str = ""
    specs_dir: str = ""
    role: str = ""
    posture: str = ""
    pass_env: str = ""
    signer: str = "file"
    git_witness: str = "on"
    witness_push: str = ""
    witnesses: str = ""
    global_memory: str = "off"
    embedding: str = "auto"
    lease_seconds: int = 1800
    grace_seconds: int = 60
    idle_minutes: int = 10

    @property
    def is_read_only(self) -> bool:
        """Whether nothing is to be written."""
        return self.mode == READONLY


OTHER_NAMES = {
    "surface": "dialect",
    "project": "project_id",
    "item": "issue_id",
    "profile": "agent_type",
    "tool_scope": "tool_scope_file",
    "run": "run_id",
    "worktree": "worktree_path",
}
"""What settings are called too, as flags and as variables; the name of its own goes first."""
ELSEWHERE = {
    "mode": "COLIBRI_MODE",
    "specs_dir": "FOUNDRY_MCP_SPECS_DIR",
    "role": "FOUNDRY_MCP_ROLE",
    "posture": "FOUNDRY_MCP_AUTONOMY_POSTURE",
}
"""Variables that set something too: what servers of these dialects are started with elsewhere."""
_NUMBERS = {
    "lease_seconds": LEASE_SECONDS,
    "grace_seconds": GRACE_SECONDS,
    "idle_minutes": IDLE_MINUTES,
}

_SCHEMES = ("postgresql://", "postgres://")
_IN_AUTHORITY = expression(r"^(\w+://[^/?#:@]*):.*@")
"""Up to the last `@`, since somebody may not know that a password's `/` must be written `%2F`."""
_IN_QUERY = expression(r"((?:^|[?&])[^=&]*pass[^=&]*=)[^&#]*", re.IGNORECASE)


def load_settings(environ: Mapping[str, str], **flags: str | None) -> Settings:
    """Return the settings of an environment and the flags that were given (None: not given).

    InvalidInput for a number that is none, or not within its bounds.
    """
    values: dict[str, Any] = {}
    for setting in fields(Settings):
        flag = flags.get(setting.name)
        value = flag if flag is not None else _named(environ, setting.name)
        if value is not None:
            bounds = _NUMBERS.get(setting.name)
            values[setting.name] = value if bounds is None else _number(setting.name, value, bounds)
    return Settings(**values)


def _named(environ: Mapping[str, str], name: str) -> str | None:
    own = environ.get(PREFIX + name.upper())
    other = OTHER_NAMES.get(name)
    if name in ELSEWHERE:
        # An empty variable is how many launchers say that it is not set.
        return own or environ.get(ELSEWHERE[name]) or None
    return environ.get(PREFIX + other.upper()) if own is None and other else own


def _number(name: str, text: str, bounds: range) -> int:
    if not text.isdecimal() or int(text) not in bounds:
        raise InvalidInput(
            f"{PREFIX}{name.upper()} is {text[:40]!r}",
            hint=f"Give a whole number from {bounds[0]} to {bounds[-1]}.",
        )
    return int(text)


def is_address(text: str) -> bool:
    """Return whether a text names a PostgreSQL database, not a file."""
    return text.startswith(_SCHEMES)


def masked(address: str) -> str:
    """Return an address that can be shown: `***` in place of every password."""
    return _IN_QUERY.sub(r"\1***", _IN_AUTHORITY.sub(r"\1:***@", address))
