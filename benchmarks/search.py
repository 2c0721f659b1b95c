"""Full-text search among ten and a hundred thousand texts, beside the bare index."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import cycle

import apsw
from _measure import Row, alternate, asked, caller, graph, median, opened, publish, row

from counterpoint.storage.search import expression

_WORDS = 20_000
_LONG = 73
_QUERIES = 50
_LIMIT = 10


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=150)
    rows: list[Row] = []
    for size in (10_000, 100_000 if wanted.full else 30_000):
        with opened() as (app,):
            core = caller(app)
            graph(core(), "free", size, body=_texts())
            few = _asked(3)
            searching = cycle(few)
            bare = cycle([expression(query.split()) for query in few])
            connection = apsw.Connection(str(app.database))
            found = alternate(
                {
                    "ours": lambda: core().search.find(next(searching), limit=_LIMIT),
                    "bare": lambda: connection.execute(
                        "SELECT rowid FROM search WHERE search MATCH ?"
                        " ORDER BY bm25(search, 4.0, 1.0) LIMIT ?",
                        (next(bare), _LIMIT),
                    ).fetchall(),
                },
                wanted.rounds,
            )
            connection.close()
        floor = {"floor": median(found["bare"]), "beside": "bare FTS5"}
        rows.append(row(f"three words, {size:,} texts", found["ours"], **floor))
    rows.append(row("  of which the promise", found["ours"], most=25))
    publish("search", rows)


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
