"""Stores studies and their steps: begun, added to, found and deleted.

Rule 1: what is to stay whatever becomes of a call lands in a transaction of its own, before a model is asked. Rule 2: a study is read
again in the transaction that adds to it, so that two calls that go on with one add to each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from counterpoint.core.model.models.asking import Answer
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.research import (
    PREFIXES,
    ResearchStep,
    ResearchStudy,
    StudyKind,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, NotFound

_TITLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyDraft:
    """What a study is begun with."""

    kind: StudyKind
    query: str
    title: str = ""
    system: str = ""
    status: str = "active"
    phase: str = ""
    provider: str = ""
    model: str = ""
    rounds: int = 0
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    item: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDraft:
    """What is added to a study. answer: of a model; its text is that of the step unless another is given."""

    kind: str
    text: str = ""
    name: str = ""
    answer: Answer | None = None
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])


def alone(context: Context) -> Context:
    """Return the context of the same call without its transaction: what is written in it stays if the call fails."""
    return replace(context, unit=None)


def begin(change: Change, draft: StudyDraft) -> ResearchStudy:
    """Store and return a study without steps."""
    session = change.open_session()
    # The form that foundry's clients know, drawn like every id.
    drawn = sha256(change.context.ports.mint.mint("study").encode()).hexdigest()[:12]
    title = draft.title or (draft.query.strip().splitlines() or [""])[0][:_TITLE]
    study = ResearchStudy(
        project=change.context.project,
        id=f"{PREFIXES[draft.kind]}-{drawn}",
        kind=draft.kind,
        title=Prose(title),
        query=Prose(draft.query),
        system=Prose(draft.system),
        status=draft.status,
        phase=draft.phase,
        provider=draft.provider,
        model=draft.model,
        round=0,
        rounds=draft.rounds,
        steps=0,
        tokens=0,
        settings=Prose(canonical.dump_any(dict(draft.settings))),
        state=Prose("{}"),
        report=Prose(""),
        fault=Prose(""),
        item=draft.item,
        runner="",
        beat_at="",
        session=session,
        agent=change.context.caller.actor.name,
        version=1,
        created_at=change.now,
        updated_at=change.now,
    )
    change.put(study)
    change.add_facts(study=study.id, kind=study.kind)
    return study


def begin_alone(context: Context, draft: StudyDraft) -> ResearchStudy:
    """Store a study in a transaction of its own; return it."""
    with recording(alone(context), "research.begun", draft.item) as change:
        return begin(change, draft)


def add(change: Change, study: str, step: StepDraft, **changes: Any) -> ResearchStudy:
    """Store the next step of a study with other changes of it; return the study. NotFound."""
    row = change.find(ResearchStudy, study)
    if row is None:
        raise unknown(study)
    answer = step.answer
    tokens = tokens_of(answer)
    change.put(
        ResearchStep(
            project=row.project,
            study=row.id,
            number=row.steps + 1,
            kind=step.kind,
            name=step.name,
            provider=answer.provider if answer else "",
            model=answer.model if answer else "",
            text=Prose(step.text or (answer.text if answer else "")),
            details=Prose(canonical.dump_any(dict(step.details))),
            tokens=tokens,
            created_at=change.now,
        )
    )
    change.add_facts(study=row.id, step=step.kind)
    return settle(change, row, steps=row.steps + 1, tokens=row.tokens + tokens, **changes)


def settle(change: Change, row: ResearchStudy, **changes: Any) -> ResearchStudy:
    """Store changes of a study; return it."""
    after = replace(row, **changes, version=row.version + 1, updated_at=change.now)
    change.put(after)
    return after


def add_step(
    context: Context, study: str, step: StepDraft, *, stays: bool = False, **changes: Any
) -> ResearchStudy:
    """Store the next step of a study in this call; return the study. stays: also if the call fails."""
    where = alone(context) if stays else context
    with recording(where, "research.answered" if step.answer else "research.asked") as change:
        change.open_session()
        return add(change, study, step, **changes)


def record_failure(context: Context, study: str, fault: CounterpointError) -> None:
    """Record that a study failed, and name the study in the refusal."""
    with recording(alone(context), "research.failed") as change:
        change.open_session()
        row = change.find(ResearchStudy, study)
        if row is not None:
            settle(change, row, status="failed", fault=Prose(fault.message))
            change.add_facts(study=study)


def get_study(view: Reading, name: str, *kinds: StudyKind) -> ResearchStudy:
    """Return the study of an id, of one of some kinds; NotFound."""
    study = view.find(ResearchStudy, name)
    if study is None or (kinds and study.kind not in kinds):
        raise unknown(name)
    return study


def list_steps(view: Reading, study: str) -> list[ResearchStep]:
    """Return the steps of a study, oldest first."""
    return view.select(ResearchStep, study=study, order="number")


def tokens_of(answer: Answer | None) -> int:
    """Count the tokens of a question and its answer; none for one from the cache."""
    return 0 if answer is None or answer.is_kept else answer.tokens.input + answer.tokens.output


def unknown(name: str) -> NotFound:
    """Return the refusal for a study that does not exist."""
    return NotFound(
        f"there is no research {name[:80]!r} in this project",
        hint='Look with `research action="thread-list"`; every other id stands in the answer that began it.',
    )
