"""Every setting, its default, and the environment variable that sets it.

A value comes from, in this order: a flag, the environment (`COUNTERPOINT_` and the name in capitals),
the default below. The environment is read once, at start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from counterpoint.kernel.errors import InvalidInput

PREFIX = "COUNTERPOINT_"
LEASE_SECONDS = range(1, 86_401)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set.

    db: the path of the database; empty: `.counterpoint/ledger.db` at the git root.
    project: the project's id; empty: made from the name of the git root's folder.
    surface: the dialect an agent speaks. item: the item a connection is for.
    agent, profile: who is calling. session: the sitting to speak in; empty: a fresh one.
    pass_env: names of variables that commands may see besides the usual ones, by commas.
    lease_seconds: how long a claim holds if the caller does not say; from a second to a day.
    """

    db: str = ""
    project: str = ""
    surface: str = "native"
    item: str = ""
    agent: str = ""
    profile: str = ""
    session: str = ""
    pass_env: str = ""
    lease_seconds: int = 1800


def load_settings(environ: Mapping[str, str], **flags: str | None) -> Settings:
    """Answer the settings of an environment and the flags that were given (None: not given).

    InvalidInput for a lease that is no number of seconds within its bounds.
    """
    values: dict[str, Any] = {}
    for setting in fields(Settings):
        flag = flags.get(setting.name)
        named = environ.get(PREFIX + setting.name.upper())
        value = flag if flag is not None else named
        if value is not None:
            values[setting.name] = _seconds(value) if setting.name == "lease_seconds" else value
    return Settings(**values)


def _seconds(text: str) -> int:
    if not text.isdecimal() or int(text) not in LEASE_SECONDS:
        raise InvalidInput(
            f"{PREFIX}LEASE_SECONDS is {text[:40]!r}",
            hint=f"Give a whole number from {LEASE_SECONDS[0]} to {LEASE_SECONDS[-1]}.",
        )
    return int(text)
