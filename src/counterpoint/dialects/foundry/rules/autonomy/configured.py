"""What the settings and the file of a project define for unattended runs.

`foundry-mcp.toml` has `profile` in [autonomy_posture], what runs begin with in [autonomy_session_defaults], and `role`,
`allow_lock_bypass` and `allow_gate_waiver` in [autonomy_security]. Variables `FOUNDRY_MCP_AUTONOMY_DEFAULT_…` and
`FOUNDRY_MCP_AUTONOMY_SECURITY_…` go before it, and what a connection was started with before both. A role or a posture that there is not gives the least.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from counterpoint.dialects.foundry.nouns.autonomy import Role
from counterpoint.dialects.foundry.rules.autonomy.limits import (
    BYPASS,
    POSTURE,
    PROFILES,
    WAIVING,
    Terms,
    read_terms,
)
from counterpoint.dialects.foundry.rules.autonomy.roles import UNKNOWN, role_named
from counterpoint.kernel.canonical import Json, object_of

SECURITY: Final = "autonomy_security"
DEFAULTS: Final = "autonomy_session_defaults"
PROFILE: Final = "autonomy_posture"
FREE: Final[Role] = "maintainer"
"""The role of a connection that nothing narrows."""
_VARIABLES: Final[Mapping[str, str]] = {
    DEFAULTS: "FOUNDRY_MCP_AUTONOMY_DEFAULT_",
    SECURITY: "FOUNDRY_MCP_AUTONOMY_SECURITY_",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What is configured for one connection. given: the values that runs are held to, by name."""

    role: Role = FREE
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def terms(self, **arguments: Json) -> Terms:
        """Return the terms of a run of this connection; InvalidInput with every fault. arguments: None counts as not given."""
        return read_terms(arguments, self.settings)


def configured(
    file: Mapping[str, Json], environ: Mapping[str, str], role: str = "", posture: str = ""
) -> Configured:
    """Return what is configured. file: what the file of the project says; role, posture: of the connection, empty without one."""
    security = object_of(file.get(SECURITY)) | _set(environ, SECURITY)
    settings: dict[str, Json] = object_of(file.get(DEFAULTS)) | _set(environ, DEFAULTS)
    settings |= {name: security[name] for name in (BYPASS, WAIVING) if name in security}
    profile = posture or object_of(file.get(PROFILE)).get("profile")
    if profile is not None:
        settings[POSTURE] = profile
    return Configured(role=_role(role or security.get("role"), profile), settings=settings)


def is_started_as_maintainer(role: str, posture: str) -> bool:
    """Whether a connection was started with the role of a maintainer, or with a posture that is meant for one.

    What files of the project say does not count: those whom it would free can write them.
    """
    return bool(role or posture) and configured({}, {}, role, posture).role == "maintainer"


def _set(environ: Mapping[str, str], section: str) -> dict[str, Json]:
    """Return what variables say of a section."""
    start = _VARIABLES[section]
    return {
        name.removeprefix(start).lower(): _value(text)
        for name, text in environ.items()
        if name.startswith(start) and text
    }


def _value(text: str) -> Json:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    return int(text) if text.isdecimal() and text.isascii() else text


def _role(word: Json, profile: Json) -> Role:
    if word is not None and word != "":
        return role_named(word) if isinstance(word, str) else UNKNOWN
    if profile is None:
        return FREE
    for name, posture in PROFILES.items():
        if name == profile:
            return posture.role
    return UNKNOWN
