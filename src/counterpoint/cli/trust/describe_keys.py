"""Describes keys: whether they are in force, and how they were enrolled."""

from __future__ import annotations

from counterpoint.core.coordinator import Core
from counterpoint.core.model.identity import Key


def state_of(key: Key) -> str:
    """Return whether a key is live or revoked, in a word."""
    return "live" if key.is_in_force else "revoked"


def recovery_remark(key: Key) -> str:
    """Return what is said for ever of a key that an epoch let in; empty for any other."""
    return f"recovered in epoch {key.recovered_in}, unconfirmed" if key.recovered_in else ""


def recoveries(core: Core) -> list[str]:
    """Return what is said of each key that an epoch let in."""
    keys = (key for key in core.keys.list() if key.recovered_in)
    return [
        f"the key {key.id} of {key.owner}, {state_of(key)}: {recovery_remark(key)}" for key in keys
    ]
