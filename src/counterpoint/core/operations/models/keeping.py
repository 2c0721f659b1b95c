"""What was asked of models is written down.

Rule 1: a use lands in a transaction of its own, whatever becomes of the call that asked: what was spent was spent.
Rule 2: of questions nothing is kept, and of answers only those that may stand for another, until they expire. Rule 3: whoever keeps an answer himself
does so in the same transaction, so that what was paid for is there, or was not paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from counterpoint.core.model.models.asking import Answer
from counterpoint.core.model.models.uses import KeptAnswer, ModelDay, ModelUse, UseStatus
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.models.reserving import Reservation
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.models.limits import day_of
from counterpoint.kernel.clock import Timestamp, elapsed_ms, later
from counterpoint.kernel.frozen import frozen

_FEW: Final = 20
"""How many answers that have expired are taken away when another is kept."""


Landed = Callable[[Change, Answer], None]
"""Writes what somebody makes of an answer, in the transaction of its use."""


@frozen
class UseDraft:
    """How it went: who was asked for what, what came of it, and how often it was tried since when.

    answer: also where it failed, if it is paid for and has no text. fault: the code of what failed. name: under which the answer is kept, for so many seconds; empty if it is not.
    landed: writes what somebody makes of the answer, with its use. lost: what tries came to that were given up, in millionths of a dollar.
    reserved: what was set aside for it, which this use takes the place of.
    """

    provider: str
    model: str
    purpose: str
    item: str
    status: UseStatus
    began: Timestamp
    attempts: int = 1
    answer: Answer | None = None
    fault: str = ""
    name: str = ""
    seconds: int = 0
    landed: Landed | None = None
    lost: int = 0
    reserved: Reservation | None = None


def record_use(context: Context, draft: UseDraft) -> ModelUse:
    """Write down a use of a model, in a transaction of its own; return it."""
    alone = replace(context, unit=None)
    with recording(alone, "model.asked", draft.item) as change:
        change.open_session()
        use = _use(change, draft)
        change.put(use)
        _add(change, use)
        if draft.reserved is not None:
            draft.reserved.give_back(change)
        if draft.name and draft.answer is not None:
            _keep_answer(change, draft, draft.answer)
        change.add_facts(provider=use.provider, model=use.model, status=use.status)
        change.add_facts(purpose=use.purpose, cost_micros=use.cost_micros)
        if draft.landed is not None and draft.answer is not None:
            draft.landed(change, draft.answer)
    if draft.reserved is not None:
        draft.reserved.is_held = False
    return use


def _use(change: Change, draft: UseDraft) -> ModelUse:
    answer, actor = draft.answer, change.context.caller.actor
    paid = answer if draft.status != "kept" else None
    return change.masked(
        ModelUse(
            project=change.context.project,
            number=change.next_number(ModelUse),
            provider=draft.provider,
            model=answer.model if answer else draft.model,
            purpose=draft.purpose,
            item=draft.item,
            session=actor.session,
            agent=actor.name,
            status=draft.status,
            fault=draft.fault,
            stop=answer.stop if answer else "",
            input_tokens=paid.tokens.input if paid else 0,
            cached_tokens=paid.tokens.cached if paid else 0,
            output_tokens=paid.tokens.output if paid else 0,
            cost_micros=(paid.cost_micros if paid else 0) + draft.lost,
            duration_ms=max(0, elapsed_ms(draft.began, change.clock)),
            attempts=draft.attempts,
            created_at=change.now,
        )
    )


def _add(change: Change, use: ModelUse) -> None:
    """Add a use to the sums of its day."""
    day = day_of(change.now)
    day_row = change.find(ModelDay, day, use.provider, use.model, use.purpose) or ModelDay(
        project=use.project,
        day=day,
        provider=use.provider,
        model=use.model,
        purpose=use.purpose,
        requests=0,
        kept=0,
        failures=0,
        input_tokens=0,
        cached_tokens=0,
        output_tokens=0,
        cost_micros=0,
        updated_at=change.now,
    )
    change.put(
        replace(
            day_row,
            requests=day_row.requests + 1,
            kept=day_row.kept + (use.status == "kept"),
            failures=day_row.failures + (use.status in {"failed", "cancelled"}),
            input_tokens=day_row.input_tokens + use.input_tokens,
            cached_tokens=day_row.cached_tokens + use.cached_tokens,
            output_tokens=day_row.output_tokens + use.output_tokens,
            cost_micros=day_row.cost_micros + use.cost_micros,
            updated_at=change.now,
        )
    )


def _keep_answer(change: Change, draft: UseDraft, answer: Answer) -> None:
    """Keep an answer in the place of one before, and take some away that nobody may use any more."""
    view = change.writing
    for old in view.select(KeptAnswer, order="expires_at", limit=_FEW):
        if old.expires_at <= change.now and old.name != draft.name:
            change.drop(old)
    change.find(KeptAnswer, draft.name)
    change.put(
        KeptAnswer(
            project=change.context.project,
            name=draft.name,
            provider=answer.provider,
            model=answer.model,
            text=Prose(answer.text),
            stop=answer.stop,
            input_tokens=answer.tokens.input,
            cached_tokens=answer.tokens.cached,
            output_tokens=answer.tokens.output,
            created_at=change.now,
            expires_at=later(change.now, draft.seconds),
        )
    )
