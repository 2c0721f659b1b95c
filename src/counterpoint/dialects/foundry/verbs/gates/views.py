"""Answers about gates: a review of a phase, and a waiver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from counterpoint.dialects.foundry.nouns.autonomy import GatePolicy, Verdict
from counterpoint.dialects.foundry.verbs.reviews.panel import Settled
from counterpoint.kernel.canonical import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReview:
    """What a reviewer found about a phase in one attempt at its gate; every name of a node is its id.

    policy: the one that counts. opens: whether the gate opens with this, or is open already. again: whether it was found before, in the
    same attempt. findings: the heaviest first. settled: what models came to that were asked now; of nobody if none was. path: of the file
    that says what they found.
    """

    spec: str
    session: str
    phase: str
    step: str
    attempt: str
    verdict: Verdict
    policy: GatePolicy
    opens: bool
    reviewer: str
    findings: Sequence[Json]
    again: bool = False
    settled: Settled = field(default_factory=Settled)
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What reviewers say of a spec, of a phase or of a task as it is now, and what people asked for. scope: which of them.

    findings: of the rules. models: of models, as far as any were asked. path: of the file that has all of it. left: files that were not
    shown to models for want of room. is_unchanged: whether nothing had changed since the last review, so that none was asked.
    """

    spec: str
    title: str
    scope: str
    verdict: Verdict | Literal["unknown"]
    findings: Sequence[Json]
    asked: Sequence[str] = ()
    models: Sequence[Json] = ()
    settled: Settled = field(default_factory=Settled)
    path: str = ""
    left: Sequence[str] = ()
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaivedGate:
    """A gate that was waived. session: the run of the spec that is live or was the last; empty if there was none."""

    spec: str
    session: str
    phase: str
    gate: str
    waiver: str
    reason_code: str
    reason_detail: str
    waived_at: str
    independence: str
