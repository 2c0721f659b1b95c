"""Compares work with its spec, as the reviewer of its gates does.

Nothing of it is kept: whoever repairs what a gate has found sees what is left of it, with what people asked for when they sent a phase back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from counterpoint.core.model.journal import Verdict
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import SpecSession
from counterpoint.dialects.foundry.rules.autonomy.reviewer import Finding, verdict_of
from counterpoint.dialects.foundry.verbs.gates.reviewing import reviewed
from counterpoint.dialects.foundry.verbs.gates.seeing import Promised, promised
from counterpoint.dialects.foundry.verbs.gates.views import Comparison
from counterpoint.dialects.foundry.verbs.queries import spec_named
from counterpoint.dialects.foundry.verbs.sessions.finding import run_named
from counterpoint.dialects.foundry.verbs.sessions.gates import gate_of
from counterpoint.dialects.foundry.verbs.sessions.rows import latest_run
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape, shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import RunOf
from counterpoint.kernel.errors import InvalidInput, NotFound


class Comparing:
    """Verbs that compare work with its spec."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def compare(self, spec: str, phase: str = "", task: str = "", session: str = "") -> Comparison:
        """Return what is found of a spec, or of one phase or task of it; session: of a run of it, empty: the last.

        Raises NotFound, InvalidInput for a phase and a task at once.
        """
        if phase and task:
            raise InvalidInput(
                "a comparison is of a phase or of a task", hint="Leave one of the two out."
            )
        with self._context.reading() as view:
            shape = shape_of(view, spec_named(view, spec))
            row = _run(view, shape, session)
            phases, about = _meant(shape, phase, task)
            said = [_only(promised(view, shape, one), task) for one in phases]
            asked = [text for one in phases for text in _asked(view, one)]
        found: list[Finding] = []
        for one in said:
            found += reviewed(self._context, one, row).findings
        found = [one for one in found if task in {"", one.about}]
        return Comparison(
            spec=shape.known.spec,
            title=about.title,
            scope="task" if task else "phase" if phase else "spec",
            verdict=verdict_of(found),
            findings=[one.told() for one in found],
            asked=asked,
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
