"""Answers about reviews of specs and plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from counterpoint.dialects.foundry.nouns.specs import SpecLine
from counterpoint.dialects.foundry.rules.reviews.feedback import Modification, Remark
from counterpoint.dialects.foundry.verbs.reviews.panel import Settled
from counterpoint.kernel.canonical import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecReview:
    """A review of a spec. found: remarks of all reviewers in one, or the answer of the one whose verdict counts. settled: without answers if it was not held."""

    line: SpecLine
    template: str
    found: Mapping[str, Json]
    settled: Settled = field(default_factory=Settled)
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReview:
    """A review of a plan. path: of the review; own: paths of the single answers of several reviewers, by name. settled: without answers if it was not held."""

    plan: str
    name: str
    remarks: tuple[Remark, ...] = ()
    settled: Settled = field(default_factory=Settled)
    path: str = ""
    own: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Remarks that were read from a file, and the changes they ask for. settled: who put them in order; None if the file was in order."""

    spec: str
    path: str
    remarks: tuple[Remark, ...]
    asked: tuple[Modification, ...]
    settled: Settled | None = None
