"""The result of a supervision, and what a person does next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from counterpoint.cli.output import Output, one_line
from counterpoint.cli.supervise.screens import event_of
from counterpoint.cli.supervise.specrun import RunStatus
from counterpoint.dialects.foundry.runs.rules.signals import Decision, Reason, name_node
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
_LOOK: Final = (
    "Look at it with `counterpoint show {phase}`; it is good: `counterpoint approve {phase}`."
)
_FOR_PEOPLE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("acknowledge_manual_gate_review", "escalate_fidelity_cycle_limit"), _LOOK),
    "review_gate_findings": "Read what the review found: `counterpoint show {phase}`.",
    "inspect_recent_failures": "See why steps failed: `counterpoint log --item {spec}`.",
    "collect_failure_context": "See what failed: `counterpoint log --item {spec}`.",
    "resolve_task_blockers": "See what is in the way of each task: `counterpoint next`.",
    "satisfy_or_waive_required_gate": "See what the gate asks for: `counterpoint show {phase}`.",
    **dict.fromkeys(("resume_in_fresh_context", "refresh_heartbeat_or_resume"), ""),
    "replay_or_reset_stale_step": "",
}
"""What a person types where the recommended action is a call of an agent; empty where resuming does it."""


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


def _advised(spec: str, phase: str, action: Mapping[str, str]) -> str:
    """Return what is recommended in words: a command as a person types it, else what an agent is told to call."""
    name, description, command = (
        action.get(key, "") for key in ("action", "description", "command")
    )
    if name in _FOR_PEOPLE:
        text = _FOR_PEOPLE[name].format(spec=spec, phase=phase)
        return text if phase or "{phase}" not in _FOR_PEOPLE[name] else ""
    is_for_people = command.startswith("counterpoint ")
    return (
        f"{description} `{command}`"
        if is_for_people
        else f"{description} Have an agent call `{command}`."
    )


def advice(spec: str, outcome: Outcome) -> list[str]:
    """Return what a person does next; nothing where nothing is left to do."""
    decision, look = outcome.decision, outcome.look
    if decision.is_success:
        return [] if outcome.is_filed else [_TO_FILE.format(spec)]
    again = f"counterpoint supervise {spec}"
    if decision.act == "stop":
        return [f"To go on: `{again} -- AGENT…`."]
    phase = name_node(spec, look.phase) if look.phase else ""
    lines = [_advised(spec, phase, action) for action in look.actions]
    if look.attempt:
        lines.append(_LOOK.format(phase=phase))
    lines = [line for line in dict.fromkeys(lines) if line]
    if decision.reason == "paused_needs_attention":
        lines.append(f"When that is seen to: `{again} --resume -- AGENT…`.")
    elif decision.reason in _OF_AGENT:
        lines.append(f"Read {outcome.log}; to go on: `{again} -- AGENT…`.")
    return lines
