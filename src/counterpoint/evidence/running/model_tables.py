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
from collections.abc import Mapping
from typing import Any, Final, cast, get_args

from counterpoint.core.model.models import (
    CACHE_SECONDS,
    DAY_LIMIT_MICROS,
    EmbeddingKind,
    Modelling,
    Price,
    ProviderKind,
    SaidEmbedding,
    SaidProvider,
)
from counterpoint.evidence.running.tables import (
    MANY,
    MOST_DOLLARS,
    Table,
    is_address,
    is_money,
    is_names,
    is_tables,
    is_word,
    micros,
)

_MODELS: Final = "models"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def read_models(value: Any) -> tuple[Modelling, list[str]]:
    """Return what the table says, and what is wrong with it."""
    if type(value) is not dict:
        return Modelling(), [f"`{_MODELS}` is not a table"]
    table = Table(_MODELS, dict(cast("dict[str, Any]", value)))
    providers, prices = (
        table.take(name, is_tables, "a table of tables", {}) for name in ("providers", "prices")
    )
    faults: list[str] = []
    provider_list = [_provider(name, entry, faults) for name, entry in providers.items()]
    listed = [_price(name, entry, faults) for name, entry in prices.items()]
    money = f"a number of dollars from 0 to {MOST_DOLLARS}"
    order = table.take("order", is_names, "a list of names of providers", [])
    day = table.take("daily_usd", is_money, money, DAY_LIMIT_MICROS / micros(1))
    limit = table.take("total_usd", is_money, money, 0)
    hours = table.take(
        "keep_hours", _is_hours, "whole hours, from 0 to 8760", CACHE_SECONDS // 3600
    )
    embedding = _embedding(table, faults)
    modelling = Modelling(
        order=tuple(order),
        providers=tuple(provider_list),
        prices=tuple(listed),
        day_limit=micros(day),
        limit=micros(limit),
        cache_seconds=hours * 3600,
        embedding=embedding,
    )
    return modelling, [*table.end(), *faults]


def _provider(name: str, value: Mapping[str, Any], faults: list[str]) -> SaidProvider:
    table = Table(f"{_MODELS}.providers.{name}", dict(value))
    if not _NAME.fullmatch(name):
        table.faults.append(
            f"{name[:60]!r} is no name of a provider: lower-case letters, digits, hyphens"
        )
    kinds = ", ".join(get_args(ProviderKind))
    kind = table.take("kind", lambda word: word in get_args(ProviderKind), f"one of {kinds}", None)
    address = table.take("address", is_address, "https://…, or http:// to this machine", "")
    command = table.take("command", _is_command, "a list of words, with a program first", [])
    model = table.take("model", is_word, "the name of a model", "")
    models = table.take("models", is_names, "a list of names of models", [])
    is_on = table.take("enabled", lambda flag: type(flag) is bool, "true or false", True)
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


def _embedding(whole: Table, faults: list[str]) -> SaidEmbedding | None:
    value = whole.take("embedding", lambda embedding: type(embedding) is dict, "a table", None)
    if value is None:
        return None
    table = Table(f"{_MODELS}.embedding", dict(cast("dict[str, Any]", value)))
    needed = [key for key in ("provider", "model") if key not in value]
    table.faults += [f"`{key}` is missing below [{table.place}]" for key in needed]
    kinds = get_args(EmbeddingKind)
    part = "a number from 0 to 1"
    settings = SaidEmbedding(
        provider=table.take("provider", is_word, "the name of a provider", ""),
        model=table.take("model", is_word, "the name of a model", ""),
        kind=table.take("kind", lambda word: word in kinds, f"one of {', '.join(kinds)}", ""),
        dimensions=table.take("dimensions", _is_dimensions, "a whole number from 8 to 4096", 0),
        weight=table.take("weight", _is_part, part, 0.5),
        least=table.take("least", _is_part, part, 0.3),
    )
    faults += table.end()
    return settings


def _price(name: str, value: Mapping[str, Any], faults: list[str]) -> Price:
    table = Table(f'{_MODELS}.prices."{name[:60]}"', dict(value))
    money = "dollars for a million tokens"
    needed = [key for key in ("input", "output") if key not in value]
    table.faults += [f"`{key}` is missing below [{table.place}]" for key in needed]
    fresh = table.take("input", is_money, money, 0)
    cached = table.take("cached", is_money, money, fresh)
    output = table.take("output", is_money, money, 0)
    faults += table.end()
    return Price(model=name, input=micros(fresh), cached=micros(cached), output=micros(output))


def _is_dimensions(value: Any) -> bool:
    return type(value) is int and 8 <= value <= 4096  # noqa: PLR2004 -- what models have


def _is_part(value: Any) -> bool:
    return type(value) in {int, float} and 0 <= value <= 1


def _is_hours(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 8760  # noqa: PLR2004 -- the hours of a year


def _is_command(value: Any) -> bool:
    if type(value) is not list or not value:
        return False
    words = cast("list[Any]", value)
    return len(words) <= MANY and all(type(word) is str for word in words) and bool(words[0])
