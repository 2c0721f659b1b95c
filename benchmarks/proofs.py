"""Thinking, sealing, proving and verifying, up to a million leaves."""

from __future__ import annotations

import hashlib
import random
import statistics
import time
from collections.abc import Callable

import orjson
from _measure import Row, Series, alternate, asked, caller, opened, publish, row

from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.merkle import (
    Frontier,
    consistency_proof,
    frontier_at,
    inclusion_proof,
    leaf_hash,
    verify_consistency,
    verify_inclusion,
)
from counterpoint.core.ledger.offline import verify_any
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts

THOUGHTS = 100_000
LEAVES = 1_000_000
AT_ONCE = 10_000
SAMPLE = 300


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=5)
    publish("proofs", [*_sessions(wanted.rounds), *_million()])


def _sessions(rounds: int) -> list[Row]:
    with opened() as (app,):
        core, other = caller(app), caller(app)
        text = "# Plan\n" + "".join(f"- [ ] Task {number}\n" for number in range(100))
        tasks = core().plans.create(core().plans.read(text)).ready
        session = core().caller.actor.session
        durable = [_spent(lambda n=n: _think(core(), tasks, n)) for n in range(SAMPLE)]
        for start in range(SAMPLE, THOUGHTS, AT_ONCE):
            end = min(start + AT_ONCE, THOUGHTS)
            core().once(f"{start}", start, lambda s=start, e=end: _all(core(), tasks, s, e))
        sealing = _spent(lambda: core().use(Seals).seal(session))
        records = [one.record.id for one in other().use(Thoughts).list(session=session, limit=20)]
        proving = [_spent(lambda r=r: other().use(Seals).proof(r)) for r in records]
        checking = _spent(lambda: other().use(Seals).verify(session))
        chains = _spent(other().use(Thoughts).verify)
        other().signing.renew()
        sealed, whole = list(other().use(Seals).export(session)), list(other().audit.export())
    entries = len(whole) - 1 - THOUGHTS
    found = alternate(
        {
            "session": lambda: verify_any(sealed),
            "whole": lambda: verify_any(whole),
            "floor": lambda: _parse(sealed[1 : THOUGHTS + 1]),
        },
        rounds,
        warmup=1,
        clock=time.process_time,
    )
    floor = THOUGHTS / statistics.median(found["floor"])
    return [
        row("one thought, durable, from the core", durable, most=4.0),
        Row(what=f"seal a session of {THOUGHTS:,} thoughts", figure=sealing, unit="s"),
        row(f"prove one of {THOUGHTS:,} sealed thoughts", proving),
        Row(
            what="verify the seal against the tables", figure=THOUGHTS / checking, unit="entries/s"
        ),
        Row(what="verify 100 chains with their texts", figure=THOUGHTS / chains, unit="entries/s"),
        _rate("bundle of the session, offline", found, "session", THOUGHTS, floor),
        _rate(f"bundle of the project, {entries:,} entries", found, "whole", entries, None),
    ]


def _think(core: Core, tasks: tuple[str, ...], number: int) -> None:
    core.use(Thoughts).think("analysis", f"thought {number}", task=tasks[number % len(tasks)])


def _all(core: Core, tasks: tuple[str, ...], start: int, end: int) -> int:
    for number in range(start, end):
        _think(core, tasks, number)
    return end


def _rate(what: str, found: Series, name: str, many: int, floor: float | None) -> Row:
    tenths = statistics.quantiles(found[name], n=10)
    return Row(
        what=what,
        figure=many / statistics.median(found[name]),
        unit="entries/s",
        low=many / tenths[-1],
        high=many / tenths[0],
        floor=floor,
        beside="parse + hash" if floor else "",
    )


def _million() -> list[Row]:
    """Prove and check in a tree whose nodes are kept, as those of a ledger are."""
    nodes: list[list[bytes]] = [[leaf_hash(b"%d" % number) for number in range(LEAVES)]]
    begin = time.process_time()
    frontier, completed = Frontier().extend(nodes[0])
    growing = time.process_time() - begin
    for level, _, node in completed:
        if level == len(nodes):
            nodes.append([])
        nodes[level].append(node)
    root = frontier.root()

    def read(level: int, index: int) -> bytes:
        return nodes[level][index]

    chance = random.Random(7)
    places = [chance.randrange(LEAVES) for _ in range(1_000)]
    proofs = [inclusion_proof(place, LEAVES, read) for place in places]
    steps = [consistency_proof(place, LEAVES, read) for place in places]
    firsts = [frontier_at(place, read).root() for place in places]
    one, two, three, four = (
        [_spent(lambda p=p: inclusion_proof(p, LEAVES, read)) for p in places],
        [
            _spent(lambda p=p, path=path: verify_inclusion(p, LEAVES, nodes[0][p], path, root))
            for p, path in zip(places, proofs, strict=True)
        ],
        [_spent(lambda p=p: consistency_proof(p, LEAVES, read)) for p in places],
        [
            _spent(lambda p=p, f=f, path=path: verify_consistency(p, LEAVES, f, root, path))
            for p, f, path in zip(places, firsts, steps, strict=True)
        ],
    )
    return [
        Row(what=f"grow a tree to {LEAVES:,} leaves", figure=LEAVES / growing, unit="leaves/s"),
        row("prove inclusion", one, scale=1e6, unit="µs"),
        row("check inclusion", two, scale=1e6, unit="µs"),
        row("prove consistency", three, scale=1e6, unit="µs"),
        row("check consistency", four, scale=1e6, unit="µs"),
        Row(what="largest proof of inclusion", figure=32 * max(map(len, proofs)), unit="bytes"),
        Row(what="largest proof of consistency", figure=32 * max(map(len, steps)), unit="bytes"),
    ]


def _parse(lines: list[bytes]) -> None:
    for data in lines:
        orjson.loads(data)
        hashlib.sha256(data).digest()


def _spent(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
