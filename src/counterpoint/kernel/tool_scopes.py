"""Which tools a scope file opens: one rule for the relay and for the server.

A scope file is a JSON array of tool names; an empty one opens no tool. It is refused if and only if
(a) it cannot be read, (b) it is no JSON array of texts, (c) it names a tool that does not exist, (d) it
names a tool that the role does not have, or that no role has: such are for a person's own client.

The relay imports this, so it is the standard library only, and little of that.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeGuard

    Roles = Mapping[str, Sequence[str]]
    """The tools of each role by name, and all of them under an empty one."""


class ScopeRefused(Exception):
    """A scope file opens no tool; `faults` are all that is wrong with it, in words."""

    def __init__(self, faults: list[str]) -> None:
        """Take the faults."""
        super().__init__("; ".join(faults))
        self.faults = faults


def read_scope(path: str, roles: Roles, role: str) -> list[str]:
    """Return the tools that a file opens to a role, in the order of the list; ScopeRefused."""
    try:
        with open(path, encoding="utf-8") as file:
            names: object = json.load(file)
    except OSError as fault:
        raise ScopeRefused([f"it cannot be read: {fault.strerror}"]) from fault
    except (ValueError, RecursionError) as fault:
        raise ScopeRefused([f"it cannot be read: {fault}"]) from fault
    if not _is_list(names):
        raise ScopeRefused(["it is no JSON array"])
    faults = [fault for name in names if (fault := _fault(name, roles, role))]
    if faults:
        raise ScopeRefused(faults)
    return [name for name in roles[""] if name in names]


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _fault(name: object, roles: Roles, role: str) -> str:
    if not isinstance(name, str):
        return f"{name!r} is no text"
    if name not in roles[""]:
        return f"there is no tool {name!r}"
    if not any(name in tools for other, tools in roles.items() if other):
        return f"{name} is opened by no scope file"
    return "" if name in roles[role] else f"{name} is not a tool of the type {role}"
