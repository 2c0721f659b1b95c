"""How runs are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final, cast

from counterpoint.core.rules.trust.commands import allowing_options
from counterpoint.dialects.foundry.nouns.specs import JournalEntry, PhaseLine
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms
from counterpoint.dialects.foundry.rules.autonomy.signals import (
    Place,
    Standing,
    loop_signal,
    recommended_actions,
)
from counterpoint.dialects.foundry.rules.autonomy.structure import Difference
from counterpoint.dialects.foundry.tools.shown import clipped
from counterpoint.dialects.foundry.verbs.sessions.views import Run, RunView, TaskLine
from counterpoint.dialects.paging import clip, sparse
from counterpoint.kernel.canonical import Json

_TITLE: Final = 200
_COUNTS: Final = 30
"""How many tasks and phases are told of which a run counts something."""
_NAMES: Final = 50
SUMMARY: Final = 600
"""The most bytes of what an event says."""


def run_line(run: Run) -> dict[str, Json]:
    """Return a run as it is listed."""
    return {
        "session_id": run.session,
        "spec_id": run.spec,
        "status": run.status,
        "effective_status": run.effective,
        "pause_reason": run.pause_reason or None,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "active_phase_id": run.phase or None,
        "tasks_completed": run.tasks_completed,
    }


def present_run(view: RunView) -> dict[str, Json]:
    """Return a run with all that is told of it."""
    run, phase, last = view.run, view.phase, view.last
    cycles = view.counters.cycles_of(phase.id) if phase else 0
    counted: dict[str, Json] = {
        "consecutive_errors": view.counters.consecutive_errors,
        "fidelity_review_cycles_in_active_phase": cycles,
    }
    is_at_task = last is not None and view.is_out and bool(last.task)
    standing = Standing(
        status=run.effective, pause_reason=run.pause_reason, failure_reason=run.failure_reason
    )
    target = Place(
        session=run.session,
        spec=run.spec,
        phase=phase.id if phase else "",
        attempt=view.attempt,
        lacking="" if view.lacking.why else allowing_options(view.lacking.commands),
    )
    ways = recommended_actions(standing, target)
    return {
        **run_line(run),
        "active_phase_id": phase.id if phase else None,
        "failure_reason": run.failure_reason or None,
        "state_version": view.version,
        "posture_profile": view.posture or None,
        **present_terms(view.terms),
        "counters": {"tasks_completed": view.counters.tasks_completed, **counted},
        "retry_counters": {
            **counted,
            "phase_retry_counts": _counts(view.counters.phase_retries),
            "task_retry_counts": _counts(view.counters.task_retries),
        },
        "context": {"usage_pct": view.context_pct, "source": view.context_source},
        "last_heartbeat_at": view.heartbeat_at,
        "paused_at": view.paused_at or None,
        "last_step_id": last.id if last else None,
        "last_step_type": last.type if last else None,
        "current_task_id": last.task if last and is_at_task else None,
        "active_phase_progress": _progress(phase) if phase else None,
        "session_signal": loop_signal(standing),
        "next_action_hint": _hint(run, ways),
        "resume_context": _resume_context(view),
        **sparse(
            recommended_actions=cast("list[Json]", ways),
            gate_attempt_id=view.attempt,
            reason_code=view.reason_code,
        ),
    }


def present_terms(terms: Terms) -> dict[str, Json]:
    """Return what a run is held to."""
    return {
        "gate_policy": terms.policy,
        "limits": asdict(terms.limits),
        "stop_conditions": asdict(terms.stop),
        "write_lock_enforced": terms.is_locking,
    }


def session_defaults(terms: Terms) -> dict[str, Json]:
    """Return what a run is held to if its start says nothing else."""
    return {"gate_policy": terms.policy, **asdict(terms.limits), **asdict(terms.stop)}


def present_difference(difference: Difference) -> dict[str, Json]:
    """Return what a rebase found, each list cut to what fits."""
    return {
        name: cast("list[Json]", value)[:_NAMES] if isinstance(value, list) else value
        for name, value in difference.told().items()
    }


def present_event(run: Run, entry: JournalEntry) -> dict[str, Json]:
    """Return an event of a run."""
    about = dict(entry.metadata)
    action = about.get("action")
    return {
        "event_id": f"{run.session}:{entry.number}",
        "session_id": run.session,
        "spec_id": run.spec,
        "timestamp": entry.timestamp,
        "event_type": entry.entry_type,
        **sparse(action=action if isinstance(action, str) else ""),
        "title": clip(entry.title, _TITLE),
        "summary": clip(entry.content, SUMMARY),
        "author": clip(entry.author, _TITLE),
        **sparse(task_id=entry.task, details=clipped(about)),
    }


def _counts(counts: Mapping[str, int]) -> dict[str, Json]:
    """Return the highest of some counts, by name."""
    first = sorted(counts, key=lambda name: (-counts[name], name))[:_COUNTS]
    return {name: counts[name] for name in first}


def _progress(phase: PhaseLine) -> Json:
    return {
        "phase_id": phase.id,
        "title": clip(phase.title, _TITLE),
        "status": phase.status,
        "completed_tasks": phase.tally.completed,
        "total_tasks": phase.tally.total,
        "percentage": phase.tally.percentage,
    }


def _resume_context(view: RunView) -> Json:
    phase = view.phase
    return {
        "spec_id": view.run.spec,
        "spec_title": clip(view.title, _TITLE),
        "active_phase_id": phase.id if phase else None,
        "active_phase_title": clip(phase.title, _TITLE) if phase else None,
        "completed_task_count": view.counters.tasks_completed,
        "recent_completed_tasks": _tasks(view.recent),
        "completed_phases": list[Json](view.completed_phases[:_NAMES]),
        "pending_tasks_in_phase": _tasks(view.pending),
        "last_pause_reason": view.last_pause or None,
        "journal_available": True,
        "journal_hint": f"journal list spec_id={view.run.spec}",
    }


def _tasks(lines: Sequence[TaskLine]) -> Json:
    return [
        {"task_id": line.id, "title": clip(line.title, _TITLE), "phase_id": line.phase or None}
        for line in lines
    ]


def _hint(run: Run, ways: Sequence[Mapping[str, Json]]) -> str | None:
    """Return the call that goes on with a run; None if it is over."""
    if run.effective == "running":
        return f"task session-step next session_id={run.session}"
    if ways:
        return str(ways[0]["command"])
    return f"task session resume session_id={run.session}" if run.effective == "paused" else None
