"""Limits, breakers and tries of whatever is asked outside and may cost something.

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

from counterpoint.core.model.models.asking import Answer
from counterpoint.core.model.models.uses import UseStatus
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.work import Item
from counterpoint.core.operations.models.keeping import UseDraft, record_use
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unallowed import refuse_untrusted
from counterpoint.core.ports.circuits import Breaker
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.provider_order import is_against, retry_delay
from counterpoint.kernel.clock import elapsed_ms
from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    ProviderAway,
    ProviderFailed,
    ProviderTimedOut,
)
from counterpoint.kernel.frozen import frozen

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
