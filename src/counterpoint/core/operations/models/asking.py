"""Asking a model: within limits, again where that helps, and written down.

Rule 1: a model is asked while no transaction of the call is open: it takes minutes, and nobody waits to write meanwhile. Rule 2: what may
be spent is set aside before, so that many who ask at once stay within the limit together. Rule 3: who cannot be asked is known before
anything leaves. Rule 4: what the project's configuration says of addresses, commands, prices and limits holds as a person trusted it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from threading import Lock
from typing import ClassVar, Final

from counterpoint.core.model.models.asking import Answer, Provider, Question, Tokens
from counterpoint.core.model.models.configured import Modelling
from counterpoint.core.model.models.uses import KeptAnswer, ModelDay, UseStatus
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Item, Project
from counterpoint.core.operations.models.keeping import Asked, keep
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.derived_keys import DerivedKeys
from counterpoint.core.ports.circuits import Breaker
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.limits import (
    Spent,
    cost,
    day_of,
    most,
    price_of,
    refuse_overspent,
)
from counterpoint.core.rules.models.prices import PRICES
from counterpoint.core.rules.models.trying import (
    Standing,
    first_of,
    in_order,
    is_kept,
    named,
    wait,
)
from counterpoint.core.rules.trust.commands import is_trusted, models_loosened
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import elapsed_ms
from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    InvalidInput,
    NotFound,
    NotTrusted,
    ProviderBusy,
    ProviderFailed,
    ProviderTimedOut,
    Unavailable,
)

_STEP: Final = 400
"""Characters after which a caller hears again how long an answer is."""


class AnswerKeys(DerivedKeys):
    """The keys under which questions get the names of their answers."""

    statement: ClassVar[bytes] = b"counterpoint kept answers v1\n"


@dataclass(slots=True)
class Asking:
    """What this process knows of providers: who fails, and what is being spent."""

    circuits: dict[str, Breaker] = field(default_factory=dict[str, Breaker])
    aside: int = 0
    lock: Lock = field(default_factory=Lock, repr=False)

    def circuit(self, provider: str) -> Breaker:
        """Return the breaker before a provider."""
        with self.lock:
            return self.circuits.setdefault(provider, Breaker(what=provider))


@dataclass(frozen=True, slots=True)
class _Order:
    """A question on its way to a provider. name: under which its answer is kept; empty if it is not."""

    question: Question
    provider: Provider
    said: Modelling
    name: str


class _Hearing:
    """What hears an answer come, and tells whoever waits how it gets on; that may end it."""

    def __init__(self, provider: str, watch: Watch | None, listen: Listen | None) -> None:
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

    def again(self, fault: CounterpointError, seconds: float) -> None:
        """Tell that it is tried again."""
        self._heard = self._told = 0
        if self._watch is not None:
            self._watch(f"{fault.message}; trying again in {seconds:.0f} s")


class ModelVerbs:
    """Verbs that ask models."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def providers(self) -> tuple[Provider, ...]:
        """Return every provider that is known, with why it cannot be asked; MalformedDocument."""
        return tuple(
            replace(one, reason=one.reason or self._unfit(one))
            for one in self._context.ports.models().providers()
        )

    def standing(self) -> Standing:
        """Return who there is, and who can be asked, each in the order in which they are; MalformedDocument."""
        try:
            order = self.said().order
        except NotTrusted:
            order = ()
        return in_order(self.providers(), order)

    def find_kept(self, question: Question) -> Answer | None:
        """Return the answer that is kept for a question that names its provider; None without one."""
        said = self.said()
        provider = next((one for one in self.providers() if one.name == question.provider), None)
        if provider is None or not is_kept(question) or not said.cache_seconds:
            return None
        wanted = replace(question, model=question.model or provider.model)
        return self._kept(self._name_of(wanted, provider))

    def kept(self, question: Question) -> Answer:
        """Return the answer that is kept for a question that names its provider; NotFound."""
        found = self.find_kept(question)
        if found is None:
            raise NotFound("this answer is not kept any more", hint="Ask again.")
        return found

    def ask(
        self, question: Question, watch: Watch | None = None, listen: Listen | None = None
    ) -> Answer:
        """Return what a model answers. watch: is told in words how it gets on. listen: hears each piece as it comes.

        Raises NoProvider, NotFound, ProviderAway, CircuitOpen, ProviderFailed and what is below it, BudgetSpent, NotTrusted, InvalidInput;
        and what `watch` or `listen` raise, which end it.
        """
        context = self._context
        if context.unit is not None and context.unit.writing is not None:
            raise RuntimeError("a model is asked while a transaction is open")
        self._refuse_early(question)
        said = self.said()
        provider = self._chosen(question, said)
        question = replace(question, model=question.model or provider.model)
        name = self._name_of(question, provider) if is_kept(question) and said.cache_seconds else ""
        began = context.ports.clock.now()
        kept = self._kept(name) if name else None
        if kept is not None:
            keep(
                context,
                Asked(
                    question=question, provider=provider, status="kept", began=began, answer=kept
                ),
            )
            return kept
        heard = _Hearing(provider.name, watch, listen)
        with self._set_aside(question, provider, said):
            return self._asked(_Order(question, provider, said, name), heard)

    def _refuse_early(self, question: Question) -> None:
        """Raise what would else be raised after the answer was paid for."""
        with self._context.reading() as view:
            if question.item and view.find(Item, question.item) is None:
                raise missing(Item, question.item)
            here = self._context.caller.actor.session
            session = view.find(Session, here) if here else None
        if session is not None:
            session.refuse_ended()

    def said(self) -> Modelling:
        """Return what the configuration says of models, as far as it counts; NotTrusted, MalformedDocument."""
        ports = self._context.ports
        if ports.checking is None:
            return Modelling()
        said = ports.checking()
        if models_loosened(said.models) is None:
            return said.models
        with self._context.reading() as view:
            found = view.find(Project)
        trusted, path = (found.trusted, found.search_path) if found else ("", "")
        if not is_trusted(said, trusted, path):
            raise NotTrusted
        return said.models

    def _unfit(self, provider: Provider) -> str:
        """Return why a provider is passed over although it could be reached; empty if it is not."""
        try:
            said = self.said()
        except NotTrusted as fault:
            return fault.message
        state = self._asking.circuit(provider.name).circuit()
        if state.retry_after:
            return f"it failed {state.failures} times and is left alone for {state.retry_after} s"
        if not provider.is_free and price_of(provider.model, said.prices, PRICES) is None:
            return f"no price of {provider.model or 'its model'} is known"
        return ""

    def _chosen(self, question: Question, said: Modelling) -> Provider:
        if question.provider:
            known = self._context.ports.models().providers()
            found = named(question.provider, known)
        else:
            found = first_of(in_order(self.providers(), said.order))
        if not found.command or self._context.ports.checking is None:
            return found
        with self._context.reading() as view:
            project = view.find(Project)
        return replace(found, search_path=project.search_path if project else "")

    @contextmanager
    def _set_aside(
        self, question: Question, provider: Provider, said: Modelling
    ) -> Generator[None]:
        """Set aside what a question costs at most while it is asked; BudgetSpent, InvalidInput without a price."""
        if provider.is_free:
            yield
            return
        price = price_of(question.model, said.prices, PRICES)
        if price is None:
            raise InvalidInput(
                f"no price of the model {question.model[:80]!r} is known, so that no limit could be held",
                hint="Ask another model, or have a person write its price into counterpoint.toml and run `counterpoint trust`.",
            )
        now, comes_to, state = self._context.ports.clock.now(), most(price, question), self._asking
        with self._context.reading() as view:
            rows = view.cells(ModelDay, ("day", "cost_micros"))
        today = sum(micros for day, micros in rows if day == day_of(now))
        with state.lock:
            ever = sum(micros for _, micros in rows) + state.aside
            refuse_overspent(said, Spent(today=today + state.aside, ever=ever), comes_to, now)
            state.aside += comes_to
        try:
            yield
        finally:
            with state.lock:
                state.aside -= comes_to

    def _asked(self, order: _Order, heard: _Hearing) -> Answer:
        """Ask until there is an answer, or it is given up, and write that down."""
        context, question, attempts = self._context, order.question, 0
        began = context.ports.clock.now()
        asked = Asked(question=question, provider=order.provider, status="answered", began=began)
        try:
            while True:
                attempts += 1
                left = question.timeout - elapsed_ms(began, context.ports.clock.now()) / 1000
                try:
                    answer = self._tried(replace(question, timeout=max(left, 1.0)), order, heard)
                    break
                except ProviderFailed as fault:
                    left = question.timeout - elapsed_ms(began, context.ports.clock.now()) / 1000
                    seconds = wait(fault, attempts, left, secrets.randbelow(1000) / 1000)
                    if seconds is None:
                        raise
                    heard.again(fault, seconds)
                    context.ports.models().pause(seconds, heard)
        except BaseException as fault:
            is_failed = isinstance(fault, ProviderFailed | CircuitOpen)
            code = fault.code if is_failed else ""
            status: UseStatus = "failed" if is_failed else "cancelled"
            # Who was not even asked is no use of it.
            if attempts > 1 or not isinstance(fault, CircuitOpen):
                keep(context, replace(asked, status=status, fault=code, attempts=attempts))
            raise
        done = replace(asked, attempts=attempts, answer=answer, name=order.name)
        keep(context, replace(done, seconds=order.said.cache_seconds))
        return answer

    def _tried(self, question: Question, order: _Order, heard: _Hearing) -> Answer:
        """Return what one try answers, with what it cost."""
        models, provider = self._context.ports.models(), order.provider
        with self._asking.circuit(provider.name).passing() as permit:
            try:
                answer = models.ask(provider, question, heard)
            except (ProviderBusy, ProviderTimedOut) as fault:
                permit.blame(fault)
                raise
        price = price_of(question.model, order.said.prices, PRICES)
        if provider.is_free or answer.cost_micros >= 0 or price is None:
            return replace(answer, cost_micros=max(0, answer.cost_micros))
        return replace(answer, cost_micros=cost(price, answer.tokens))

    def _name_of(self, question: Question, provider: Provider) -> str:
        """Return the name under which an answer is kept, by everything that it depends on; empty where the signer is away."""
        try:
            key = self._context.ports.remember(AnswerKeys).of(self._context)
        except Unavailable:
            return ""
        told = {
            "provider": [provider.name, provider.kind, provider.address],
            "model": question.model,
            "system": question.system,
            "messages": [[one.role, one.text] for one in question.messages],
            "limits": [question.max_tokens, repr(question.temperature)],
            "schema": canonical.dump_any(dict(question.schema)) if question.schema else "",
            "sample": question.sample,
        }
        return hmac.new(key, canonical.dump(told), sha256).hexdigest()

    def _kept(self, name: str) -> Answer | None:
        with self._context.reading() as view:
            found = view.find(KeptAnswer, name)
        if found is None or found.expires_at <= self._context.ports.clock.now():
            return None
        if found.text == REDACTED:
            return None
        tokens = Tokens(
            input=found.input_tokens, cached=found.cached_tokens, output=found.output_tokens
        )
        return Answer(
            text=found.text,
            stop=found.stop,
            provider=found.provider,
            model=found.model,
            tokens=tokens,
            cost_micros=0,
            is_kept=True,
        )

    @property
    def _asking(self) -> Asking:
        return self._context.ports.remember(Asking)
