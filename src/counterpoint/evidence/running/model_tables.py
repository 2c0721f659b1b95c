"""What the table [models] of counterpoint.toml says, and what is wrong with it.

    [models]
    order = ["local", "anthropic"]   # whom to ask first
    daily_usd = 10                   # the limit of a day; more takes trust
    total_usd = 0                    # that of the project; 0: none
    keep_hours = 168                 # for how long answers are kept; 0: not at all

    [models.providers.local]
    kind = "chat"                    # or "messages", "responses", "gemini", "command"
    address = "http://127.0.0.1:11434/v1"
    command = []                     # the words of a program, for the kind "command"
    model = "qwen3"
    models = ["qwen3", "llama3"]
    enabled = true

    [models.prices."qwen3"]          # dollars for a million tokens
    input = 0.5
    cached = 0.1
    output = 2.0

An address is https, or http to this machine; it has no user, no query and no fragment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast, get_args
from urllib.parse import urlsplit

from counterpoint.core.model.models.asking import ProviderKind
from counterpoint.core.model.models.configured import (
    CACHE_SECONDS,
    DAY_LIMIT_MICROS,
    Modelling,
    Price,
    SaidProvider,
)
from counterpoint.core.rules.models.addresses import is_here

_MODELS: Final = "models"
_MICROS: Final = 1_000_000
_MOST_DOLLARS: Final = 1_000_000
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_MANY: Final = 50
_SEVERAL: Final = 200


@dataclass(slots=True)
class _Table:
    """One table on its way to being read: what it says, and what is wrong with it."""

    place: str
    said: dict[str, Any]
    faults: list[str] = field(default_factory=list[str])

    def take(self, name: str, fits: Callable[[Any], bool], words: str, otherwise: Any) -> Any:
        """Return a value and take it away; what does not fit is a fault."""
        value = self.said.pop(name, otherwise)
        if value is not otherwise and not fits(value):
            self.faults.append(f"`{name}` below [{self.place}] must be {words}")
            return otherwise
        return value

    def end(self) -> list[str]:
        """Return what is wrong: also what nobody has taken, which is not known."""
        return [
            *self.faults,
            *(f"`{name}` is not known below [{self.place}]" for name in sorted(self.said)),
        ]


def read_models(value: Any) -> tuple[Modelling, list[str]]:
    """Return what the table says, and what is wrong with it."""
    if type(value) is not dict:
        return Modelling(), [f"`{_MODELS}` is not a table"]
    table = _Table(_MODELS, dict(cast("dict[str, Any]", value)))
    providers, prices = (
        table.take(name, _is_tables, "a table of tables", {}) for name in ("providers", "prices")
    )
    faults: list[str] = []
    said = [_provider(name, one, faults) for name, one in providers.items()]
    listed = [_price(name, one, faults) for name, one in prices.items()]
    money = f"a number of dollars from 0 to {_MOST_DOLLARS}"
    order = table.take("order", _is_names, "a list of names of providers", [])
    day = table.take("daily_usd", _is_money, money, DAY_LIMIT_MICROS / _MICROS)
    limit = table.take("total_usd", _is_money, money, 0)
    hours = table.take(
        "keep_hours", _is_hours, "whole hours, from 0 to 8760", CACHE_SECONDS // 3600
    )
    found = Modelling(
        order=tuple(order),
        providers=tuple(said),
        prices=tuple(listed),
        day_limit=_micros(day),
        limit=_micros(limit),
        cache_seconds=hours * 3600,
    )
    return found, [*table.end(), *faults]


def _provider(name: str, value: Mapping[str, Any], faults: list[str]) -> SaidProvider:
    table = _Table(f"{_MODELS}.providers.{name}", dict(value))
    if not _NAME.fullmatch(name):
        table.faults.append(
            f"{name[:60]!r} is no name of a provider: lower-case letters, digits, hyphens"
        )
    kinds = ", ".join(get_args(ProviderKind))
    kind = table.take("kind", lambda one: one in get_args(ProviderKind), f"one of {kinds}", None)
    address = table.take("address", _is_address, "https://…, or http:// to this machine", "")
    command = table.take("command", _is_command, "a list of words, with a program first", [])
    model = table.take("model", _is_word, "the name of a model", "")
    models = table.take("models", _is_names, "a list of names of models", [])
    is_on = table.take("enabled", lambda one: type(one) is bool, "true or false", True)
    if address and command:
        table.faults.append(f"[{table.place}] has an address and a command")
    faults += table.end()
    return SaidProvider(
        name=name,
        kind=kind,
        address=address.rstrip("/"),
        command=tuple(command),
        model=model,
        models=tuple(models),
        is_on=is_on,
    )


def _price(name: str, value: Mapping[str, Any], faults: list[str]) -> Price:
    table = _Table(f'{_MODELS}.prices."{name[:60]}"', dict(value))
    money = "dollars for a million tokens"
    needed = [one for one in ("input", "output") if one not in value]
    table.faults += [f"`{one}` is missing below [{table.place}]" for one in needed]
    fresh = table.take("input", _is_money, money, 0)
    cached = table.take("cached", _is_money, money, fresh)
    output = table.take("output", _is_money, money, 0)
    faults += table.end()
    return Price(model=name, input=_micros(fresh), cached=_micros(cached), output=_micros(output))


def _micros(dollars: float) -> int:
    return round(dollars * _MICROS)


def _is_tables(value: Any) -> bool:
    if type(value) is not dict:
        return False
    found = cast("dict[str, Any]", value)
    return len(found) <= _SEVERAL and all(type(one) is dict for one in found.values())


def _is_money(value: Any) -> bool:
    return type(value) in {int, float} and 0 <= value <= _MOST_DOLLARS


def _is_hours(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 8760  # noqa: PLR2004 -- the hours of a year


def _is_word(value: Any) -> bool:
    return type(value) is str and 0 < len(value) <= 200 and value.isprintable()  # noqa: PLR2004 -- longer than any model's


def _is_names(value: Any) -> bool:
    return (
        type(value) is list
        and len(cast("list[Any]", value)) <= _MANY
        and all(_is_word(one) for one in cast("list[Any]", value))
    )


def _is_command(value: Any) -> bool:
    if type(value) is not list or not value:
        return False
    words = cast("list[Any]", value)
    return len(words) <= _MANY and all(type(one) is str for one in words) and bool(words[0])


def _is_address(value: Any) -> bool:
    if not _is_word(value):
        return False
    try:
        parts = urlsplit(str(value))
        _ = parts.port
    except ValueError:
        return False
    if not parts.hostname or parts.username is not None or parts.query or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_here(value))
