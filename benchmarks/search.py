"""Full-text search among ten and a hundred thousand texts, beside the bare index."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import cycle

import apsw
from _measure import Row, Series, alternate, asked, caller, graph, median, opened, publish, row

from counterpoint.app import App
from counterpoint.storage.sqlite.search import expression

_WORDS = 20_000
_LONG = 73
_QUERIES = 50
_LIMIT = 10
_BARE = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY bm25(search, 4.0, 1.0) LIMIT ?"


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=150)
    rows: list[Row] = []
    for size in (10_000, 100_000 if wanted.full else 30_000):
        with opened() as (app,):
            graph(caller(app)(), "free", size, body=_texts())
            found = _searched(app, wanted.rounds)
        floor = {"floor": median(found["bare"]), "beside": "bare FTS5"}
        rows.append(row(f"three words, {size:,} texts", found["ours"], **floor))
    rows.append(row("  of which the promise", found["ours"], most=25))
    publish("search", rows)


def _searched(app: App, rounds: int) -> Series:
    """Answer the seconds of the same queries through the product and on the bare index."""
    core = caller(app)
    queries = _asked(3)
    ours, bare = cycle(queries), cycle([expression(query.split()) for query in queries])
    connection = apsw.Connection(str(app.database))
    found = alternate(
        {
            "ours": lambda: core().search.find(next(ours), limit=_LIMIT),
            "bare": lambda: connection.execute(_BARE, (next(bare), _LIMIT)).fetchall(),
        },
        rounds,
    )
    connection.close()
    return found


def _texts() -> Callable[[int], str]:
    """Answer what writes texts whose words are as unevenly frequent as those of a language."""
    chance = random.Random(1)
    weights = [1 / rank for rank in range(10, _WORDS + 10)]
    words = [f"w{number:x}" for number in range(_WORDS)]
    stock = iter(chance.choices(words, weights, k=_LONG * 110_000))
    return lambda _: " ".join(next(stock) for _ in range(_LONG))


def _asked(many: int) -> list[str]:
    """Answer queries of words that are neither the most frequent nor the rarest."""
    chance = random.Random(2)
    return [
        " ".join(f"w{chance.randrange(20, 2000):x}" for _ in range(many)) for _ in range(_QUERIES)
    ]


if __name__ == "__main__":
    main()
