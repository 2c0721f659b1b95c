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
class Asked:
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


def keep(context: Context, asked: Asked) -> ModelUse:
    """Write down a use of a model, in a transaction of its own; return it."""
    alone = replace(context, unit=None)
    with recording(alone, "model.asked", asked.item) as change:
        change.open_session()
        use = _use(change, asked)
        change.put(use)
        _add(change, use)
        if asked.reserved is not None:
            asked.reserved.give_back(change)
        if asked.name and asked.answer is not None:
            _keep_answer(change, asked, asked.answer)
        change.add_facts(provider=use.provider, model=use.model, status=use.status)
        change.add_facts(purpose=use.purpose, cost_micros=use.cost_micros)
        if asked.landed is not None and asked.answer is not None:
            asked.landed(change, asked.answer)
    if asked.reserved is not None:
        asked.reserved.is_held = False
    return use


def _use(change: Change, asked: Asked) -> ModelUse:
    answer, actor = asked.answer, change.context.caller.actor
    paid = answer if asked.status != "kept" else None
    return change.masked(
        ModelUse(
            project=change.context.project,
            number=change.next_number(ModelUse),
            provider=asked.provider,
            model=answer.model if answer else asked.model,
            purpose=asked.purpose,
            item=asked.item,
            session=actor.session,
            agent=actor.name,
            status=asked.status,
            fault=asked.fault,
            stop=answer.stop if answer else "",
            input_tokens=paid.tokens.input if paid else 0,
            cached_tokens=paid.tokens.cached if paid else 0,
            output_tokens=paid.tokens.output if paid else 0,
            cost_micros=(paid.cost_micros if paid else 0) + asked.lost,
            duration_ms=max(0, elapsed_ms(asked.began, change.clock)),
            attempts=asked.attempts,
            created_at=change.now,
        )
    )


def _add(change: Change, use: ModelUse) -> None:
    """Add a use to the sums of its day."""
    day = day_of(change.now)
    found = change.find(ModelDay, day, use.provider, use.model, use.purpose) or ModelDay(
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
            found,
            requests=found.requests + 1,
            kept=found.kept + (use.status == "kept"),
            failures=found.failures + (use.status in {"failed", "cancelled"}),
            input_tokens=found.input_tokens + use.input_tokens,
            cached_tokens=found.cached_tokens + use.cached_tokens,
            output_tokens=found.output_tokens + use.output_tokens,
            cost_micros=found.cost_micros + use.cost_micros,
            updated_at=change.now,
        )
    )


def _keep_answer(change: Change, asked: Asked, answer: Answer) -> None:
    """Keep an answer in the place of one before, and take some away that nobody may use any more."""
    view = change.writing
    for old in view.select(KeptAnswer, order="expires_at", limit=_FEW):
        if old.expires_at <= change.now and old.name != asked.name:
            change.drop(old)
    change.find(KeptAnswer, asked.name)
    change.put(
        KeptAnswer(
            project=change.context.project,
            name=asked.name,
            provider=answer.provider,
            model=answer.model,
            text=Prose(answer.text),
            stop=answer.stop,
            input_tokens=answer.tokens.input,
            cached_tokens=answer.tokens.cached,
            output_tokens=answer.tokens.output,
            created_at=change.now,
            expires_at=later(change.now, asked.seconds),
        )
    )
