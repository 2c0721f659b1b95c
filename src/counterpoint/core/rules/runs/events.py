"""Events of an agent's run, from any command line, and what they add up to.

    type               subtype                                    what it is
    system             init, or none                              about the run; also what is not known
    assistant          thinking · text · tool_use, or none        one block that the model wrote
    user               tool_result · text, or none                one block that was given to the model
    result             –                                          how the run, or a turn of it, ended
    rate_limit_event   –                                          the provider's limits

One line of a stream may be several events, one for each block. An event's payload is the JSON object
as it came, its long texts shortened until it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import moment, stamp

EventType = Literal["system", "assistant", "user", "result", "rate_limit_event"]
EventSubtype = Literal["", "init", "thinking", "text", "tool_use", "tool_result"]
RunStatus = Literal["completed", "failed", "unfinished"]

PAYLOAD_LIMIT = 20_000
_SHORTENED_TO = (4_000, 400, 40)
_DEPTH_LIMIT = 30
_BREADTH_LIMIT = 500
_COUNT_LIMIT = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """One event of a run.

    payload: JSON text of at most 20,000 characters; is_cut if texts in it were shortened.
    time: when it happened, if the line says so; otherwise empty. line: from which line it came.
    """

    type: EventType
    subtype: EventSubtype = ""
    payload: str
    is_cut: bool = False
    time: str = ""
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a run came to; None is what its stream does not tell.

    cost_micros: millionths of a dollar. error: why it failed, in the stream's own words.
    """

    status: RunStatus
    cost_micros: int | None = None
    duration_ms: int | None = None
    turns: int | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    error: str = ""


def event(
    line: int, type_: EventType, subtype: EventSubtype, payload: Mapping[str, Json], time: str = ""
) -> RunEvent:
    """Return an event with its payload as text that fits."""
    text, is_cut = fitted(payload)
    return RunEvent(type=type_, subtype=subtype, payload=text, is_cut=is_cut, time=time, line=line)


def fitted(payload: Mapping[str, Json]) -> tuple[str, bool]:
    """Return a payload as JSON text that fits, and whether something of it was cut."""
    whole = _shortened(dict(payload), PAYLOAD_LIMIT, 0)
    text = canonical.dump_any(whole)
    if len(text) <= PAYLOAD_LIMIT:
        return text, whole != payload
    for most in _SHORTENED_TO:
        text = canonical.dump_any(_shortened(dict(payload), most, 0))
        if len(text) <= PAYLOAD_LIMIT:
            return text, True
    kept = {name: payload[name] for name in ("type", "subtype") if _is_short(payload.get(name))}
    return canonical.dump_any({**kept, "cut": f"{len(text)} characters and more"}), True


def _is_short(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= _SHORTENED_TO[-1]


def _shortened(value: Json, most: int, depth: int) -> Json:
    """Return a value with its texts, lists and depths within limits; what was cut is said."""
    if isinstance(value, str):
        left = len(value) - most
        return value if left <= 0 else f"{value[:most]}… ({left} more characters)"
    if not isinstance(value, dict | list):
        return value
    if depth == _DEPTH_LIMIT:
        return "… (deeper)"
    if isinstance(value, dict):
        parts = cast("dict[str, Json]", value)
        return {
            name[:most]: _shortened(part, most, depth + 1)
            for name, part in list(parts.items())[:_BREADTH_LIMIT]
        }
    listed = cast("list[Json]", value)
    return [_shortened(part, most, depth + 1) for part in listed[:_BREADTH_LIMIT]]


def time_of(value: Json) -> str:
    """Return a time of a stream as a timestamp; empty if it is none or names no zone."""
    try:
        found = moment(value)
    except (TypeError, ValueError):
        return ""
    return stamp(found) if found.tzinfo else ""


def totals(events: Iterable[RunEvent]) -> Totals:
    """Return what a run came to, from the last of its results."""
    last: RunEvent | None = None
    for one in events:
        last = one if one.type == "result" else last
    if last is None:
        return Totals(status="unfinished")
    told: dict[str, Any] = canonical.load(last.payload)
    usage = told.get("usage")
    used = cast("dict[str, Json]", usage) if isinstance(usage, dict) else {}
    failed = told.get("is_error") is True or told.get("type") == "turn.failed"
    failed = failed or str(told.get("subtype", "")).startswith("error")
    return Totals(
        status="failed" if failed else "completed",
        cost_micros=_count(told.get("total_cost_usd"), 1_000_000),
        duration_ms=_count(told.get("duration_ms")),
        turns=_count(told.get("num_turns")),
        input_tokens=_count(used.get("input_tokens")),
        cached_tokens=_first(used, "cache_read_input_tokens", "cached_input_tokens"),
        output_tokens=_count(used.get("output_tokens")),
        error=_error(told) if failed else "",
    )


def _first(used: Mapping[str, Json], *names: str) -> int | None:
    counts = (_count(used.get(name)) for name in names)
    return next((count for count in counts if count is not None), None)


def _count(value: Json, times: int = 1) -> int | None:
    """Return a whole number from 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return round(value * times) if value * times < _COUNT_LIMIT else None


def _error(told: Mapping[str, Json]) -> str:
    """Return the words of an error, wherever the stream puts them."""
    error, errors = told.get("error"), told.get("errors")
    if isinstance(error, dict):
        error = cast("dict[str, Json]", error).get("message")
    if isinstance(errors, list):
        errors = "; ".join(str(one) for one in cast("list[Json]", errors))
    words = (error, told.get("result"), errors, told.get("subtype"))
    return next((word for word in words if isinstance(word, str) and word), "")
