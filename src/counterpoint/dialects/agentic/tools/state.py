"""The tools `state_set`, `state_get` and `state_list`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import Field, WithJsonSchema

from counterpoint.core.model.answers import Earlier
from counterpoint.core.model.journal import StateEntry
from counterpoint.dialects.agentic.envelope import present
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.words import (
    Count,
    Cursor,
    Key,
    Limit,
    Slug,
    Word,
    current,
)
from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, size_of, sparse
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound
from counterpoint.kernel.visible import escaped
from counterpoint.protocol.tools import tool

GENERAL: Final = "general"
"""The category of a value that was put into none."""
_LISTED: Final = 50
_SMALL: Final = 1_000
Aside = Annotated[str, Field(max_length=500), TEXT]
"""What stands beside a value wherever that is shown, whole."""


@tool(reads=False, destructive=True)
def state_set(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    key: Annotated[Key, Field(description="Name")],
    value: Annotated[Any, WithJsonSchema({}), Field(description="Any JSON")],
    category: Annotated[Word, Field(description="Sort")] = GENERAL,
    description: Annotated[Aside, Field(description="What it is")] = "",
    expected_version: Annotated[Count | None, Field(description="0: not there yet")] = None,
) -> Json:
    """Set a value of a plan; `expected_version` guards against lost updates."""
    core = current(call)
    plan = core.use(Planning).get(plan_slug).item.id
    entry = core.memory.put(
        plan, key, value, expected_version, category=category, description=description
    )
    small = {"value": canonical.load(entry.value)} if size_of(value) <= _SMALL else {}
    return present(**_header(entry), **small)


@tool(reads=True)
def state_get(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    key: Annotated[Key, Field(description="Name")],
    history: Annotated[
        Annotated[int, Field(ge=0, le=50)], Field(description="How many earlier values too")
    ] = 0,
    cursor: Cursor = "",
) -> Json:
    """Get a value of a plan; a large one comes as pieces of its JSON text."""
    plan = call.core.use(Planning).get(plan_slug).item.id
    entry = _get_entry(call, plan, key)
    pages = pages_of(call, cursor, "state_get", plan, key, entry.version)
    header = _header(entry)
    if history and not pages.at:
        header["history"] = _history(call.core.memory.history(plan, key, history + 1)[1:])
    max_bytes = PAGE - RESERVE - size_of(header)
    if pages.at == 0 and size_of(entry.value) <= max_bytes:
        return present(**header, value=canonical.load(entry.value), note=DATA)
    piece, further = pages.text(escaped(entry.value), max_bytes)
    return present(**header, json_text=piece, **sparse(next_cursor=further), note=DATA)


def _get_entry(call: Call, plan: str, key: str) -> StateEntry:
    try:
        return call.core.memory.get(plan, key)
    except NotFound:
        raise NotFound(
            f"the plan has no value {key!r}", hint="`state_list` shows what there is."
        ) from None


@tool(reads=True)
def state_list(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    category: Annotated[Word, Field(description="Only of this sort")] = "",
    limit: Annotated[Limit, Field(description="Most")] = _LISTED,
    cursor: Cursor = "",
) -> Json:
    """List the values of a plan by name; large ones by their size."""
    plan = call.core.use(Planning).get(plan_slug).item.id
    pages = pages_of(call, cursor, "state_list", plan, category, first="")
    entries = call.core.memory.list(plan, pages.at, limit + 1, category)
    states, next_cursor = pages.rows(entries, limit, _listed, lambda entry: entry.name)
    total = call.core.memory.count(plan, category)
    return present(states=states, total=total, **sparse(next_cursor=next_cursor), note=DATA)


def _header(entry: StateEntry) -> dict[str, Json]:
    return {
        "key": entry.name,
        "category": entry.category or GENERAL,
        **sparse(description=entry.description),
        "version": entry.version,
        "updated_at": entry.updated_at,
        "updated_by": entry.agent,
    }


def _listed(entry: StateEntry) -> Json:
    if size_of(entry.value) <= _SMALL:
        return {**_header(entry), "value": canonical.load(entry.value)}
    return {**_header(entry), "value_bytes": len(entry.value.encode())}


def _history(earlier: Sequence[Earlier]) -> list[Json]:
    """Return earlier values, the last first, as many as have a fair place beside the present one."""
    versions: list[Json] = []
    bytes_left = PAGE // 3
    for previous in earlier:
        entry: dict[str, Json] = {
            "version": previous.version,
            "sequence": previous.sequence,
            "updated_at": previous.at,
            "updated_by": previous.agent,
            **({} if previous.value is None else _value(previous.value)),
        }
        bytes_left -= size_of(entry) + 1
        if bytes_left < 0:
            break
        versions.append(entry)
    return versions


def _value(text: str) -> dict[str, Json]:
    small = size_of(text) <= _SMALL and not text.startswith("[redacted")
    return {"value": canonical.load(text)} if small else {"json_text": clip(escaped(text), _SMALL)}
