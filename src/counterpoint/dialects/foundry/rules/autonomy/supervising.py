"""What a supervisor does: start an agent, wait, end it, stop, or ask for somebody.

How the run stands and what the agent does are the two sides of one table. What it says is held against the rest in this order:

    somebody asked to stop               the agent is ended, then it stops
    the agent stays though the run does not go on   it is waited for, so long; then it is ended
    the run needs somebody, and the caller says that this was seen to   an agent is started
    a round that has brought the run nowhere        nobody starts the next
    no round is left                                it stops

Of what a run says only `phase_complete` goes on (`signals`). An agent always begins with an empty context. Nothing here knows of
processes, clocks or tools: whoever supervises says what it sees, and does what is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from counterpoint.dialects.foundry.rules.autonomy.signals import Standing, loop_signal

RunState = Literal[
    "absent",
    "running",
    "phase_complete",
    "spec_complete",
    "failed",
    "blocked_runtime",
    "paused_needs_attention",
    "paused",
    "ended",
]
"""How a run stands for a supervisor: its loop signal, and without one its state. `paused`: by somebody."""
RUN_STATES: Final[tuple[RunState, ...]] = get_args(RunState)
AgentState = Literal["none", "working", "left", "failed", "timed_out"]
"""What the agent does. `none`: this supervisor has started none yet; `left`: it ended by itself, and said that all is well."""
AGENT_STATES: Final[tuple[AgentState, ...]] = get_args(AgentState)
Act = Literal["start", "wait", "end_agent", "stop", "escalate"]
"""`escalate`: to stop, and to ask for a person."""
Way = Literal["", "begin", "resume", "go_on"]
"""What has to happen to the run before an agent is started: it begins, is resumed, or goes on as it is."""
Reason = Literal[
    "",
    "agent_failed",
    "agent_left",
    "asked",
    "blocked_runtime",
    "ended",
    "failed",
    "lingering",
    "no_progress",
    "paused",
    "paused_needs_attention",
    "rounds_used_up",
    "spec_complete",
    "timed_out",
]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)
LINGER_SECONDS: Final = 120.0
"""How long an agent may still work when its run does not go on: it has to hear so, and to say goodbye."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do. way: for `start` alone. reason: why it ends, or why the agent does."""

    act: Act
    reason: Reason = ""
    way: Way = ""

    @property
    def is_success(self) -> bool:
        """Whether the spec is complete, so that there is nothing more to do."""
        return self.reason == "spec_complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a supervisor sees.

    rounds, limit: how many agents it has started, and may start. has_moved: whether the run got anywhere in the last round.
    lingered: seconds for which the agent has worked on since the run stopped. is_asked: whether somebody asked it to stop.
    is_seen_to: whether the caller says that what the run needed somebody for was seen to.
    """

    run: RunState
    agent: AgentState
    rounds: int = 0
    limit: int = 1
    has_moved: bool = True
    lingered: float = 0.0
    is_asked: bool = False
    is_seen_to: bool = False


_WAIT: Final = Decision(act="wait")
_RESUME: Final = Decision(act="start", way="resume")


def _row(none: Decision, *, absent: Decision, **others: Decision) -> dict[AgentState, Decision]:
    """Return a row of the table; an agent that works is waited for, and however it ended is like `left` unless it is said."""
    return {
        "none": none,
        "working": _WAIT,
        "left": absent,
        "failed": others.get("failed", absent),
        "timed_out": others.get("timed_out", absent),
    }


def _always(act: Act, reason: Reason) -> dict[AgentState, Decision]:
    return _row(Decision(act=act, reason=reason), absent=Decision(act=act, reason=reason))


TABLE: Final[Mapping[RunState, Mapping[AgentState, Decision]]] = {
    "absent": _row(
        Decision(act="start", way="begin"), absent=Decision(act="escalate", reason="ended")
    ),
    "running": _row(
        Decision(act="start", way="go_on"),
        absent=Decision(act="escalate", reason="agent_left"),
        failed=Decision(act="escalate", reason="agent_failed"),
        timed_out=Decision(act="escalate", reason="timed_out"),
    ),
    "phase_complete": _row(_RESUME, absent=_RESUME),
    "spec_complete": _always("stop", "spec_complete"),
    "failed": _always("escalate", "failed"),
    "blocked_runtime": _always("escalate", "blocked_runtime"),
    "paused_needs_attention": _always("escalate", "paused_needs_attention"),
    "paused": _row(_RESUME, absent=Decision(act="stop", reason="paused")),
    "ended": _row(Decision(act="start", way="begin"), absent=Decision(act="stop", reason="ended")),
}
"""By the run, then by the agent. With no agent yet somebody has asked for this run just now: so one that was paused is resumed."""


def run_state(standing: Standing) -> RunState:
    """Return how a run stands for a supervisor; a standing without a status and a code is no run at all."""
    signal = loop_signal(standing)
    if signal is not None:
        return signal
    if standing.status == "paused":
        return "paused"
    if standing.status == "ended":
        return "ended"
    return "running" if standing.status else "absent"


def decide(situation: Situation) -> Decision:
    """Return what a supervisor does."""
    if situation.is_asked:
        return Decision(act="end_agent" if situation.agent == "working" else "stop", reason="asked")
    decision = TABLE[situation.run][situation.agent]
    if decision.act == "wait" and situation.run != "running":
        return _lingering(situation)
    if decision.reason == "paused_needs_attention" and situation.is_seen_to:
        decision = _RESUME if situation.agent == "none" else decision
    if decision.act != "start":
        return decision
    if situation.agent != "none" and not situation.has_moved:
        return Decision(act="escalate", reason="no_progress")
    if situation.rounds >= situation.limit:
        return Decision(act="stop", reason="rounds_used_up")
    return decision


def _lingering(situation: Situation) -> Decision:
    if situation.lingered < LINGER_SECONDS:
        return _WAIT
    return Decision(act="end_agent", reason="lingering")
