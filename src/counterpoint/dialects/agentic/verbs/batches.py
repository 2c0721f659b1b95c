"""Batches of briefs, and the files they come from.

Batches of briefs: written in parallel, and continued by whoever calls next.
What a batch has done and lacks is what its briefs say: there is no other note of it that could differ.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Final, Literal

from counterpoint.core.model.models import Message
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.models.asking import ModelVerbs
from counterpoint.core.operations.recording.change import mask_row
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.rules.models.providers import BYTES_A_TOKEN
from counterpoint.dialects.agentic.nouns import Brief, BriefRequest, WritingOrder
from counterpoint.dialects.agentic.rules.briefs import in_order, is_due, parse_batch
from counterpoint.dialects.agentic.verbs.briefs import Briefs, draft_of
from counterpoint.dialects.agentic.verbs.ordering import Piece, Wish, order_of, piece_of
from counterpoint.dialects.agentic.verbs.writing import Writing
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    InvalidInput,
    NotFound,
    Unavailable,
)
from counterpoint.kernel.matching.expressions import expression

FOLDER: Final = ".counterpoint/batches"
SIZE_LIMIT: Final = 200_000
"""Bytes that a file may have."""
_SAID: Final = (
    *("title", "description", "content_type", "service", "keywords", "category", "difficulty"),
    *("target_word_count", "variables", "priority"),
)
"""What of a brief its article says."""
_NAME: Final = expression(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BatchFiles(Verbs):
    """Verbs for batches that lie beside the code."""

    def take_in(self, batch: str) -> None:
        """Make briefs of the articles that have none in the batch yet; InvalidInput, Conflict for slugs of other briefs."""
        lacking, _ = self._compare(batch)
        if lacking:
            with transaction(self._context):
                for request in lacking:
                    Briefs(self._context).create(request)

    def drafts(self, batch: str) -> list[Brief]:
        """Return the briefs that `take_in` would make; nothing is written. InvalidInput, Conflict."""
        now = self._context.ports.clock.now()
        return [draft_of(self._context, request, "", 0, now) for request in self._compare(batch)[0]]

    def differing(self, batch: str) -> list[str]:
        """Return the slugs of which the file says otherwise than the briefs that were made of it; InvalidInput, Conflict."""
        return [
            brief.slug
            for request, brief in self._compare(batch)[1]
            if self._differs(request, brief)
        ]

    def _compare(self, batch: str) -> tuple[list[BriefRequest], list[tuple[BriefRequest, Brief]]]:
        """Return the articles without a brief, and those that have one with it."""
        requests = self._load_requests(batch)
        with self._context.reading() as view:
            orders = view.select(WritingOrder, batch=batch) if requests else []
            briefs = [brief for order in orders if (brief := view.find(Brief, order.brief))]
            by_slug = {brief.slug: brief for brief in briefs}
            lacking = [request for request in requests if request.slug not in by_slug]
            taken = [request.slug for request in lacking if view.exists(Brief, slug=request.slug)]
        if taken:
            raise Conflict(
                f"the file of the batch {batch} cannot be taken in: other briefs have the slugs {', '.join(taken)}",
                hint="Choose other slugs in the file, and call again; nothing was written.",
            )
        return lacking, [
            (request, by_slug[request.slug]) for request in requests if request.slug in by_slug
        ]

    def _differs(self, request: BriefRequest, brief: Brief) -> bool:
        draft = draft_of(self._context, request, brief.id, brief.number, brief.created_at)
        draft = mask_row(draft, self._context.ports.secrets)
        return any(getattr(draft, name) != getattr(brief, name) for name in _SAID)

    def _load_requests(self, batch: str) -> tuple[BriefRequest, ...]:
        """Return the requests of a batch's file; none without a file."""
        if not _NAME.fullmatch(batch):
            return ()
        evidence, root = self._context.ports.evidence, self._context.caller.root
        try:
            content = evidence.load(root, f"{FOLDER}/{batch}.md", SIZE_LIMIT)
        except NotFound:
            return ()
        try:
            return parse_batch(content.decode("utf-8-sig"), batch)
        except UnicodeDecodeError as fault:
            raise InvalidInput(
                f"the file of the batch {batch} is no text in UTF-8", hint="Mend the file."
            ) from fault


_LOOK: Final = 0.5
"""Seconds after which whoever waits hears again how many are done."""
_DONE: Final = frozenset({"review", "published"})

Outcome = Literal["generated", "failed", "waiting"]
"""`waiting`: nobody could be asked for it, or another call is at it; the next call takes it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A brief of a batch, with how its text is written if anybody has said so."""

    brief: Brief
    order: WritingOrder | None

    @property
    def is_done(self) -> bool:
        """Whether its text is there."""
        return self.brief.status in _DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a brief in a call. fault: why it is not written."""

    brief: Brief
    outcome: Outcome
    piece: Piece | None = None
    fault: CounterpointError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Who would be asked for a brief, in how many stages. cost_micros: what that costs at most; None without a price."""

    brief: Brief
    provider: str
    model: str
    stages: int
    cost_micros: int | None


class Batches:
    """Verbs for many briefs at once."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch
        self._gone = threading.Event()

    def members(self, batch: str) -> list[Member]:
        """Return the briefs of a batch in the order in which they are written; NotFound."""
        with self._context.reading() as view:
            orders = view.select(WritingOrder, batch=batch)
            orders_by_brief = {order.brief: order for order in orders}
            briefs = [brief for name in orders_by_brief if (brief := view.find(Brief, name))]
        if not briefs:
            raise NotFound(
                f"there is no batch {batch[:80]!r}",
                hint="`content_brief_create` with `batch_id` puts a brief into one, and `content_from_plan` makes one of a plan;"
                f" `content_batch_generate` takes in the file `{FOLDER}/NAME.md`.",
            )
        return [Member(brief=brief, order=orders_by_brief[brief.id]) for brief in in_order(briefs)]

    def among(self, batch: str, briefs: Collection[str]) -> list[Member]:
        """Return some of the briefs of a batch, in their order; none if it has none."""
        return (
            [member for member in self.members(batch) if member.brief.id in briefs]
            if briefs
            else []
        )

    def queued(self) -> list[Member]:
        """Return the briefs that wait to be written and are due, in the order in which they are."""
        now = self._context.ports.clock.now()
        with self._context.reading() as view:
            rows = view.select(Brief, status=("queued", "generating"))
            due = [brief for brief in in_order(rows) if is_due(brief, now)]
            return [Member(brief=brief, order=view.find(WritingOrder, brief.id)) for brief in due]

    def open(self, batch: str) -> list[Member]:
        """Return what a call would write of a batch, or without one of all that waits; NotFound."""
        return self._due(self.members(batch) if batch else self.queued())

    def expected(self, batch: str) -> list[Member]:
        """Return what a call would write, with what a file asks for that no brief is made of yet; NotFound, InvalidInput."""
        drafts = BatchFiles(self._context).drafts(batch)
        if not drafts:
            return self.open(batch)
        with self._context.reading() as view:
            is_new = not view.exists(WritingOrder, batch=batch)
        members = [] if is_new else self.members(batch)
        return self._due(
            [*members, *(Member(brief=brief, order=None) for brief in in_order(drafts))]
        )

    def _due(self, members: Sequence[Member]) -> list[Member]:
        now = self._context.ports.clock.now()
        return [member for member in members if not member.is_done and is_due(member.brief, now)]

    def estimate(self, members: Sequence[Member], wish: Wish) -> list[Estimate]:
        """Return what it would cost to write briefs; nothing is written, and nobody is asked."""
        return [self._estimate(member, wish) for member in members]

    def _estimate(self, member: Member, wish: Wish) -> Estimate:
        piece, verbs = self._with_wish(member, wish), ModelVerbs(self._context)
        writing = Writing(self._context)
        whom = writing.choose_provider(piece.order.provider)
        questions, costs, unwritten = writing.questions(piece), list[int | None](), 0
        for question in questions:
            # A refinement is given the draft, which has as many tokens at most as its question lets it have.
            sized = (*question.messages, Message(role="user", text=" " * unwritten))
            sized_question = replace(question, provider=whom.name, messages=sized)
            costs.append(verbs.at_most(sized_question)[1])
            unwritten = question.max_tokens * BYTES_A_TOKEN
        known_costs = [cost for cost in costs if cost is not None]
        return Estimate(
            brief=member.brief,
            provider=whom.name,
            model=next((question.model for question in questions if question.model), whom.model),
            stages=len(questions),
            cost_micros=sum(known_costs) if len(known_costs) == len(costs) else None,
        )

    def _with_wish(self, member: Member, wish: Wish) -> Piece:
        """Return a brief with the settings of a wish; texts of its round are not written again."""
        with self._context.reading() as view:
            piece = piece_of(view, member.brief.id)
        now = self._context.ports.clock.now()
        order = member.order or order_of(self._context, member.brief.id, now)
        settings = canonical.dump_any(dict(wish.settings)) if wish.settings else order.settings
        order = replace(
            order,
            mode=wish.mode or order.mode or "full",
            provider=wish.provider or order.provider,
            settings=Prose(settings),
        )
        return Piece(brief=member.brief, order=order, texts=piece.texts if piece else ())

    def run(self, members: Sequence[Member], wish: Wish, most: int) -> list[Result]:
        """Write briefs, so many at once, and return what became of each, in their order; what `watch` raises ends all of it."""
        results: dict[str, Result] = {}
        with ThreadPoolExecutor(max_workers=most) as pool:
            waiting: dict[Future[Result], str] = {
                pool.submit(self._write_one, member, wish): member.brief.id for member in members
            }
            try:
                while waiting:
                    done, _ = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
                    for future in done:
                        results[waiting.pop(future)] = future.result()
                    if self._watch is not None:
                        self._watch(f"{len(results)} of {len(members)} texts are done")
            finally:
                # Whoever is still asked is told at its next piece; whoever waits for a turn is not asked.
                self._gone.set() if waiting else None
                for future in waiting:
                    future.cancel()
        return [results[member.brief.id] for member in members]

    def tell(self, batch: str, results: Sequence[Result]) -> None:
        """Write down, with the call, what became of the briefs of a batch."""
        with recording(self._context, "content.batch_generated") as change:
            change.open_session()
            counts = Counter(result.outcome for result in results)
            change.add_facts(batch=batch, **{name: counts[name] for name in sorted(counts)})

    def _write_one(self, member: Member, wish: Wish) -> Result:
        """Write one brief; in a thread, and so in a context, of its own."""
        # The idempotency key is that of the call with all of them.
        writing = Writing(replace(self._context, unit=None, key=""))
        brief = member.brief.id
        try:
            self._listen("")
            writing.queue(brief, wish)
            piece = writing.write(brief, self._listen)
        except CounterpointError as fault:
            row = writing.brief(brief)
            outcome: Outcome = "failed" if row.status == "failed" else "waiting"
            return Result(brief=row, outcome=outcome, fault=fault)
        return Result(brief=piece.brief, outcome="generated", piece=piece)

    def _listen(self, _piece: str) -> None:
        if self._gone.is_set():
            raise Unavailable("whoever asked for the batch is gone")
