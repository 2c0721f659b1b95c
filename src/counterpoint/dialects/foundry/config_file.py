"""Reads `foundry-mcp.toml`, where a project says how clients work in it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.core.ports.evidence import Evidence
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument, NotFound

FILE: Final = "foundry-mcp.toml"
LIMIT: Final = 100_000
SECTIONS: Final[Mapping[str, Mapping[str, bool | str]]] = {
    "implement": {"delegate": False, "parallel": False},
    "git": {
        "enabled": True,
        "auto_commit": False,
        "auto_push": False,
        "auto_pr": False,
        "commit_cadence": "manual",
        "show_before_commit": True,
    },
}
"""What clients are told of, with what holds where the file says nothing."""
DEFAULT: Final = """\
# How agents work in this project with specs of foundry. What is not here has its default.

[implement]
delegate = false
parallel = false

[git]
enabled = true
auto_commit = false
auto_push = false
auto_pr = false
commit_cadence = "manual"
show_before_commit = true
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The file of a project, in its main worktree."""

    home: Path
    evidence: Evidence

    def read(self) -> tuple[dict[str, dict[str, Json]], str]:
        """Return every section with its defaults, and the name of the file; empty without one.

        Raises MalformedDocument, for a value of another type too.
        """
        file_settings, name = self.said()
        return {section: _merged(section, file_settings) for section in SECTIONS}, name

    def said(self) -> tuple[dict[str, Any], str]:
        """Return all that the file says, and its name; nothing and an empty name without one. MalformedDocument."""
        try:
            content = self.evidence.load(self.home, FILE, LIMIT)
        except NotFound:
            return {}, ""
        try:
            return tomllib.loads(content.decode()), FILE
        except ValueError as fault:
            raise MalformedDocument(f"{FILE} cannot be read: {fault}") from fault


def _merged(section: str, file_settings: Mapping[str, Any]) -> dict[str, Json]:
    raw: Any = file_settings.get(section, {})
    if not isinstance(raw, dict):
        raise MalformedDocument(f"{FILE}: `{section}` is no table")
    section_values = cast("dict[str, Json]", raw)
    merged: dict[str, Json] = {}
    for key, default in SECTIONS[section].items():
        value = section_values.get(key, default)
        if type(value) is not type(default):
            type_name = "true or false" if isinstance(default, bool) else "text"
            raise MalformedDocument(f"{FILE}: `{section}.{key}` must be {type_name}")
        merged[key] = value
    return merged
