"""Signs of life of runs, with how much of their context agents have used."""

from __future__ import annotations

from dataclasses import dataclass, replace

from counterpoint.dialects.foundry.nouns.autonomy import Limits, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.contexts import Sidecar, measured, told
from counterpoint.dialects.foundry.verbs.sessions.rows import context_in, with_context
from counterpoint.kernel.clock import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A sign of life. pct, tokens: how much of its context an agent has used, as it says; None and 0 where it does not."""

    pct: int | None = None
    tokens: int = 0


def signed(
    row: SpecSession,
    sign: Sign | None,
    now: Timestamp,
    limits: Limits,
    sidecar: Sidecar | None = None,
) -> SpecSession:
    """Return a run after a call. sign: what came with it; sidecar: what the file beside the sandbox of its agent says."""
    use = context_in(row)
    if sign is not None and sign.pct is not None:
        use = told(use, sign.pct, now, limits, sign.tokens)
    if sidecar is not None:
        use = measured(use, sidecar, now, limits)
    row = with_context(row, use)
    return row if sign is None else replace(row, heartbeat_at=now)
