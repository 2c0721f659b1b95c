"""Verifying a ledger, beside the hashing and parsing that nothing can do without."""

from __future__ import annotations

import hashlib
import statistics
import time

import orjson
from _measure import Row, arguments, caller, graph, opened, publish

SIZE = 100_000


def main() -> None:
    """Measure, print, write."""
    arguments(main.__doc__ or "")
    rows: list[Row] = []
    with opened() as app:
        core = caller(app)
        graph(core(), "free", 1000)
        for number in range(SIZE // 1000):
            core().memory.put("project", f"key-{number}", {"text": "x" * 200})
        with app.store.reading(app.project) as view:
            few = [data for data in view.entries() if len(data) < 1000][1:]
        entries = few * (20_000 // len(few))
        size = statistics.mean(map(len, entries))
        rows.append(_chain(entries, size))
        begin = time.perf_counter()
        audit = core().audit.verify()
        spent = time.perf_counter() - begin
        rows.append(
            Row(what="the whole audit of this store", figure=audit.size / spent, unit="entries/s")
        )
    publish("verify", rows)


def _chain(entries: list[bytes], size: float) -> Row:
    """Chain the entries anew, then time the verification beside its floor."""
    from counterpoint.core.ledger.chain import Verification
    from counterpoint.core.ledger.entry import GENESIS
    from counterpoint.core.ledger.merkle import leaf_hash

    chained: list[bytes] = []
    last = GENESIS
    for place, data in enumerate(entries):
        value = orjson.loads(data)
        value["n"], value["h"], value["t"] = place, last, "2026-01-01T00:00:00.000Z"
        chained.append(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
        last = leaf_hash(chained[-1]).hex()
    project = orjson.loads(chained[0])["p"]
    figures: list[float] = []
    floors: list[float] = []
    for _ in range(5):
        begin = time.perf_counter()
        verification = Verification(project)
        verification.read(chained)
        verification.close(len(chained))
        verification.verified()
        figures.append(len(chained) / (time.perf_counter() - begin))
        begin = time.perf_counter()
        for data in chained:
            orjson.loads(data)
            hashlib.sha256(data).digest()
        floors.append(len(chained) / (time.perf_counter() - begin))
    return Row(
        what=f"chain and tree of entries of {size:.0f} bytes",
        figure=statistics.median(figures),
        unit="entries/s",
        floor=statistics.median(floors),
        beside="parse and hash alone",
    )


if __name__ == "__main__":
    main()
