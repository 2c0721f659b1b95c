"""Heartbeats of runs, and how much of its context an agent has used."""

from __future__ import annotations

from dataclasses import dataclass, replace

from counterpoint.dialects.foundry.nouns.autonomy import Limits, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.contexts import Sidecar, measure_use, report_use
from counterpoint.dialects.foundry.verbs.sessions.rows import context_in, with_context
from counterpoint.kernel.clock import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A heartbeat. pct, tokens: how much of its context an agent says it has used; None and 0 where it does not say."""

    pct: int | None = None
    tokens: int = 0


def apply_heartbeat(
    row: SpecSession,
    heartbeat: Heartbeat | None,
    now: Timestamp,
    limits: Limits,
    sidecar: Sidecar | None = None,
) -> SpecSession:
    """Return a run after a call. heartbeat: reported with the call; sidecar: content of the file beside the agent's sandbox."""
    use = context_in(row)
    if heartbeat is not None and heartbeat.pct is not None:
        use = report_use(use, heartbeat.pct, now, limits, heartbeat.tokens)
    if sidecar is not None:
        use = measure_use(use, sidecar, now, limits)
    row = with_context(row, use)
    return row if heartbeat is None else replace(row, heartbeat_at=now)
