"""The tool `remember`: values that outlive a session."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import Field

from counterpoint.core.model.journal import StateEntry
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.native.words import TITLE, Count, Cursor, Word
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, size_of, sparse
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.visible import escaped
from counterpoint.protocol.tools import tool

_LISTED = 50
_SMALL = 200


class Absent(Enum):
    """Tells a value that was left out from one that is null."""

    VALUE = None


@tool(reads=False, destructive=True, hidden=("cursor",))
def remember(
    call: Call,
    action: Annotated[
        Literal["set", "get", "forget", "list"], Field(description="list answers all keys")
    ],
    key: Annotated[Word, Field(description="Name of the value, except for list")] = "",
    value: Annotated[Any, Field(description="For set: any JSON")] = Absent.VALUE,
    scope: Annotated[
        Literal["project", "profile"], Field(description="Whole project, or agents of your profile")
    ] = "project",
    expected_version: Annotated[
        Count | None, Field(description="Refused unless `version` is this; 0: there is none")
    ] = None,
    cursor: Cursor = "",
) -> Json:
    """Keep values for later sessions and other agents; read, forget or list them."""
    where = _scope(call, scope)
    _refuse_stray(action, key, value, expected_version, cursor)
    if action == "set":
        entry = call.core.memory.put(where, key, value, expected_version)
        return {"key": key, "version": entry.version}
    if action == "forget":
        return {"key": key, "forgotten": call.core.memory.forget(where, key, expected_version)}
    if action == "get":
        return _value(call, where, key, cursor)
    return _names(call, where, cursor)


def _scope(call: Call, scope: str) -> str:
    if scope == "project":
        return scope
    profile = call.core.caller.actor.profile
    if not profile:
        raise InvalidInput(
            "this connection has no profile",
            hint="Use the scope project, or start the server with --profile.",
        )
    return f"profile:{profile}"


_TAKES = {
    "set": {"key", "value", "expected_version"},
    "forget": {"key", "expected_version"},
    "get": {"key", "cursor"},
    "list": {"cursor"},
}


def _refuse_stray(action: str, key: str, value: Json, version: int | None, cursor: str) -> None:
    """Raise InvalidInput for what an action does not take, or misses; all of it together."""
    presence = {
        "key": bool(key),
        "value": value is not Absent.VALUE,
        "expected_version": version is not None,
        "cursor": bool(cursor),
    }
    takes = _TAKES[action]
    faults = [
        f"`{name}` has no meaning"
        for name, is_given in presence.items()
        if is_given - (name in takes) == 1
    ]
    faults += [
        f"`{name}` is required" for name in ("key", "value") if name in takes and not presence[name]
    ]
    if faults:
        raise InvalidInput(f"with action {action}: {'; '.join(faults)}")


def _value(call: Call, scope: str, key: str, cursor: str) -> dict[str, Json]:
    entry = call.core.memory.get(scope, key)
    pages = pages_of(call, cursor, "remember", scope, key, entry.version)
    header = _header(entry)
    budget = PAGE - RESERVE - size_of(header)
    if pages.at == 0 and size_of(entry.value) <= budget:
        return {**header, "value": canonical.load(entry.value), "note": DATA}
    piece, further = pages.text(escaped(entry.value), budget)
    return {**header, "json_text": piece, **sparse(cursor=further), "note": DATA}


def _header(entry: StateEntry) -> dict[str, Json]:
    return {
        "key": entry.name,
        "version": entry.version,
        "agent": clip(entry.agent, TITLE),
        "at": entry.updated_at,
    }


def _names(call: Call, scope: str, cursor: str) -> dict[str, Json]:
    pages = pages_of(call, cursor, "remember", scope, first="")
    rows = call.core.memory.list(scope, pages.at, _LISTED + 1)
    entries, further = pages.rows(rows, _LISTED, _listed, lambda entry: entry.name)
    return {"entries": entries, **sparse(cursor=further), "note": DATA}


def _listed(entry: StateEntry) -> dict[str, Json]:
    if len(entry.value) <= _SMALL and size_of(entry.value) <= 2 * _SMALL:
        return {**_header(entry), "value": canonical.load(entry.value)}
    return {**_header(entry), "value_bytes": len(entry.value.encode())}
