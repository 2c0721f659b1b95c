"""What is told of reviews of specs and plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from counterpoint.dialects.foundry.nouns.specs import SpecLine
from counterpoint.dialects.foundry.rules.reviews.feedback import Modification, Remark
from counterpoint.dialects.foundry.verbs.reviews.panel import Settled
from counterpoint.kernel.canonical import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecReview:
    """A review of a spec. found: what was found, all reviewers' remarks in one, or what the one says whose verdict counts. settled: of nobody if it was not held."""

    line: SpecLine
    template: str
    found: Mapping[str, Json]
    settled: Settled = field(default_factory=Settled)
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReview:
    """A review of a plan. path: of the review, and own: of what each of several reviewers said, by names. settled: of nobody if it was not held."""

    plan: str
    name: str
    remarks: tuple[Remark, ...] = ()
    settled: Settled = field(default_factory=Settled)
    path: str = ""
    own: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Remarks that were read from a file, and what they ask for. settled: who put them in order, None if they were."""

    spec: str
    path: str
    remarks: tuple[Remark, ...]
    asked: tuple[Modification, ...]
    settled: Settled | None = None
