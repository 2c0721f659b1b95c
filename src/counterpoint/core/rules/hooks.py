"""Events that hooks report, as events of a run: what is kept of each, masked before anything of it is cut.

    type, subtype       what it is
    user, tool_result   one call of a tool: its name, what it was given and what it answered
    system              how many calls are missing before the next one

A call of one of our own tools is kept by its name alone: what it did stands in the ledger already. Where a conversation
or a file lies on the machine is not kept.
"""

from __future__ import annotations

from typing import Final, cast

from counterpoint.core.model.runs import HookReport
from counterpoint.core.rules.runs import RunEvent, event
from counterpoint.core.rules.secrets import mask_json
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

LIMIT: Final = 8_000
"""Characters of an event that are kept at most."""
REPORTER: Final = "reported_by"
MISSING: Final = "missing"
TOOL: Final = "tool_name"
INPUT: Final = "tool_input"
_CONTENT: Final = (INPUT, "tool_response", "tool_output", "error")
_KEPT: Final = (
    "hook_event_name",
    "session_id",
    TOOL,
    "tool_use_id",
    "agent_id",
    "agent_type",
    "duration_ms",
    "is_interrupt",
)
_OURS: Final = ("mcp__counterpoint__", "mcp_counterpoint_", "counterpoint__")


def reported(told: HookReport, known: frozenset[str]) -> RunEvent:
    """Return a call of a tool as an event. known: the secrets that are masked wherever they stand."""
    payload: dict[str, Json] = {REPORTER: f"hook of {told.client}"}
    parts = _parts(told)
    is_ours = str(parts.get(TOOL, "")).startswith(_OURS)
    for name in _KEPT if is_ours else (*_KEPT, *_CONTENT):
        if name in parts:
            payload[name] = parts[name]
    if not parts:
        what = "was no JSON object" if told.text else "was too large to be looked at"
        payload["unread"] = f"what the hook was told {what}: {told.size} bytes"
    clean = cast("dict[str, Json]", mask_json(payload, known))
    return event(0, "user", "tool_result", clean, told.at, limit=LIMIT)


def lost(missing: int) -> RunEvent:
    """Return what says that so many calls are missing."""
    payload: dict[str, Json] = {
        REPORTER: "counterpoint",
        MISSING: missing,
        "of": "all agents of this ledger whose hooks report",
    }
    return event(0, "system", "", payload)


def _parts(told: HookReport) -> dict[str, Json]:
    try:
        found = canonical.load(told.text)
    except InvalidInput:
        return {}
    return cast("dict[str, Json]", found) if isinstance(found, dict) else {}
