"""Every setting, its default, and the environment variable that sets it.

A value comes from, in this order: a flag, the environment (`COUNTERPOINT_` and the name in capitals),
the default below. The environment is read once, at start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

PREFIX = "COUNTERPOINT_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set.

    db: the path of the database; empty: `.counterpoint/ledger.db` at the git root.
    project: the project's id; empty: made from the name of the git root's folder.
    surface: the dialect an agent speaks. item: the item a connection is for.
    agent, profile: who is calling. session: the sitting to speak in; empty: a fresh one.
    pass_env: names of variables that commands may see besides the usual ones, by commas.
    """

    db: str = ""
    project: str = ""
    surface: str = "native"
    item: str = ""
    agent: str = ""
    profile: str = ""
    session: str = ""
    pass_env: str = ""


def load_settings(environ: Mapping[str, str], **flags: str | None) -> Settings:
    """Answer the settings of an environment and the flags that were given (None: not given)."""
    values: dict[str, Any] = {}
    for setting in fields(Settings):
        flag = flags.get(setting.name)
        named = environ.get(PREFIX + setting.name.upper())
        value = flag if flag is not None else named
        if value is not None:
            values[setting.name] = value
    return Settings(**values)
