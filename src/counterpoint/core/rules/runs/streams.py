"""Reading the event stream of an agent's command line, one JSON object a line.

A line is told by its `type`. A type that neither command line has is kept as a `system` event with the
whole object. A line that is no JSON object, has no type or is too long is named with its number and
left out; an empty one is passed over. The rest of the stream is read all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from counterpoint.core.rules.runs import messages, threads
from counterpoint.core.rules.runs.events import RunEvent, event, time_of
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

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
    told = canonical.load(line)
    if not isinstance(told, dict):
        raise InvalidInput("the line is no JSON object")
    parts = cast("dict[str, Json]", told)
    type_ = parts.get("type")
    if not isinstance(type_, str):
        raise InvalidInput("the object has no `type`")
    if type_ in messages.TYPES:
        return messages.events_of(number, parts)
    if type_ in threads.TYPES:
        return threads.events_of(number, parts, begun)
    return iter([event(number, "system", "", parts, time_of(parts.get("timestamp")))])
