"""Runs of agents and the events of their streams."""

from __future__ import annotations

from typing import ClassVar

from counterpoint.core.model.rows import (
    Agent,
    JsonText,
    Name,
    Noun,
    Number,
    Prose,
    Touched,
)
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

NOT_TOLD = -1
"""Stands for a number that a run's stream does not tell."""
REPORTED = "reported"
"""The status of a run that hooks tell of, call by call: its id is that of the session it is of, and nothing says how it ended."""
MISSING = "missing"
TOOL = "tool_name"
INPUT = "tool_input"
"""Of what is kept of such a call: how many events before it are in no ledger, its tool, and what that was given."""


@frozen
class Run(Noun):
    """One run of an agent, from its stream; costs in millionths of a dollar."""

    table: ClassVar[str] = "runs"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number")

    id: Name
    number: Number
    item: Name
    profile: Name
    agent: Agent
    status: Name
    error: Prose
    cost_micros: int
    duration_ms: int
    turns: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    events: int
    created_at: Timestamp
    updated_at: Touched


@frozen
class StreamEvent(Noun):
    """One event of a run; `number` counts them from 1, `payload` is JSON text."""

    table: ClassVar[str] = "run_events"
    key: ClassVar[tuple[str, ...]] = ("project", "run", "number")
    indexes: ClassVar[tuple[str, ...]] = ("item,run,number",)

    run: Name
    number: int
    item: Name
    type: Name
    subtype: Name
    payload: JsonText
    is_cut: bool
    time: Name
    line: int


@frozen
class RunOrder:
    """Which run a stream is of; what is empty is found out or made up."""

    run: str = ""
    item: str = ""
    profile: str = ""
    agent: str = ""


@frozen
class HookReport:
    """What a hook of a client was told of one call of a tool, as it came.

    text: empty if it was too large to be looked at. size: how many bytes it has. at: when it came.
    """

    client: str
    text: str
    size: int
    at: Timestamp


@frozen
class Ingested:
    """A run after its stream was read: how many events were kept now, which lines were no events."""

    run: Run
    kept: int
    faults: tuple[str, ...]
    fault_count: int
    is_cut: bool


@frozen
class EventFilter:
    """Which events are asked for: of a run, of an item, or of both."""

    run: str = ""
    item: str = ""
    type: str = ""
    subtype: str = ""


@frozen
class EventPage:
    """Some events in their order, and how many there are in all."""

    events: tuple[StreamEvent, ...]
    total: int
