"""Reserves, spends and keeps what models cost.

What may be spent is reserved in the database before anybody is asked.
Rule 1: what was spent and what is reserved are read, and the reservation is written, in one transaction: so of two processes one sees the other's, and they hold one limit together. Rule 2: no transaction is open while somebody is asked. Rule 3: a reservation ends in the transaction of its use, or in one of its own
where nothing came of it. Rule 4: what a process has reserved is one row of the sums of a day, which counts as spent while that process lives: the next who
reserves takes away what those have left that are gone.

What was asked of models is written down.
Rule 1: a use lands in a transaction of its own, whatever becomes of the call that asked: what was spent was spent.
Rule 2: of questions nothing is kept, and of answers only those that may stand for another, until they expire. Rule 3: whoever keeps an answer himself
does so in the same transaction, so that what was paid for is there, or was not paid for.

Limits, breakers and tries of whatever is asked outside and may cost something.
Rule 1: what may be spent is set aside before it is asked (`reserving.py`). Rule 2: what was busy is tried again as `provider_order.py` says, and
written down however it ends. Rule 3: what a configuration loosens counts as a person trusted it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

from counterpoint.core.model.models import (
    RESERVED,
    Answer,
    KeptAnswer,
    ModelDay,
    Modelling,
    ModelUse,
    UseStatus,
)
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unallowed import refuse_untrusted
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.circuits import Breaker
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.providers import (
    Spent,
    day_of,
    is_against,
    refuse_beyond,
    refuse_overspent,
    retry_delay,
)
from counterpoint.kernel.clock import Timestamp, elapsed_ms, later
from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    ProviderAway,
    ProviderFailed,
    ProviderTimedOut,
)
from counterpoint.kernel.frozen import frozen, mutable


@mutable
class Reservation:
    """What a process has reserved for something that it asks, in millionths of a dollar, of which day. is_held: whether it still counts."""

    day: str
    micros: int
    is_held: bool = True

    def give_back(self, change: Change) -> None:
        """Write that it counts no longer."""
        row = _mine(change, self.day)
        # Who took this process for gone, as one of another machine that was silent for long, has taken it away.
        if row is None:
            return
        micros_left = max(0, row.cost_micros - self.micros)
        if micros_left:
            change.put(replace(row, cost_micros=micros_left, updated_at=change.now))
        else:
            change.drop(row)


@contextmanager
def set_aside(
    context: Context, limits: Modelling, comes_to: int, most: int | None = None
) -> Generator[Reservation]:
    """Have what something costs at most reserved while it is asked; BudgetSpent. most: what this alone may cost.

    Whoever writes down the use gives it back with that (`Asked.reserved`); else it is given back at the end of the block.
    """
    refuse_beyond(most, comes_to)
    alone = replace(context, unit=None)
    with recording(alone, "model.reserved") as change:
        refuse_overspent(limits, _spent(change), comes_to, change.now)
        reservation = Reservation(day=day_of(change.now), micros=comes_to)
        _add_reservation(change, reservation)
    try:
        yield reservation
    finally:
        if reservation.is_held:
            with recording(alone, "model.reserved") as change:
                reservation.give_back(change)
                reservation.is_held = False


def _spent(change: Change) -> Spent:
    """Return what was spent and is reserved; what those reserved who are gone is taken away."""
    host, today, now = change.context.ports.host, 0, day_of(change.now)
    ever = 0
    columns = ("day", "provider", "purpose", "cost_micros", "updated_at")
    for day, provider, purpose, micros, heard in change.writing.cells(ModelDay, columns):
        if purpose == RESERVED and host.is_gone(provider, Timestamp(heard)):
            change.drop(change.get(ModelDay, day, provider, "", RESERVED))
            continue
        ever += micros
        # What was reserved before midnight is spent today, if ever.
        today += micros if day == now or purpose == RESERVED else 0
    return Spent(today=today, ever=ever)


def _add_reservation(change: Change, reservation: Reservation) -> None:
    before = _mine(change, reservation.day)
    row = before or ModelDay(
        project=change.context.project,
        day=reservation.day,
        provider=change.context.ports.host.name,
        model="",
        purpose=RESERVED,
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
        replace(row, cost_micros=row.cost_micros + reservation.micros, updated_at=change.now)
    )


def _mine(change: Change, day: str) -> ModelDay | None:
    return change.find(ModelDay, day, change.context.ports.host.name, "", RESERVED)


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
        _add_use(change, use)
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


def _add_use(change: Change, use: ModelUse) -> None:
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


_STEP: Final = 400
"""Characters after which a caller hears again how long an answer is."""


@dataclass(slots=True)
class ProviderBreakers:
    """What this process knows of providers: who fails."""

    circuits: dict[str, Breaker] = field(default_factory=dict[str, Breaker])
    lock: Lock = field(default_factory=Lock, repr=False)

    def circuit(self, provider: str) -> Breaker:
        """Return the breaker before a provider."""
        with self.lock:
            return self.circuits.setdefault(provider, Breaker(what=provider))


class AnswerListener:
    """What hears an answer come, and tells whoever waits how it gets on; that may end it."""

    def __init__(self, provider: str, watch: Watch | None, listen: Listen | None) -> None:
        """Hear a provider for somebody."""
        self._provider = provider
        self._watch = watch
        self._listen = listen
        self._heard = 0
        self._told = 0

    def __call__(self, piece: str) -> None:
        """Hear a piece, or that there is none yet."""
        self._heard += len(piece)
        if self._listen is not None:
            self._listen(piece)
        # With each silent second too: so a caller who has gone is noticed.
        if self._watch is not None and (not piece or self._heard - self._told >= _STEP):
            self._told = self._heard
            self._watch(f"{self._provider} is answering: {self._heard} characters so far")

    @property
    def heard(self) -> int:
        """How many characters of this try's answer have come."""
        return self._heard

    def again(self, fault: CounterpointError, seconds: float) -> None:
        """Tell that it is tried again."""
        self._heard = self._told = 0
        if self._watch is not None:
            self._watch(f"{fault.message}; trying again in {seconds:.0f} s")


def refuse_early(context: Context, item: str) -> None:
    """Raise what would else be raised after the answer was paid for: NotFound, SessionEnded."""
    if context.unit is not None and context.unit.writing is not None:
        raise RuntimeError("somebody outside is asked while a transaction is open")
    with context.reading() as view:
        if item and view.find(Item, item) is None:
            raise missing(Item, item)
        own_session = context.caller.actor.session
        session = view.find(Session, own_session) if own_session else None
    if session is not None:
        session.refuse_ended()


def load_trusted(context: Context, loosens: Callable[[Checking], bool]) -> Checking:
    """Return what the configuration says, as far as it counts; NotTrusted, MalformedDocument. loosens: whether the part that is wanted takes trust."""
    ports = context.ports
    if ports.checking is None:
        return Checking()
    checking = ports.checking()
    if not loosens(checking):
        return checking
    with context.reading() as view:
        refuse_untrusted(context, view, checking)
    return checking


@frozen
class RetryOrder:
    """What is tried within so many seconds.

    attempt: makes one try in at most so many of them; pause: waits before another one. lost: answers what a try comes to that was given up after so
    many characters of its answer, in millionths of a dollar.
    """

    asked: UseDraft
    seconds: float
    attempt: Callable[[float], Answer]
    pause: Callable[[float], None]
    heard: AnswerListener
    lost: Callable[[int], int] = field(default=lambda _: 0)


def ask_with_retries(context: Context, order: RetryOrder) -> UseDraft:
    """Return what came of asking until there was an answer; if it is given up that is written down, and raised."""
    attempts, lost, is_out = 0, 0, False
    use, began = order.asked, order.asked.began

    def left() -> float:
        return order.seconds - elapsed_ms(began, context.ports.clock.now()) / 1000

    try:
        while True:
            attempts, is_out = attempts + 1, True
            try:
                answer = order.attempt(max(left(), 1.0))
                break
            except ProviderFailed as fault:
                lost += _lost(order, fault)
                is_out = False
                seconds = retry_delay(fault, attempts, left(), secrets.randbelow(1000) / 1000)
                if seconds is None:
                    raise
                order.heard.again(fault, seconds)
                order.pause(seconds)
    except BaseException as fault:
        lost += _lost(order, fault) if is_out else 0
        is_failed = isinstance(fault, ProviderFailed | CircuitOpen)
        code = fault.code if is_failed else ""
        status: UseStatus = "failed" if is_failed else "cancelled"
        # Who was not even asked is no use of it.
        if attempts > 1 or not isinstance(fault, CircuitOpen):
            record_use(
                context, replace(use, status=status, fault=code, attempts=attempts, lost=lost)
            )
        raise
    return replace(use, attempts=attempts, answer=answer, lost=lost)


def _lost(order: RetryOrder, fault: BaseException) -> int:
    """Return what a try comes to that ended so: whoever goes in the middle, or hears half of it, is billed for what was said."""
    heard = order.heard.heard
    is_late = isinstance(fault, ProviderTimedOut)
    # Else it was refused, not reached, or not sent.
    if heard or is_late or not isinstance(fault, ProviderFailed | CircuitOpen | ProviderAway):
        return order.lost(heard)
    return 0


@contextmanager
def pass_breaker(context: Context, what: str, *, is_usual: bool = True) -> Generator[None]:
    """Make a try behind the breaker of a provider; CircuitOpen while that is open. is_usual: whether one of its own models is asked."""
    with context.ports.remember(ProviderBreakers).circuit(what).passing() as permit:
        try:
            yield
        except ProviderFailed as fault:
            if is_against(fault, is_usual=is_usual):
                permit.blame(fault)
            raise
