"""Events of an agent's run, from any command line, and what they add up to.

    type               subtype                                    what it is
    system             init, or none                              about the run; also what is not known
    assistant          thinking · text · tool_use, or none        one block that the model wrote
    user               tool_result · text, or none                one block that was given to the model
    result             –                                          how the run, or a turn of it, ended
    rate_limit_event   –                                          the provider's limits

One line of a stream may be several events, one for each block. An event's payload is the JSON object
as it came, its long texts shortened until it fits.

A line is told by its `type`. A type that neither command line has is kept as a `system` event with the
whole object. A line that is no JSON object, has no type or is too long is named with its number and
left out; an empty one is passed over. The rest of the stream is read all the same.

Lines of `claude --output-format stream-json` as run events.

    {"type": "system", "subtype": "init", …}                        system, init
    {"type": "assistant", "message": {"content": [BLOCK, …]}, …}    assistant, one for each block
    {"type": "user", "message": {"content": TEXT or [BLOCK, …]}}    user, one for each block
    {"type": "result", "subtype": …, "is_error": …, "usage": …}     result
    {"type": "rate_limit_event", "rate_limit_info": …}              rate_limit_event

A block says what it is: `thinking`, `text`, `tool_use`, `tool_result` and their kin. The payload of a
block's event is the block, with the names of its message and of the tool call it belongs to.

Lines of `codex exec --json` as run events.

    thread.started                        system, init
    turn.started · error · item.updated   system
    item.started   of a tool              assistant, tool_use
    item.completed of a tool              user, tool_result; before it a tool_use if none was told
    item.completed agent_message          assistant, text
    item.completed reasoning              assistant, thinking
    item.* of anything else               system
    turn.completed · turn.failed          result

An `error` line is no end: the command line tells so of connections that it tries again.

What hooks report of calls of tools, masked before anything of it is cut.

    one call                                      user, tool_result
    how many calls are missing before the next    system

A call of one of our own tools is kept by its name alone: what it did stands in the ledger already. Where a
conversation or a file lies on the machine is not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from counterpoint.core.model.runs import INPUT, MISSING, TOOL, HookReport
from counterpoint.core.rules.secrets import mask_json
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import moment, stamp
from counterpoint.kernel.errors import InvalidInput

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
    line: int,
    type_: EventType,
    subtype: EventSubtype,
    payload: Mapping[str, Json],
    time: str = "",
    *,
    limit: int = PAYLOAD_LIMIT,
) -> RunEvent:
    """Return an event with its payload as text that fits. limit: the characters it may have."""
    text, is_cut = fit_payload(payload, limit)
    return RunEvent(type=type_, subtype=subtype, payload=text, is_cut=is_cut, time=time, line=line)


def fit_payload(payload: Mapping[str, Json], limit: int = PAYLOAD_LIMIT) -> tuple[str, bool]:
    """Return a payload as JSON text that fits, and whether something of it was cut."""
    whole = _shortened(dict(payload), limit, 0)
    text = canonical.dump_any(whole)
    if len(text) <= limit:
        return text, whole != payload
    for most in _SHORTENED_TO:
        text = canonical.dump_any(_shortened(dict(payload), most, 0))
        if len(text) <= limit:
            return text, True
    short = {name: payload[name] for name in ("type", "subtype") if _is_short(payload.get(name))}
    return canonical.dump_any({**short, "cut": f"{len(text)} characters and more"}), True


def _is_short(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= _SHORTENED_TO[-1]


def _shortened(value: Json, most: int, depth: int) -> Json:
    """Return a value with its texts, lists and depths within limits; what was cut is said."""
    if isinstance(value, str):
        excess = len(value) - most
        return value if excess <= 0 else f"{value[:most]}… ({excess} more characters)"
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
        time = moment(value)
    except (TypeError, ValueError):
        return ""
    return stamp(time) if time.tzinfo else ""


def totals(events: Iterable[RunEvent]) -> Totals:
    """Return what a run came to, from the last of its results."""
    last: RunEvent | None = None
    for run_event in events:
        last = run_event if run_event.type == "result" else last
    if last is None:
        return Totals(status="unfinished")
    payload: dict[str, Any] = canonical.load(last.payload)
    usage = payload.get("usage")
    used = cast("dict[str, Json]", usage) if isinstance(usage, dict) else {}
    failed = payload.get("is_error") is True or payload.get("type") == "turn.failed"
    failed = failed or str(payload.get("subtype", "")).startswith("error")
    return Totals(
        status="failed" if failed else "completed",
        cost_micros=_count(payload.get("total_cost_usd"), 1_000_000),
        duration_ms=_count(payload.get("duration_ms")),
        turns=_count(payload.get("num_turns")),
        input_tokens=_count(used.get("input_tokens")),
        cached_tokens=_first(used, "cache_read_input_tokens", "cached_input_tokens"),
        output_tokens=_count(used.get("output_tokens")),
        error=_error(payload) if failed else "",
    )


def _first(used: Mapping[str, Json], *names: str) -> int | None:
    counts = (_count(used.get(name)) for name in names)
    return next((count for count in counts if count is not None), None)


def _count(value: Json, times: int = 1) -> int | None:
    """Return a whole number from 0; None for anything else."""
    # To Python, true is a number.
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return round(value * times) if value * times < _COUNT_LIMIT else None


def _error(payload: Mapping[str, Json]) -> str:
    """Return the words of an error, wherever the stream puts them."""
    error, errors = payload.get("error"), payload.get("errors")
    if isinstance(error, dict):
        error = cast("dict[str, Json]", error).get("message")
    if isinstance(errors, list):
        errors = "; ".join(str(part) for part in cast("list[Json]", errors))
    words = (error, payload.get("result"), errors, payload.get("subtype"))
    return next((word for word in words if isinstance(word, str) and word), "")


MESSAGE_TYPES: tuple[EventType, ...] = ("system", "assistant", "user", "result", "rate_limit_event")
_BLOCKS: dict[str, EventSubtype] = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "text": "text",
    "tool_use": "tool_use",
    "server_tool_use": "tool_use",
    "mcp_tool_use": "tool_use",
    "tool_result": "tool_result",
    "web_search_tool_result": "tool_result",
    "mcp_tool_result": "tool_result",
}


def message_events(line: int, message: Mapping[str, Json]) -> Iterator[RunEvent]:
    """Return the events of one line whose type is one of `MESSAGE_TYPES`."""
    type_ = cast("EventType", message["type"])
    time = time_of(message.get("timestamp"))
    blocks = _blocks(message) if type_ in {"assistant", "user"} else []
    if not blocks:
        is_init = type_ == "system" and message.get("subtype") == "init"
        yield event(line, type_, "init" if is_init else "", message, time)
    for block in blocks:
        yield event(line, type_, _BLOCKS.get(str(block.get("type")), ""), block, time)


def _blocks(message: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the blocks of a message, each with what it belongs to; none if there is no message."""
    document = message.get("message")
    if not isinstance(document, dict):
        return []
    inner = cast("dict[str, Json]", document)
    content = inner.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    around = {
        "message_id": inner.get("id"),
        "parent_tool_use_id": message.get("parent_tool_use_id"),
    }
    belongs = {name: value for name, value in around.items() if isinstance(value, str)}
    return [
        {**belongs, **cast("dict[str, Json]", block)}
        for block in cast("list[Json]", content)
        if isinstance(block, dict)
    ]


_THREAD_TOOLS = frozenset(
    {"command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"}
)
_THREAD_WORDS: dict[str, EventSubtype] = {
    "agent_message": "text",
    "assistant_message": "text",
    "reasoning": "thinking",
}
_THREAD_LINES: dict[str, tuple[EventType, EventSubtype]] = {
    "thread.started": ("system", "init"),
    "turn.started": ("system", ""),
    "turn.completed": ("result", ""),
    "turn.failed": ("result", ""),
    "error": ("system", ""),
}
_THREAD_ITEMS = frozenset({"item.started", "item.updated", "item.completed"})
THREAD_TYPES = frozenset(_THREAD_LINES) | _THREAD_ITEMS


def thread_events(line: int, payload: Mapping[str, Json], begun: set[str]) -> Iterator[RunEvent]:
    """Return the events of one line whose type is one of `THREAD_TYPES`.

    begun: ids of the tool calls told so far; those of this line are added.
    """
    type_ = cast("str", payload["type"])
    time = time_of(payload.get("timestamp"))
    if type_ in _THREAD_LINES:
        yield event(line, *_THREAD_LINES[type_], payload, time)
        return
    step = payload.get("item")
    item = cast("dict[str, Json]", step) if isinstance(step, dict) else {}
    for kind, subtype in _steps(type_, item, begun):
        yield event(line, kind, subtype, payload, time)


def _steps(
    type_: str, item: Mapping[str, Json], begun: set[str]
) -> list[tuple[EventType, EventSubtype]]:
    """Return what an item's line tells: a call, an answer, both, or words."""
    kind = str(item.get("type") or item.get("item_type"))
    if type_ == "item.completed" and kind in _THREAD_WORDS:
        return [("assistant", _THREAD_WORDS[kind])]
    if kind not in _THREAD_TOOLS or type_ == "item.updated":
        return [("system", "")]
    name = str(item.get("id"))
    was_begun = name in begun
    begun.add(name)
    call: tuple[EventType, EventSubtype] = ("assistant", "tool_use")
    if type_ == "item.started":
        return [call]
    answer: tuple[EventType, EventSubtype] = ("user", "tool_result")
    return [answer] if was_begun else [call, answer]


LINE_LIMIT = 8_000_000
EVENT_LIMIT = 50_000
FAULT_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFault:
    """A line that could not be read, and why."""

    line: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What a stream told: its events in order, the lines that could not be read.

    fault_count: how many there were; `faults` names the first hundred. is_cut if the stream went on
    after the highest number of events.
    """

    events: tuple[RunEvent, ...]
    faults: tuple[StreamFault, ...] = ()
    fault_count: int = 0
    is_cut: bool = False


def read(lines: Iterable[str], limit: int = EVENT_LIMIT) -> Stream:
    """Return the events of a stream, at most so many."""
    events: list[RunEvent] = []
    faults: list[StreamFault] = []
    begun: set[str] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            events += _events_of(number, line, begun)
        except InvalidInput as fault:
            faults.append(StreamFault(line=number, problem=fault.message))
        if len(events) > limit:
            break
    return Stream(
        events=tuple(events[:limit]),
        faults=tuple(faults[:FAULT_LIMIT]),
        fault_count=len(faults),
        is_cut=len(events) > limit,
    )


def _events_of(number: int, line: str, begun: set[str]) -> Iterator[RunEvent]:
    if len(line) > LINE_LIMIT:
        raise InvalidInput(f"the line is longer than {LINE_LIMIT} characters")
    document = canonical.load(line)
    if not isinstance(document, dict):
        raise InvalidInput("the line is no JSON object")
    parts = cast("dict[str, Json]", document)
    type_ = parts.get("type")
    if not isinstance(type_, str):
        raise InvalidInput("the object has no `type`")
    if type_ in MESSAGE_TYPES:
        return message_events(number, parts)
    if type_ in THREAD_TYPES:
        return thread_events(number, parts, begun)
    return iter([event(number, "system", "", parts, time_of(parts.get("timestamp")))])


REPORT_LIMIT: Final = 8_000
"""Characters of what a hook reports that are kept at most."""
REPORTER: Final = "reported_by"
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


def event_of_report(report: HookReport, secrets: frozenset[str]) -> RunEvent:
    """Return a call of a tool as an event. secrets: the secrets that are masked wherever they stand."""
    payload: dict[str, Json] = {REPORTER: f"hook of {report.client}"}
    parts = _said(report)
    is_ours = str(parts.get(TOOL, "")).startswith(_OURS)
    for name in _KEPT if is_ours else (*_KEPT, *_CONTENT):
        if name in parts:
            payload[name] = parts[name]
    if not parts:
        what = "was no JSON object" if report.text else "was too large to be looked at"
        words = f"what the hook was told {what}: {report.size} bytes"
        payload["unread"] = words if report.size else "the hook was told nothing"
    clean = cast("dict[str, Json]", mask_json(payload, secrets))
    return event(0, "user", "tool_result", clean, report.at, limit=REPORT_LIMIT)


def event_of_loss(missing: int) -> RunEvent:
    """Return what says that so many calls are missing."""
    payload: dict[str, Json] = {
        REPORTER: "counterpoint",
        MISSING: missing,
        "of": "all agents of this ledger whose hooks report",
    }
    return event(0, "system", "", payload)


def _said(report: HookReport) -> dict[str, Json]:
    try:
        document = canonical.load(report.text)
    except InvalidInput:
        return {}
    return cast("dict[str, Json]", document) if isinstance(document, dict) else {}
