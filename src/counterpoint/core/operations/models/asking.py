"""Asking a model: within limits, again where that helps, and written down.

Rule 1: a model is asked while no transaction of the call is open: it takes minutes, and nobody waits to write meanwhile. Rule 2: what may
be spent is set aside before, so that many who ask at once stay within the limit together. Rule 3: who cannot be asked is known before
anything leaves. Rule 4: what the project's configuration says of addresses, commands, prices and limits holds as a person trusted it.
"""

from __future__ import annotations

import hmac
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import ClassVar, cast

from counterpoint.core.model.models import Answer, KeptAnswer, Modelling, Provider, Question, Tokens
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.operations.models.spending import (
    AnswerListener,
    Landed,
    ProviderBreakers,
    Reservation,
    RetryOrder,
    UseDraft,
    ask_with_retries,
    load_trusted,
    pass_breaker,
    record_use,
    refuse_early,
    set_aside,
)
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unallowed import find_trusted
from counterpoint.core.operations.trust.derived_keys import DerivedKeys
from counterpoint.core.ports.circuits import rest_reason
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.prices import PRICES
from counterpoint.core.rules.models.providers import (
    ProviderOrder,
    cost,
    costs_nothing,
    estimate_tokens,
    first_of,
    get_provider,
    is_kept,
    max_cost,
    order_providers,
    price_of,
    textless,
)
from counterpoint.core.rules.trust.commands import models_loosened
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput, NotFound, NotTrusted, Unavailable


class AnswerKeys(DerivedKeys):
    """The keys under which questions get the names of their answers."""

    statement: ClassVar[bytes] = b"counterpoint kept answers v1\n"


@dataclass(frozen=True, slots=True)
class _Order:
    """A question on its way to a provider. name: under which its answer is kept; empty if it is not."""

    question: Question
    provider: Provider
    said: Modelling
    name: str


class ModelVerbs(Verbs):
    """Verbs that ask models."""

    def providers(self) -> tuple[Provider, ...]:
        """Return every provider that is known, with why it cannot be asked; MalformedDocument."""
        return tuple(
            candidate if candidate.reason else self._seen(candidate)
            for candidate in self._context.ports.models().providers()
        )

    def standing(self) -> ProviderOrder:
        """Return who there is, and who can be asked, each in the order in which they are; MalformedDocument."""
        try:
            order = self.said().order
        except NotTrusted:
            order = ()
        return order_providers(self.providers(), order)

    def find_kept(self, question: Question) -> Answer | None:
        """Return the answer that is kept for a question that names its provider; None without one."""
        settings = self.said()
        provider = next(
            (candidate for candidate in self.providers() if candidate.name == question.provider),
            None,
        )
        if provider is None or not is_kept(question) or not settings.cache_seconds:
            return None
        full = replace(question, model=question.model or provider.model)
        return self._kept(self._name_of(full, provider))

    def kept(self, question: Question) -> Answer:
        """Return the answer that is kept for a question that names its provider; NotFound."""
        answer = self.find_kept(question)
        if answer is None:
            raise NotFound("this answer is not kept any more", hint="Ask again.")
        return answer

    def ask(
        self,
        question: Question,
        watch: Watch | None = None,
        listen: Listen | None = None,
        landed: Landed | None = None,
    ) -> Answer:
        """Return what a model answers.

        watch: is told in words how it gets on. listen: hears each piece as it comes. landed: writes what is made of the answer with its use.
        Raises NoProvider, NotFound, ProviderAway, CircuitOpen, ProviderFailed and what is below it, BudgetSpent, NotTrusted, InvalidInput;
        and what `watch` or `listen` raise, which end it.
        """
        context = self._context
        refuse_early(context, question.item)
        settings = self.said()
        provider = self._chosen(question, settings)
        question = replace(question, model=question.model or provider.model)
        name = (
            self._name_of(question, provider)
            if is_kept(question) and settings.cache_seconds
            else ""
        )
        use = UseDraft(
            provider=provider.name,
            model=question.model,
            purpose=question.purpose,
            item=question.item,
            status="answered",
            began=context.ports.clock.now(),
            landed=landed,
        )
        kept_answer = self._kept(name) if name else None
        if kept_answer is not None:
            record_use(context, replace(use, status="kept", answer=kept_answer))
            return kept_answer
        heard = AnswerListener(provider.name, watch, listen)
        with self._set_aside(question, provider, settings) as reserved:
            use = replace(use, reserved=reserved)
            return self._asked(_Order(question, provider, settings, name), use, heard)

    def at_most(self, question: Question) -> tuple[Provider, int | None]:
        """Return who would be asked, and what that costs at most in millionths of a dollar: None where no price is known. Nobody is asked.

        Raises NoProvider, NotFound, ProviderAway, NotTrusted, MalformedDocument.
        """
        settings = self.said()
        provider = self._chosen(question, settings)
        if costs_nothing(provider, question.model or provider.model, settings.prices):
            return provider, 0
        price = price_of(question.model or provider.model, settings.prices, PRICES)
        return provider, None if price is None else max_cost(price, question)

    def said(self) -> Modelling:
        """Return what the configuration says of models, as far as it counts; NotTrusted, MalformedDocument."""
        return load_trusted(
            self._context, lambda settings: models_loosened(settings.models) is not None
        ).models

    def _seen(self, provider: Provider) -> Provider:
        """Return a provider that could be reached, with why it is passed over, if it is."""
        try:
            settings = self.said()
        except NotTrusted as fault:
            return replace(provider, reason=fault.message)
        reason, rests = rest_reason(self._asking.circuit(provider.name).circuit())
        priced = provider.is_free or price_of(provider.model, settings.prices, PRICES) is not None
        if not rests and not priced:
            reason = f"no price of {provider.model or 'its model'} is known"
        return replace(provider, reason=reason, rests=rests)

    def _chosen(self, question: Question, settings: Modelling) -> Provider:
        if question.provider:
            providers = self._context.ports.models().providers()
            provider = get_provider(question.provider, providers)
        else:
            provider = first_of(order_providers(self.providers(), settings.order))
        if not provider.command or self._context.ports.checking is None:
            return provider
        with self._context.reading() as view:
            _, search_path = find_trusted(self._context, view)
        return replace(provider, search_path=search_path)

    def _set_aside(
        self, question: Question, provider: Provider, settings: Modelling
    ) -> AbstractContextManager[Reservation | None]:
        """Return what sets aside what a question costs at most while it is asked; BudgetSpent, InvalidInput without a price."""
        if costs_nothing(provider, question.model, settings.prices):
            return nullcontext()
        price = price_of(question.model, settings.prices, PRICES)
        if price is None:
            raise InvalidInput(
                f"no price of the model {question.model[:80]!r} is known, so that no limit could be held",
                hint="Ask another model, or have a person write its price into counterpoint.toml and run `counterpoint trust`.",
            )
        return set_aside(self._context, settings, max_cost(price, question), question.limit_micros)

    def _asked(self, order: _Order, use: UseDraft, heard: AnswerListener) -> Answer:
        """Ask until there is an answer, or it is given up, and write that down."""
        context, question = self._context, order.question
        pause = context.ports.models().pause
        done = ask_with_retries(
            context,
            RetryOrder(
                asked=use,
                seconds=question.timeout,
                attempt=lambda seconds_left: self._tried(
                    replace(question, timeout=seconds_left), order, heard
                ),
                pause=lambda seconds: pause(seconds, heard),
                heard=heard,
                lost=lambda characters: self._lost(order, characters),
            ),
        )
        answer = cast("Answer", done.answer)
        fault = textless(answer, question)
        if fault is not None:
            record_use(context, replace(done, status="failed", fault=fault.code, landed=None))
            raise fault
        record_use(context, replace(done, name=order.name, seconds=order.said.cache_seconds))
        return answer

    def _tried(self, question: Question, order: _Order, heard: AnswerListener) -> Answer:
        """Return what one try answers, with what it cost."""
        provider = order.provider
        is_usual = question.model in {provider.model, *provider.models}
        with pass_breaker(self._context, provider.name, is_usual=is_usual):
            answer = self._context.ports.models().ask(provider, question, heard)
        price = price_of(question.model, order.said.prices, PRICES)
        is_free = costs_nothing(provider, question.model, order.said.prices)
        if is_free or answer.cost_micros >= 0 or price is None:
            return replace(answer, cost_micros=max(0, answer.cost_micros))
        tokens_told = answer.tokens
        tokens = (
            tokens_told
            if tokens_told.input or tokens_told.output
            else estimate_tokens(question, len(answer.text.encode()))
        )
        return replace(answer, cost_micros=cost(price, tokens))

    def _lost(self, order: _Order, characters: int) -> int:
        """Return what a try comes to that was given up after so many characters: nobody told its tokens."""
        price = price_of(order.question.model, order.said.prices, PRICES)
        is_free = costs_nothing(order.provider, order.question.model, order.said.prices)
        if is_free or price is None:
            return 0
        return cost(price, estimate_tokens(order.question, characters))

    def _name_of(self, question: Question, provider: Provider) -> str:
        """Return the name under which an answer is kept, by everything that it depends on; empty where the signer is away."""
        try:
            key = self._context.ports.remember(AnswerKeys).of(self._context)
        except Unavailable:
            return ""
        key_parts = {
            "provider": [provider.name, provider.kind, provider.address],
            "model": question.model,
            "system": question.system,
            "messages": [[message.role, message.text] for message in question.messages],
            "limits": [question.max_tokens, repr(question.temperature)],
            "schema": canonical.dump_any(dict(question.schema)) if question.schema else "",
            "sample": question.sample,
        }
        return hmac.new(key, canonical.dump(key_parts), sha256).hexdigest()

    def _kept(self, name: str) -> Answer | None:
        with self._context.reading() as view:
            stored = view.find(KeptAnswer, name)
        if stored is None or stored.expires_at <= self._context.ports.clock.now():
            return None
        if stored.text == REDACTED:
            return None
        tokens = Tokens(
            input=stored.input_tokens, cached=stored.cached_tokens, output=stored.output_tokens
        )
        return Answer(
            text=stored.text,
            stop=stored.stop,
            provider=stored.provider,
            model=stored.model,
            tokens=tokens,
            cost_micros=0,
            is_kept=True,
        )

    @property
    def _asking(self) -> ProviderBreakers:
        return self._context.ports.remember(ProviderBreakers)
