"""What the table [web] of counterpoint.toml says, and what is wrong with it.

    [web]
    fetch = true                     # whether pages are fetched; takes trust
    hosts = ["127.0.0.1:8080"]       # from these too, although their addresses are not public; takes trust
    order = ["mine", "tavily"]       # whom to ask first for searches
    research_usd = 2                 # what one deep research may cost; more takes trust

    [web.search.mine]
    kind = "searxng"                 # or "tavily", "perplexity", "google", "semantic-scholar"
    address = "http://127.0.0.1:8888"
    engine = ""                      # of Google: the id of the search engine
    usd_per_thousand = 0             # what a thousand searches cost; takes trust
    enabled = true

An address is one that keys may go to, as those of models are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast, get_args

from counterpoint.core.model.web import STUDY_LIMIT_MICROS, Browsing, SaidSearcher, SearcherKind
from counterpoint.evidence.running.tables import (
    MOST_DOLLARS,
    Table,
    is_address,
    is_money,
    is_names,
    is_tables,
    is_word,
    micros,
)

_WEB: Final = "web"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_HOST: Final = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?):[0-9]{1,5}")


def read_web(value: Any) -> tuple[Browsing, list[str]]:
    """Return what the table says, and what is wrong with it."""
    if type(value) is not dict:
        return Browsing(), [f"`{_WEB}` is not a table"]
    table = Table(_WEB, dict(cast("dict[str, Any]", value)))
    searchers = table.take("search", is_tables, "a table of tables", {})
    faults: list[str] = []
    providers = tuple(_searcher(name, entry, faults) for name, entry in searchers.items())
    money = f"a number of dollars from 0 to {MOST_DOLLARS}"
    limit = table.take("research_usd", is_money, money, STUDY_LIMIT_MICROS / micros(1))
    browsing = Browsing(
        order=tuple(table.take("order", is_names, "a list of names of providers", [])),
        searchers=providers,
        fetches=table.take("fetch", _is_flag, "true or false", False),
        hosts=tuple(table.take("hosts", _is_hosts, "a list of `host:port`, in small letters", [])),
        study_limit=micros(limit),
    )
    return browsing, [*table.end(), *faults]


def _searcher(name: str, value: Mapping[str, Any], faults: list[str]) -> SaidSearcher:
    table = Table(f"{_WEB}.search.{name}", dict(value))
    if not _NAME.fullmatch(name):
        table.faults.append(
            f"{name[:60]!r} is no name of a provider: lower-case letters, digits, hyphens"
        )
    kinds = get_args(SearcherKind)
    kind = table.take("kind", lambda word: word in kinds, f"one of {', '.join(kinds)}", None)
    address = table.take("address", is_address, "https://…, or http:// to this machine", "")
    engine = table.take("engine", is_word, "the id of a search engine", "")
    price = table.take("usd_per_thousand", is_money, "dollars for a thousand searches", None)
    is_on = table.take("enabled", _is_flag, "true or false", True)
    faults += table.end()
    return SaidSearcher(
        name=name,
        kind=kind,
        address=address.rstrip("/"),
        engine=engine,
        price=None if price is None else micros(price / 1000),
        is_on=is_on,
    )


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_hosts(value: Any) -> bool:
    return is_names(value) and all(_HOST.fullmatch(host) for host in value)
