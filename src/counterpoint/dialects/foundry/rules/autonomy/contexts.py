"""How much of its context an agent has used: measured, reported or estimated.

What counts, in this order: a file beside the agent's sandbox that is fresh; what the agent said; an estimate. The
estimate is the last reported use plus a share for each step since then. It is never the base of another estimate, so a
run that reports 20 % each time stays there, and one that reports nothing is at the share of its steps, no more. A report
that has grown stale counts a fixed penalty higher.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from counterpoint.dialects.foundry.nouns.autonomy import ContextSource, ContextUse, Limits
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import object_of
from counterpoint.kernel.clock import TOLERANCE_MS, Timestamp, elapsed_ms, moment, stamp
from counterpoint.kernel.errors import InvalidInput

FULL: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The present use of the context, and its source."""

    pct: int
    source: ContextSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """What the file beside a sandbox said, and when it was written."""

    pct: int
    at: Timestamp


def sidecar_of(content: bytes, written: Timestamp) -> Sidecar | None:
    """Parse the file beside a sandbox: `{context_usage_pct, timestamp}`; None if it is invalid.

    written: the time of the file, used where the content has none.
    """
    try:
        fields = object_of(canonical.load(content))
        timestamp = fields.get("timestamp")
        at = _parse_time(timestamp) if isinstance(timestamp, str) else written
    except (InvalidInput, ValueError, OverflowError):
        return None
    pct = fields.get("context_usage_pct")
    if isinstance(pct, bool) or not isinstance(pct, (int, float)) or not 0 <= pct <= FULL:
        return None
    return Sidecar(pct=int(pct), at=at)


def current_use(use: ContextUse, limits: Limits) -> Reading:
    """Return the present use of the context, reported or estimated."""
    if use.source and not use.steps:
        return Reading(pct=use.pct, source=use.source)
    estimate = use.pct + limits.avg_pct_per_step * use.steps
    if use.source and use.steps >= limits.context_staleness_threshold:
        estimate += limits.context_staleness_penalty_pct
    return Reading(pct=min(FULL, estimate), source="estimate")


def count_step(use: ContextUse) -> ContextUse:
    """Return the use after one more step was reported back."""
    return replace(use, steps=use.steps + 1)


def report_use(
    use: ContextUse, pct: int, at: Timestamp, limits: Limits, tokens: int = 0
) -> ContextUse:
    """Return the use after a report of the agent.

    It cannot fall, so that no agent talks itself out of a limit, except as deep as only a fresh context does: by the
    threshold for that or more, to no more than half of what a run stops at. A smaller fall keeps the higher value.
    """
    counted = pct if pct >= use.pct or is_fresh(use, pct, limits) else use.pct
    return ContextUse(pct=counted, source="caller", at=at, tokens=tokens or use.tokens)


def is_fresh(use: ContextUse, pct: int, limits: Limits) -> bool:
    """Whether so low a use says that the agent has a fresh context."""
    is_deep = use.pct - pct >= limits.context_reset_threshold_pct
    return is_deep and 2 * pct <= limits.context_threshold_pct


def measure_use(use: ContextUse, sidecar: Sidecar, now: Timestamp, limits: Limits) -> ContextUse:
    """Return the use measured by the file beside the sandbox; unchanged if that is too old, or of the future."""
    age = elapsed_ms(sidecar.at, now)
    if not -TOLERANCE_MS <= age <= limits.sidecar_max_age_seconds * 1000:
        return use
    pct = min(FULL, max(0, sidecar.pct))
    return ContextUse(pct=pct, source="sidecar", at=sidecar.at, tokens=use.tokens)


def _parse_time(text: str) -> Timestamp:
    """Return a time that has an offset; ValueError for any other text."""
    time = moment(text)
    if time.utcoffset() is None:
        raise ValueError(text)
    return stamp(time)
