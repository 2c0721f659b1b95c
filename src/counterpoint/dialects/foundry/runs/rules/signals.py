"""What a run tells its caller, and its supervisor.

The signals for a supervisor: whether to continue, and what to do.
signal                  raised by
phase_complete          a pause for that: the only signal on which a supervisor goes on
spec_complete           a run that is complete
failed                  a run that failed, and SESSION_UNRECOVERABLE
blocked_runtime         refusals that the agent cannot get past by trying again; invalid evidence from the third time on
paused_needs_attention  every other pause that nobody asked for, and SPEC_REBASE_REQUIRED
none                    a run that goes on, that somebody paused or ended, and every other refusal

What a supervisor does: start an agent, wait, end it, stop, or ask for somebody.
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

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from counterpoint.core.rules.wording import parse
from counterpoint.dialects.foundry.models.runs import LoopSignal
from counterpoint.kernel.canonical import Json

EVIDENCE_FAULTS: Final = 3
"""Reports in a row with invalid evidence after which a run needs help."""
_GATE_CODES: Final = ("REQUIRED_GATE_UNSATISFIED", "GATE_AUDIT_FAILURE", "GATE_INTEGRITY_CHECKSUM")
_PROOF_CODES: Final = (
    *("STEP_PROOF_MISSING", "STEP_PROOF_MISMATCH"),
    *("STEP_PROOF_CONFLICT", "STEP_PROOF_EXPIRED"),
)
_RECEIPT_CODES: Final = ("VERIFICATION_RECEIPT_MISSING", "VERIFICATION_RECEIPT_INVALID")
EVIDENCE: Final = "INVALID_GATE_EVIDENCE"
CODE_SIGNALS: Final[Mapping[str, LoopSignal]] = {
    **dict.fromkeys(_GATE_CODES, "blocked_runtime"),
    "AUTHORIZATION": "blocked_runtime",
    **dict.fromkeys(_PROOF_CODES, "blocked_runtime"),
    **dict.fromkeys(_RECEIPT_CODES, "blocked_runtime"),
    "SESSION_UNRECOVERABLE": "failed",
    "SPEC_REBASE_REQUIRED": "paused_needs_attention",
}
"""The signal of each refusal that has one whatever came before."""
PAUSE_SIGNALS: Final[Mapping[str, LoopSignal | None]] = {
    "user": None,
    "context_limit": "paused_needs_attention",
    "error_threshold": "paused_needs_attention",
    "blocked": "paused_needs_attention",
    "gate_failed": "paused_needs_attention",
    "gate_review_required": "paused_needs_attention",
    "task_limit": "paused_needs_attention",
    "heartbeat_stale": "paused_needs_attention",
    "step_stale": "paused_needs_attention",
    "phase_complete": "phase_complete",
    "fidelity_cycle_limit": "paused_needs_attention",
}
STATUS_SIGNALS: Final[Mapping[str, LoopSignal]] = {
    "completed": "spec_complete",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a run stands after a call.

    error_code: of its refusal, empty for an answer. evidence_faults: reports in a row, this one included, with invalid evidence.
    """

    status: str = ""
    pause_reason: str = ""
    failure_reason: str = ""
    error_code: str = ""
    evidence_faults: int = 0


def loop_signal(standing: Standing) -> LoopSignal | None:
    """Return what a supervisor is told, None for nothing."""
    code = standing.error_code
    if code:
        if code == EVIDENCE and standing.evidence_faults >= EVIDENCE_FAULTS:
            return "blocked_runtime"
        return CODE_SIGNALS.get(code)
    if standing.status == "paused":
        return PAUSE_SIGNALS.get(standing.pause_reason, "paused_needs_attention")
    return STATUS_SIGNALS.get(standing.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the calls and commands that are recommended name; what is empty is left out of them.

    spec, phase: by their ids. attempt: the one at the gate that waits for a person. lacking: the options with which a person
    lets the commands of verifications be run that are refused here.
    """

    session: str = ""
    spec: str = ""
    phase: str = ""
    attempt: str = ""
    lacking: str = ""

    @property
    def node(self) -> str:
        """The name of the phase for people; empty without one."""
        return name_node(self.spec, self.phase) if self.spec and self.phase else ""


def name_node(spec: str, node: str) -> str:
    """Return how a person names a node of a spec: a plan that is no spec has no names but the ids of its items."""
    root, item = parse(spec), parse(node)
    return node if root and item and root[0] == item[0] else f"{spec}/{node}"


_ACKNOWLEDGING: Final = (
    "task session resume session_id={session} acknowledge_gate_review=true"
    " acknowledged_gate_attempt_id={attempt}"
)
_ACTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "resume_in_fresh_context": (
        "Resume the run with an agent whose context is empty.",
        "task session resume session_id={session}",
    ),
    "inspect_recent_failures": (
        "Read the last events of the run to see why steps failed.",
        "task session-events session_id={session}",
    ),
    "reset_session_if_needed": (
        "If the run cannot go on, end it and start another.",
        "task session end session_id={session} reason_code=stuck_agent",
    ),
    "resolve_task_blockers": (
        "Resolve what blocks the tasks, or wait until others who hold them are done (`task check-deps` tells it of each), then resume.",
        "task list-blocked spec_id={spec}",
    ),
    "review_gate_findings": (
        "Review fidelity findings and apply remediation before retry.",
        "review fidelity spec_id={spec} phase_id={phase}",
    ),
    "acknowledge_manual_gate_review": (
        "Review the gate, then resume with acknowledge_gate_review and its attempt.",
        _ACKNOWLEDGING,
    ),
    "escalate_fidelity_cycle_limit": (
        "Have a person look at the phase: it was reviewed as often as it may be.",
        "review fidelity spec_id={spec} phase_id={phase}",
    ),
    "refresh_heartbeat_or_resume": (
        "See whether the agent is alive; resume when one is.",
        "task session resume session_id={session}",
    ),
    "replay_or_reset_stale_step": (
        "Have the step replayed and reported, or resume: then it is decided anew.",
        "task session-step replay session_id={session}",
    ),
    "start_followup_session": (
        "End this run and start another for what is left.",
        "task session start spec_id={spec} force=true",
    ),
    "rebase_session_to_spec": (
        "Rebase the run to the spec as it is. The report was taken: then ask for the next step without one.",
        "task session rebase session_id={session}",
    ),
    "use_authorized_role": (
        "Switch to a role authorized for session-step actions.",
        "server capabilities",
    ),
    "satisfy_or_waive_required_gate": (
        "Have the gate pass, or have a maintainer waive it.",
        "task gate-waiver session_id={session} phase_id={phase}",
    ),
    "rerun_gate_with_fresh_evidence": (
        "Have the gate reviewed again for the step that is out.",
        "review fidelity-gate session_id={session} spec_id={spec} phase_id={phase}",
    ),
    "request_fresh_gate_evidence": (
        "Have the gate reviewed for the step that is out, and report the attempt it names.",
        "review fidelity-gate session_id={session} spec_id={spec} phase_id={phase}",
    ),
    "request_fresh_step_proof": (
        "Have the step replayed, which gives it a fresh proof.",
        "task session-step replay session_id={session}",
    ),
    "regenerate_verification_receipt": (
        "Execute the verification again, and report the receipt unchanged; report a failure if it is refused.",
        "verification execute session_id={session} spec_id={spec}",
    ),
    "allow_verification_command": (
        "Have a person let the commands of verifications be run: they are refused here.",
        "counterpoint trust {lacking}",
    ),
    "collect_failure_context": (
        "Inspect failure details and recent session events before retry.",
        "task session-events session_id={session}",
    ),
    "reset_or_restart_session": (
        "Reset the run, and start another.",
        "task session reset session_id={session} reason_code=operator_override",
    ),
    "manual_triage": (
        "Have a person look at the run.",
        "task session status session_id={session}",
    ),
    "resolve_runtime_blocker": (
        "Remove what the refusal names, then go on.",
        "task session status session_id={session}",
    ),
}
"""Each action with its description and the call that goes with it."""
_PEOPLE: Final[Mapping[str, str]] = {
    "acknowledge_manual_gate_review": "A person opens it with `counterpoint approve {node}`.",
    "escalate_fidelity_cycle_limit": "A person looks with `counterpoint show {node}`, and opens the gate with"
    " `counterpoint approve {node}`.",
}
"""What people do about an action, where it names all that it has to."""
_NAMED: Final = re.compile(r"\{(\w+)\}")
_PAUSE_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "user": (),
    "context_limit": ("resume_in_fresh_context",),
    "error_threshold": ("inspect_recent_failures", "reset_session_if_needed"),
    "blocked": ("resolve_task_blockers",),
    "gate_failed": ("review_gate_findings",),
    "gate_review_required": ("acknowledge_manual_gate_review",),
    "task_limit": ("start_followup_session",),
    "heartbeat_stale": ("refresh_heartbeat_or_resume",),
    "step_stale": ("replay_or_reset_stale_step",),
    "phase_complete": (),
    "fidelity_cycle_limit": ("escalate_fidelity_cycle_limit",),
}
_CODE_ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "SPEC_REBASE_REQUIRED": ("rebase_session_to_spec",),
    "AUTHORIZATION": ("use_authorized_role",),
    "REQUIRED_GATE_UNSATISFIED": ("satisfy_or_waive_required_gate",),
    "GATE_AUDIT_FAILURE": ("rerun_gate_with_fresh_evidence",),
    "GATE_INTEGRITY_CHECKSUM": ("rerun_gate_with_fresh_evidence",),
    EVIDENCE: ("request_fresh_gate_evidence",),
    "STEP_STALE": ("replay_or_reset_stale_step",),
    **dict.fromkeys(_PROOF_CODES, ("request_fresh_step_proof",)),
    **dict.fromkeys(_RECEIPT_CODES, ("regenerate_verification_receipt",)),
    "SESSION_UNRECOVERABLE": ("collect_failure_context", "reset_or_restart_session"),
}
_ALLOW: Final = "allow_verification_command"
_NOWHERE: Final = Place()
_FAILED: Final = ("collect_failure_context", "reset_or_restart_session")


def recommended_actions(standing: Standing, target: Place = _NOWHERE) -> list[dict[str, Json]]:
    """Return what to do about a run that stopped, the first first; target: what the calls are to name.

    Each is `{action, description, command}`; a run that goes on has none.
    """
    actions: list[dict[str, Json]] = []
    for action in _actions(standing, has_lacking=bool(target.lacking)):
        description, command = _ACTIONS[action]
        people = _PEOPLE.get(action, "")
        more = _filled(people, target) if people and not _missing(people, target) else ""
        words = (word for word in command.split(" ") if not _missing(word, target))
        actions.append(
            {
                "action": action,
                "description": f"{description} {more}".rstrip(),
                "command": _filled(" ".join(words), target),
            }
        )
    return actions


def _missing(text: str, target: Place) -> bool:
    return any(not getattr(target, name) for name in _NAMED.findall(text))


def _filled(text: str, target: Place) -> str:
    return _NAMED.sub(lambda match: str(getattr(target, match[1])), text)


def _actions(standing: Standing, *, has_lacking: bool = False) -> tuple[str, ...]:
    signal = loop_signal(standing)
    if has_lacking and standing.pause_reason == "error_threshold":
        return (_ALLOW, *_actions(standing))
    if standing.error_code:
        fallback = ("resolve_runtime_blocker",) if signal == "blocked_runtime" else ()
        return _CODE_ACTIONS.get(standing.error_code, fallback)
    if standing.status == "failed":
        is_changed = standing.failure_reason == "spec_structure_changed"
        return (*(("rebase_session_to_spec",) if is_changed else ()), *_FAILED)
    if standing.status == "paused":
        return _PAUSE_ACTIONS.get(standing.pause_reason, ("manual_triage",))
    return ()


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
