"""Orders of texts as rows: asked for, begun, ended, and what stands around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from counterpoint.core.model.models import DEFAULT_TIMEOUT, Answer
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import holder_of
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.agentic.nouns import (
    BRIEF,
    STAGES,
    Brief,
    Mode,
    Stage,
    WritingOrder,
    WrittenText,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import Conflict, KeyReused

_AROUND: Final = 20_000
"""The most characters of each text of a plan that a model is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How a text is to be written; what is empty is as it was asked before, else as usual. settings: temperature, max_tokens, model."""

    mode: Mode | None = None
    provider: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def digest(self, **what: str) -> str:
        """Return the digest of these parameters and the wish."""
        fields = {
            **what,
            "mode": self.mode,
            "provider": self.provider,
            "settings": dict(self.settings),
        }
        return canonical.text_digest(canonical.dump_any(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A brief, how its text is written, and what was written for it, oldest first."""

    brief: Brief
    order: WritingOrder
    texts: tuple[WrittenText, ...] = ()

    @property
    def lacking(self) -> tuple[Stage, ...]:
        """The stages of the last round that have no text."""
        written = {text.stage for text in self.round}
        return tuple(stage for stage in STAGES[self.order.mode] if stage not in written)

    @property
    def round(self) -> tuple[WrittenText, ...]:
        """What was written in the last round."""
        return tuple(text for text in self.texts if text.round == self.order.round)

    @property
    def draft(self) -> str:
        """What is to be refined: the last draft; empty without one."""
        return next((text.text for text in reversed(self.texts) if text.stage == "draft"), "")


def piece_of(view: Reading, brief: str) -> Piece | None:
    """Return a brief whose text was asked for, with what was written; None if nobody has asked."""
    row, order = view.find(Brief, brief), view.find(WritingOrder, brief)
    if row is None or order is None or not order.mode:
        return None
    texts = view.select(WrittenText, brief=brief, order="number")
    return Piece(brief=row, order=order, texts=tuple(texts))


def order_of(
    context: Context, brief: str, now: Timestamp, *, batch: str = "", task: str = ""
) -> WritingOrder:
    """Return how the text of a brief is written, before anybody has asked for it."""
    actor = context.caller.actor
    return WritingOrder(
        project=context.project,
        brief=brief,
        batch=batch,
        task=task,
        mode="",
        provider="",
        settings=Prose(""),
        round=0,
        failures=0,
        holder="",
        request="",
        asked=Prose(""),
        runner="",
        begun_at="",
        fault="",
        session=actor.session,
        agent=actor.name,
        version=1,
        created_at=now,
        updated_at=now,
    )


def find_under_key(change: Change, digest: str) -> list[str]:
    """Return the briefs that a call asked for before under its idempotency key; KeyReused if it asked for something else."""
    context = change.context
    if not context.key:
        return []
    holder = holder_of(change.writing, context.caller)
    orders = change.select(WritingOrder, request=context.key, holder=holder)
    if any(order.asked != digest for order in orders):
        raise KeyReused(f"the idempotency key {context.key!r} belongs to another call")
    return [order.brief for order in orders]


def queue(change: Change, brief: str, wish: Wish, digest: str) -> None:
    """Have a brief written next: what its round has already stays, and one that was written begins another round; Conflict.

    What a call asks again under its idempotency key begins no other one.
    """
    row, key = change.get(Brief, brief), change.context.key
    order = change.find(WritingOrder, brief) or order_of(change.context, brief, change.now)
    refuse_running(change.context, row, order)
    is_open = bool(order.mode) and row.status in {"queued", "failed", "generating"}
    if not is_open and brief in find_under_key(change, digest):
        return
    mode = wish.mode or order.mode or "full"
    drafted = change.select(WrittenText, brief=brief, stage="draft")
    if mode == "refine" and not drafted:
        raise Conflict(
            "No draft to refine. Generate draft first.",
            hint='`content_generate` with mode="draft" writes one.',
        )
    settings = canonical.dump_any(dict(wish.settings)) if wish.settings else order.settings
    after: dict[str, Any] = {
        "mode": mode,
        "provider": wish.provider or order.provider,
        "settings": Prose(settings),
        "round": order.round + (not is_open),
        "failures": order.failures if is_open else 0,
        "runner": "",
        "begun_at": "",
    }
    # A call without a key that goes on with a round leaves it to the call that began it.
    if key or not is_open:
        holder = holder_of(change.writing, change.context.caller) if key else ""
        after.update(holder=holder, request=key, asked=Prose(digest if key else ""))
    change.put(touched(change, order, **after))
    bring(change, row, "queued")
    change.add_facts(brief=brief)


def refuse_running(context: Context, brief: Brief, order: WritingOrder) -> None:
    """Raise Conflict while a call is at a brief whose process is there."""
    if brief.status != "generating" or not order.runner:
        return
    # One of another machine is asked for as long as a model may take to answer.
    last = later(Timestamp(order.begun_at), len(STAGES) * DEFAULT_TIMEOUT)
    if not context.ports.host.is_gone(order.runner, last):
        raise Conflict(
            f"another call is writing {brief.id}",
            hint="Wait; `content_status` tells when it is there, and `content_brief_get` shows it then.",
            brief_id=brief.id,
        )


def touched(change: Change, order: WritingOrder, **changes: Any) -> WritingOrder:
    """Return an order with changes made now."""
    return replace(order, **changes, version=order.version + 1, updated_at=change.now)


def bring(change: Change, brief: Brief, status: str, reason: str = "") -> None:
    """Write a brief in another state, by way of those between."""
    for state in BRIEF.way(brief.status, status):
        brief = brief.moved(state, change.now, reason)
    change.put(replace(brief, reason=Prose(reason)))


def text_of(change: Change, piece: Piece, stage: Stage, answer: Answer) -> WrittenText:
    """Return what a model wrote for a brief, as it is kept."""
    return WrittenText(
        project=piece.brief.project,
        brief=piece.brief.id,
        number=len(piece.texts) + 1,
        round=piece.order.round,
        stage=stage,
        provider=answer.provider,
        model=answer.model,
        text=Prose(answer.text),
        stop=answer.stop,
        input_tokens=answer.tokens.input,
        output_tokens=answer.tokens.output,
        cost_micros=answer.cost_micros,
        agent=change.context.caller.actor.name,
        created_at=change.now,
    )


def around(view: Reading, piece: Piece) -> str:
    """Return what the plan of a brief says, as JSON; empty without one."""
    parts: dict[str, Json] = {}
    task = view.find(Item, piece.order.task) if piece.order.task else None
    phase = view.find(Item, task.parent) if task else None
    plan = view.find(Item, piece.brief.item) if piece.brief.item else None
    for name, item in (("plan", plan), ("phase", phase), ("task", task)):
        if item is not None:
            words = {"title": item.title, "description": item.body[:_AROUND]}
            parts[name] = {key: text for key, text in words.items() if text}
    return canonical.dump_any(parts) if parts else ""
