"""A store with a spec whose runs are walked through at random, and who is around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.dialects.foundry.models.runs import SpecSession
from counterpoint.dialects.foundry.reviews.panel import Reviewers
from counterpoint.dialects.foundry.reviews.rules.material import PhaseWork, Review
from counterpoint.dialects.foundry.runs.files import AutonomyFiles
from counterpoint.dialects.foundry.runs.gates import EvidenceKeys
from counterpoint.dialects.foundry.runs.rows import RunSelector
from counterpoint.dialects.foundry.runs.rules.deciding import step_of
from counterpoint.dialects.foundry.runs.rules.limits import read_terms
from counterpoint.dialects.foundry.runs.starting import Starting
from counterpoint.dialects.foundry.runs.stepping import Replaying, Stepping
from fakes.run_reference import PLAN, is_verify
from fakes.studio import Studio

SPEC: Final = "walk-2026-01-02-001"
OTHER: Final = "other-2026-01-02-001"
COMMAND: Final = "check"


def draft(spec: str) -> Draft:
    """Return the spec that the reference begins with."""

    def leaf(name: str) -> Draft:
        command = {"command": COMMAND} if name == "verify-1-1" else {}
        kept = {"type": "verify", "verification_type": "manual", **command}
        more: dict[str, Any] = {"attributes": kept} if is_verify(name) else {}
        return Draft(kind="task", title=name, name=name, aliases=_alias(spec, name), **more)

    phases = tuple(
        Draft(
            kind="phase",
            title=phase,
            name=phase,
            aliases=_alias(spec, phase),
            children=tuple(map(leaf, names)),
        )
        for phase, names in PLAN.items()
    )
    about: dict[str, Any] = {"aliases": (("spec", spec),), "children": phases}
    return Draft(kind="spec", title="Walk", lifecycle="declared", **about)


def _alias(spec: str, name: str) -> tuple[tuple[str, str], ...]:
    return (("node", f"{spec}/{name}"),)


@dataclass
class Signals:
    """Stands for the files by which somebody asks a run to stop."""

    is_asked: bool = False

    def is_stop_asked(self, spec: str) -> bool:
        """Tell whether somebody does."""
        return self.is_asked and spec == SPEC

    def clear_stop(self, spec: str) -> None:
        """Take it away."""
        self.is_asked = self.is_asked and spec != SPEC

    def sidecar(self) -> None:
        """Answer that there is none."""


@dataclass
class Judge:
    """A reviewer that says what it is told to."""

    verdict: Any = "pass"
    name: str = "judge"

    def review(self, work: PhaseWork) -> Review:
        """Say it."""
        del work
        return Review(verdict=self.verdict, findings=())


@dataclass
class World:
    """A store with the spec, and who is around it: fay works in its runs, jo sees to them, gus runs another spec."""

    database: Path
    signals: Signals = field(default_factory=Signals)
    judge: Judge = field(default_factory=Judge)
    session: str = ""

    def __post_init__(self) -> None:
        """Make it, and let gus have a step out."""
        extras = {
            AutonomyFiles: self.signals,
            Reviewers: Reviewers(phases=self.judge),
            EvidenceKeys: EvidenceKeys(),
        }
        self.studio = Studio(self.database, extras=lambda: extras)
        self.fay, self.jo, self.gus = (self.studio.core(name) for name in ("fay", "jo", "gus"))
        for spec in (SPEC, OTHER):
            self.studio.core("ada").plans.create(draft(spec))
        other = self.gus.use(Starting).start(OTHER, read_terms({})).run.session
        told = self.gus.use(Stepping).next(RunSelector(session=other), None).data
        self.foreign = self.gus.use(Replaying).proof(str(step_of(told)["step_id"]))

    @property
    def run(self) -> RunSelector:
        """The run that goes on."""
        return RunSelector(session=self.session)

    def size(self) -> int:
        """Answer how many entries the ledger has."""
        with self.studio.view() as view:
            return view.head().size

    def row(self) -> SpecSession:
        """Answer the row of the run."""
        with self.studio.view() as view:
            found = view.find(SpecSession, self.session)
            assert found is not None
            return found

    def item(self, name: str) -> Item:
        """Answer the item of a node."""
        found = self.fay.items.find(f"{SPEC}/{name}")
        assert found is not None
        return found

    def is_held(self, name: str) -> bool:
        """Tell whether somebody holds a task."""
        with self.studio.view() as view:
            claim = view.find(Claim, self.item(name).id)
        return claim is not None and claim.is_live(self.studio.clock.now())
