"""What a question may cost, and whether a project may still spend that.

Rule 1: what was spent, what is being spent and what this may come to at most are within the limits together; else nobody is asked.
Rule 2: what costs by the token has a price: where none is known, nobody can say what it comes to, and nobody is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from counterpoint.core.model.models.asking import Provider, Question, Tokens
from counterpoint.core.model.models.configured import Modelling, Price
from counterpoint.kernel.clock import Timestamp, moment, stamp
from counterpoint.kernel.errors import BudgetSpent
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

_DATED: Final = expression(r"-(?:latest|preview|\d{8}|\d{4}-\d{2}-\d{2}|\d{3})")
_MILLION: Final = 1_000_000
BYTES_A_TOKEN: Final = 3
"""Tokens of any language have about four bytes; so is what a question may come to rather said too high."""
_OF_A_MESSAGE: Final = 10
"""Tokens that surround each message."""


@frozen
class Spent:
    """What a project has spent, in millionths of a dollar: today and in all, with what is being spent."""

    today: int
    ever: int


def price_of(model: str, *tables: Sequence[Price]) -> Price | None:
    """Return the price of a model in the first table that has it; of what fits there the one with the longest name."""
    for table in tables:
        fitting = [fitting for fitting in table if _fits(fitting.model, model)]
        if fitting:
            return max(fitting, key=lambda price: len(price.model))
    return None


def costs_nothing(provider: Provider, model: str, prices: Sequence[Price]) -> bool:
    """Return whether a model of a provider costs nothing: one of this machine, unless the project has its price; a gateway may stand there."""
    return provider.is_free and (bool(provider.command) or price_of(model, prices) is None)


def _fits(name: str, model: str) -> bool:
    """Return whether a name of a table is that of a model, of some day or not; with a last `*` those that begin so are meant."""
    if name.endswith("*"):
        return model.startswith(name[:-1])
    return model == name or (
        model.startswith(f"{name}-") and _DATED.fullmatch(model[len(name) :]) is not None
    )


def cost(price: Price, tokens: Tokens) -> int:
    """Return what tokens cost in millionths of a dollar, rounded up."""
    fresh = max(0, tokens.input - tokens.cached)
    whole = fresh * price.input + tokens.cached * price.cached + tokens.output * price.output
    return -(-whole // _MILLION)


def max_cost(price: Price, question: Question) -> int:
    """Return what a question costs at most, as far as its size tells."""
    tokens = estimate_tokens(question, 0)
    return cost(price, Tokens(input=tokens.input, output=question.max_tokens))


def estimate_tokens(question: Question, answer: int) -> Tokens:
    """Return the tokens of a question and so many bytes of its answer, as far as its size tells."""
    texts = [question.system, *(message.text for message in question.messages)]
    size = sum(len(text.encode()) for text in texts)
    tokens = size // BYTES_A_TOKEN + _OF_A_MESSAGE * len(texts)
    return Tokens(input=tokens, output=-(-answer // BYTES_A_TOKEN))


def day_of(now: Timestamp) -> str:
    """Return the day of a time, in UTC."""
    return now[:10]


def refuse_overspent(settings: Modelling, spent: Spent, comes_to: int, now: Timestamp) -> None:
    """Raise BudgetSpent if a question would cost more than is left."""
    if spent.today + comes_to > settings.day_limit:
        midnight = stamp(moment(f"{day_of(now)}T00:00:00+00:00") + timedelta(days=1))
        raise BudgetSpent(
            f"models have cost {dollars(spent.today)} today, this may cost {dollars(comes_to)}, and the limit of a day is {dollars(settings.day_limit)}",
            spent_micros=spent.today,
            limit_micros=settings.day_limit,
            resets_at=midnight,
        )
    if settings.limit and spent.ever + comes_to > settings.limit:
        raise BudgetSpent(
            f"models have cost {dollars(spent.ever)}, this may cost {dollars(comes_to)}, and the limit of this project is {dollars(settings.limit)}",
            hint="Have a person raise `total_usd` in counterpoint.toml and run `counterpoint trust`.",
            spent_micros=spent.ever,
            limit_micros=settings.limit,
        )


def refuse_beyond(most: int | None, comes_to: int) -> None:
    """Raise BudgetSpent if something would cost more than whoever wants it may spend. most: None for no such limit."""
    if most is not None and comes_to > most:
        raise BudgetSpent(
            f"this may cost {dollars(comes_to)}, and {dollars(max(0, most))} is left of what it may",
            hint="Ask for less, or have a person allow more in counterpoint.toml and run `counterpoint trust`.",
            limit_micros=max(0, most),
        )


def dollars(micros: int) -> str:
    """Return an amount in words, such as `$0.0125`."""
    return f"${micros / _MILLION:.4f}"
