"""Compares work with its spec, as the reviewer of its gates does.

Of the rules nothing is kept: whoever repairs what a gate has found sees what is left of it, with what people asked for when they sent a phase
back. What models say was paid for, and is written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from counterpoint.core.model.journal import Verdict
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import SpecSession
from counterpoint.dialects.foundry.rules.autonomy.reviewer import (
    Finding,
    PhaseWork,
    Review,
    verdict_of,
)
from counterpoint.dialects.foundry.rules.reviews.material import Looking
from counterpoint.dialects.foundry.verbs.gates.reviewing import judged_by, work_of
from counterpoint.dialects.foundry.verbs.gates.seeing import Promised, promised
from counterpoint.dialects.foundry.verbs.gates.views import Comparison
from counterpoint.dialects.foundry.verbs.queries import spec_named
from counterpoint.dialects.foundry.verbs.reviews.panel import Consulted
from counterpoint.dialects.foundry.verbs.reviews.work import ModelReviewer, asked_of, write
from counterpoint.dialects.foundry.verbs.sessions.finding import run_named
from counterpoint.dialects.foundry.verbs.sessions.gates import gate_of
from counterpoint.dialects.foundry.verbs.sessions.rows import latest_run
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape, shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import RunOf
from counterpoint.kernel.errors import InvalidInput, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """Work that is compared. about: what it is compared for; works: the phases that it is in, as far as they belong to that."""

    shape: SpecShape
    about: Item
    scope: str
    works: tuple[PhaseWork, ...]
    findings: tuple[Finding, ...]
    asked: tuple[str, ...]


class Comparing:
    """Verbs that compare work with its spec."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def compare(self, spec: str, phase: str = "", task: str = "", session: str = "") -> Comparison:
        """Return what the rules find of a spec, or of one phase or task of it; session: of a run of it, empty: the last.

        Raises NotFound, InvalidInput for a phase and a task at once.
        """
        return _comparison(self._looked(spec, phase, task, session))

    def judge(
        self,
        spec: str,
        where: tuple[str, str, str],
        looking: Looking,
        wanted: Consulted,
        watch: Watch | None = None,
    ) -> Comparison:
        """Return the same with what models say, and write that down; where nobody can be asked it is the same.

        where: phase, task and session, each empty if none is meant. Raises what `compare` and `Panel.ask` do, and NotFound, PathOutside or InvalidInput for a
        file that is named and cannot be shown.
        """
        looked = self._looked(spec, *where)
        told = _comparison(looked)
        models = ModelReviewer(
            context=self._context,
            wanted=wanted,
            spec=told.spec,
            about=looked.about.id,
            looking=looking,
            watch=watch,
        )
        if not models.can_be_asked():
            return told
        reviewed = models.review(looked.works)
        if reviewed is None:
            return replace(told, is_unchanged=True)
        rules = Review(verdict=verdict_of(looked.findings), findings=looked.findings)
        both = reviewed.beside(rules)
        name = f"{told.spec}-{looked.shape.known.id(looked.about.id)}"
        path = write(self._context, looked.about.id, name, reviewed, both)
        is_unsure = reviewed.settled.verdict == "unknown" and rules.verdict != "fail"
        return replace(
            told,
            verdict="unknown" if is_unsure else both.verdict,
            models=[one.told() for one in reviewed.review.findings],
            asked=[*told.asked, *asked_of(reviewed.settled.said)],
            settled=reviewed.settled,
            path=path,
            left=reviewed.shown.left,
        )

    def _looked(self, spec: str, phase: str, task: str, session: str) -> _Compared:
        if phase and task:
            raise InvalidInput(
                "a comparison is of a phase or of a task", hint="Leave one of the two out."
            )
        with self._context.reading() as view:
            shape = shape_of(view, spec_named(view, spec))
            row = _run(view, shape, session)
            phases, about = _meant(shape, phase, task)
            said = [_only(promised(view, shape, one), task) for one in phases]
            asked = tuple(text for one in phases for text in _asked(view, one))
        works = tuple(work_of(self._context, one, row) for one in said)
        found = (one for work in works for one in judged_by(self._context, work).findings)
        return _Compared(
            shape=shape,
            about=about,
            scope="task" if task else "phase" if phase else "spec",
            works=works,
            findings=tuple(one for one in found if task in {"", one.about}),
            asked=asked,
        )


def _comparison(looked: _Compared) -> Comparison:
    return Comparison(
        spec=looked.shape.known.spec,
        title=looked.about.title,
        scope=looked.scope,
        verdict=verdict_of(looked.findings),
        findings=[one.told() for one in looked.findings],
        asked=looked.asked,
    )


def _run(view: Reading, shape: SpecShape, session: str) -> SpecSession | None:
    if session:
        return run_named(view, RunOf(session=session, spec=shape.known.spec))
    return latest_run(view, shape.known.root.id)


def _meant(shape: SpecShape, phase: str, task: str) -> tuple[Sequence[Item], Item]:
    """Return the phases that are looked at, and what they are looked at for."""
    if not phase and not task:
        return shape.phases, shape.known.root
    code = "PHASE_NOT_FOUND" if phase else "TASK_NOT_FOUND"
    item = shape.known.named(phase or task, code)
    for one in shape.phases:
        if one == item if phase else item in shape.tasks[one.id]:
            return (one,), item
    what = "phase" if phase else "task of a phase"
    raise NotFound(f"{phase or task!r} is no {what} of {shape.known.spec}", error_code=code)


def _only(said: Promised, task: str) -> Promised:
    """Return what is promised by one node alone, if one is named."""
    if not task:
        return said
    work = replace(
        said.work,
        tasks=tuple(one for one in said.work.tasks if one.id == task),
        verifications=tuple(one for one in said.work.verifications if one.id == task),
    )
    return replace(said, work=work)


def _asked(view: Reading, phase: Item) -> list[str]:
    """Return what people asked for who sent a phase back, while its gate is closed."""
    gate = gate_of(view, phase.id)
    if gate is None or gate.status != "closed":
        return []
    last = view.select(Verdict, item=phase.id, order="number desc", limit=1)
    return [text for one in last if one.decision == "reject" for text in (one.reason, *one.fixes)]
