"""Writes texts with models, and counts what that cost.

Having the text of a brief written by a model, stage by stage.
Rule 1: what was paid for stays: the order lands before a model is asked, and each text in the transaction that says what it cost; whoever goes on
with a brief has the stages alone written that its round lacks. Rule 2: one call at a time is at a brief: it says so in the ledger, with its
process; where that is gone, another call takes the brief up. Rule 3: an idempotency key belongs to one round of one brief, whatever became of the
call that brought it. Rule 4: a brief whose model failed has failed; where nobody could be asked it waits, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from counterpoint.core.model.models import RESERVED, Answer, ModelDay, Provider, Question
from counterpoint.core.model.models import make_question as asked_of
from counterpoint.core.model.work import TITLE_LIMIT
from counterpoint.core.operations.models.asking import ModelVerbs
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.wording import first_line
from counterpoint.dialects.agentic.nouns import (
    Brief,
    BriefRequest,
    Stage,
    WritingOrder,
    WrittenText,
)
from counterpoint.dialects.agentic.rules.briefs import (
    PROMPT,
    Period,
    first_day,
    provider_named,
    question_of,
    shown_provider,
)
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from counterpoint.dialects.agentic.verbs.ordering import (
    Piece,
    Wish,
    around,
    bring,
    find_under_key,
    piece_of,
    queue,
    refuse_running,
    text_of,
    touched,
)
from counterpoint.kernel.errors import CounterpointError, NotFound, ProviderFailed, ProviderRefused


@dataclass(slots=True, kw_only=True)
class Sum:
    """What some uses come to. requests: those that were asked of a provider; kept: answers that were given again at no cost."""

    requests: int = 0
    kept: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0

    def add(self, day: ModelDay) -> None:
        """Add what was used on a day."""
        self.requests += day.requests - day.kept
        self.kept += day.kept
        self.failures += day.failures
        self.input_tokens += day.input_tokens
        self.output_tokens += day.output_tokens
        self.cost_micros += day.cost_micros


@dataclass(slots=True, kw_only=True)
class Usage:
    """What models were used for since a day (of UTC)."""

    since: str
    whole: Sum = field(default_factory=Sum)
    providers: dict[str, Sum] = field(default_factory=dict[str, Sum])
    purposes: dict[str, Sum] = field(default_factory=dict[str, Sum])

    def add(self, days: Iterable[ModelDay]) -> None:
        """Add what was used on days."""
        for day in days:
            provider = self.providers.setdefault(shown_provider(day.provider), Sum())
            purpose = self.purposes.setdefault(day.purpose.removeprefix("content-"), Sum())
            for total in (self.whole, provider, purpose):
                total.add(day)


class Usages(Verbs):
    """Verbs for what models were used for."""

    def since(self, period: Period) -> Usage:
        """Return what models were used for in the period that is now, whatever asked them."""
        usage = Usage(since=first_day(period, self._context.ports.clock.now()))
        with self._context.reading() as view:
            days = view.select(ModelDay)
        usage.add(day for day in days if day.day >= usage.since and day.purpose != RESERVED)
        return usage


_AGAIN: Final = "The brief is kept: `content_generate` with this `brief_id` has it written, also by another `provider`."
"""The next step where a text that was asked for was not written."""


class Writing:
    """Verbs for texts that models write."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._call = context
        self._context = replace(context, unit=None)
        self._watch = watch

    def get(self, brief: str) -> Piece:
        """Return a brief whose text was asked for, with what was written; NotFound."""
        with self._context.reading() as view:
            piece = piece_of(view, brief)
        if piece is None:
            raise NotFound(f"no text of {brief!r} was asked for")
        return piece

    def brief(self, brief: str) -> Brief:
        """Return a brief as it is now; NotFound."""
        return Briefs(self._context).get(brief)

    def texts(self, brief: str) -> list[WrittenText]:
        """Return what was written for a brief, oldest first."""
        with self._context.reading() as view:
            return view.select(WrittenText, brief=brief, order="number")

    def choose_provider(self, name: str = "") -> Provider:
        """Return the provider of a name of the contract or the project, or the first one without a name; NoProvider, NotFound, ProviderAway."""
        verbs = ModelVerbs(self._context)
        provider = provider_named(name, verbs.providers()) if name else ""
        return verbs.at_most(asked_of("", provider=provider))[0]

    def queue_prompt(self, prompt: str, wish: Wish) -> str:
        """Queue a brief for a prompt; return its id. KeyReused."""
        digest = wish.digest(prompt=prompt)
        with transaction(self._context), recording(self._context, "content.asked") as change:
            change.open_session()
            brief = next(iter(find_under_key(change, digest)), "")
            if not brief:
                title = first_line(prompt, TITLE_LIMIT)
                request = BriefRequest(title=title, content_type=PROMPT, description=prompt)
                brief = Briefs(self._context).create(request).id
            change.subject = brief
            queue(change, brief, wish, digest)
            return brief

    def queue(self, brief: str, wish: Wish) -> None:
        """Have a brief written next; NotFound, Conflict, KeyReused."""
        digest = wish.digest(brief=brief)
        with recording(self._context, "content.asked", brief) as change:
            change.open_session()
            find_under_key(change, digest)
            queue(change, brief, wish, digest)

    def write(self, brief: str, listen: Listen | None = None) -> Piece:
        """Have the stages written that the round of a brief lacks; return what there is then.

        Raises Conflict while another call is at it, and what asking a model raises; such a refusal names the brief.
        """
        if not self._begun(brief):
            return self.get(brief)
        try:
            for stage in self.get(brief).lacking:
                self._stage(brief, stage, listen)
        except CounterpointError as fault:
            self._ended(brief, "failed" if isinstance(fault, ProviderFailed) else "queued", fault)
            fault.facts = {**fault.facts, "brief_id": brief}
            # Other tools write nothing where nobody answers.
            own = fault.steps if fault.steps != ProviderFailed.default_hint else ""
            fault.steps = f"{own} {_AGAIN}".strip()
            raise
        except BaseException:
            # Whoever asked is gone, or the process ends: the brief waits for the next call.
            self._ended(brief, "queued")
            raise
        self._ended(brief, "review")
        return self.get(brief)

    def tell(self, brief: str) -> None:
        """Write down, with the call, that it is answered with the text of a brief."""
        with recording(self._call, "content.generated", brief) as change:
            change.open_session()
            change.add_facts(brief=brief)

    def questions(self, piece: Piece) -> list[Question]:
        """Return what a model is asked for the stages that a brief lacks; a draft that is not written yet is empty in it."""
        with self._context.reading() as view:
            about = around(view, piece)
        return [
            question_of(piece.brief, piece.order, stage, about, piece.draft)
            for stage in piece.lacking
        ]

    def _begun(self, brief: str) -> bool:
        """Say that this call is at a brief; return whether anything of it is lacking. Conflict."""
        with recording(self._context, "content.begun", brief) as change:
            change.open_session()
            row, order = change.get(Brief, brief), change.get(WritingOrder, brief)
            piece = piece_of(change.writing, brief)
            if piece is None or (row.status == "review" and not piece.lacking):
                return False
            refuse_running(self._context, row, order)
            runner = self._context.ports.host.name
            change.put(touched(change, order, runner=runner, begun_at=change.now, fault=""))
            bring(change, row, "generating")
            change.add_facts(brief=brief)
            return True

    def _stage(self, brief: str, stage: Stage, listen: Listen | None) -> None:
        """Have one stage written: the text lands with what it cost."""
        piece = self.get(brief)
        (question, *_) = self.questions(piece)

        def keep(change: Change, answer: Answer) -> None:
            if answer.stop != "refused":
                change.put(text_of(change, piece, stage, answer))
                change.add_facts(brief=brief, stage=stage)

        answer = ModelVerbs(self._context).ask(question, self._watch, listen, landed=keep)
        if answer.stop == "refused":
            message = f"{answer.provider} declined to write this: {answer.text[:300]}"
            raise ProviderRefused(message)

    def _ended(self, brief: str, status: str, fault: CounterpointError | None = None) -> None:
        """Write down that nobody is at a brief any more, and what became of it."""
        with recording(self._context, "content.ended", brief) as change:
            order = change.get(WritingOrder, brief)
            changes = {
                "runner": "",
                "begun_at": "",
                "fault": fault.code if fault else "",
                "failures": order.failures + (status == "failed"),
            }
            change.put(touched(change, order, **changes))
            bring(change, change.get(Brief, brief), status, fault.message if fault else "")
            change.add_facts(brief=brief)
