"""The result of a supervision, and what a person does next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from counterpoint.cli.output import Output, one_line
from counterpoint.cli.supervise.screens import event_of
from counterpoint.cli.supervise.specrun import RunStatus
from counterpoint.dialects.foundry.runs.rules.signals import Decision, Reason
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.plurals import agree

SAID: Final[Mapping[Reason, str]] = {
    "": "",
    "agent_failed": "the agent ended with an error, and its run says nothing",
    "agent_left": "the agent ended before its run said that it may",
    "asked": "it was asked to stop",
    "blocked_runtime": "the run cannot go on here",
    "ended": "somebody ended the run",
    "failed": "the run failed",
    "lingering": "the agent worked on though its run had stopped",
    "no_progress": "the last round has brought the run nowhere",
    "paused": "somebody paused the run",
    "paused_needs_attention": "the run needs somebody",
    "rounds_used_up": "every round that it may have is used up",
    "spec_complete": "the spec is complete",
    "timed_out": "the agent took longer than a round may",
}
"""Why it ended, in words."""
_OF_AGENT: Final = frozenset({"agent_failed", "agent_left", "no_progress", "timed_out"})
_LAST_LINES: Final = 5
_TO_FILE: Final = (
    "It stays active until an agent is asked to call `lifecycle` with action=complete, spec_id={0}, or its file is moved to"
    " the folder `completed`."
)
_WIDE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a supervision.

    is_filed: whether nobody has to say any more that the spec is completed. look: how the run is left. why: of the pause or failure that it ended for, or a code. log: of the last agent; None without one. said: what that said last.
    """

    decision: Decision
    look: RunStatus
    is_filed: bool = True
    why: str = ""
    log: Path | None = None
    said: str = ""


def tell_outcome(out: Output, clock: Clock, spec: str, outcome: Outcome) -> None:
    """Tell what came of it: as the last event, or in words with what to do."""
    decision, look = outcome.decision, outcome.look
    if not out.json:
        print_outcome(out, spec, outcome)
        return
    out.answer_line(
        event_of(
            "ended",
            clock,
            act=decision.act,
            because=decision.reason,
            words=SAID[decision.reason],
            **{**look.shown(), "reason": outcome.why},
            gate_attempt_id=look.attempt,
            log=str(outcome.log or ""),
            recommended_actions=[dict(action) for action in look.actions],
            advice=advice(spec, outcome),
        )
    )


def print_outcome(out: Output, spec: str, outcome: Outcome) -> None:
    """Say what came of it, and what to do."""
    decision, look = outcome.decision, outcome.look
    why = f" ({outcome.why})" if decision.act == "escalate" and outcome.why else ""
    out.line(
        f"Ended: {SAID[decision.reason]}{why}. {look.done} of {agree(look.total, 'task', 'is')} done.",
        style="green" if decision.is_success else "yellow",
    )
    if decision.reason in _OF_AGENT:
        for line in outcome.said.splitlines()[-_LAST_LINES:]:
            out.line(f"  | {one_line(line, _WIDE)}")
    for line in advice(spec, outcome):
        out.line(line)


def _advised(action: Mapping[str, str]) -> str:
    """Return what is recommended in words: a command of a person as it is typed, else the tool that an agent calls."""
    description, command = action["description"], action["command"]
    return (
        f"{description} `{command}`"
        if command.startswith("counterpoint ")
        else f"{description} (tool: {command})"
    )


def advice(spec: str, outcome: Outcome) -> list[str]:
    """Return what a person does next; nothing where nothing is left to do."""
    decision, look = outcome.decision, outcome.look
    if decision.is_success:
        return [] if outcome.is_filed else [_TO_FILE.format(spec)]
    again = f"counterpoint supervise {spec}"
    if decision.act == "stop":
        return [f"To go on: `{again} -- AGENT…`."]
    lines = [_advised(action) for action in look.actions]
    if look.attempt:
        phase = f"{spec}/{look.phase}"
        lines.append(
            f"Look at it with `counterpoint show {phase}`; it is good: `counterpoint approve {phase}`."
        )
    if decision.reason == "paused_needs_attention":
        lines.append(f"When that is seen to: `{again} --resume -- AGENT…`.")
    elif decision.reason in _OF_AGENT:
        lines.append(f"Read {outcome.log}; to go on: `{again} -- AGENT…`.")
    return lines
