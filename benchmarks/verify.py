"""Verifying a ledger, in seconds of CPU, beside parsing and hashing alone."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import orjson
from _measure import Row, Series, alternate, asked, caller, opened, publish

from counterpoint.core.ledger.chain import Verification
from counterpoint.core.ledger.checkpoint import verify as verify_checkpoint
from counterpoint.core.ledger.entry import GENESIS
from counterpoint.core.ledger.merkle import leaf_hash, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.coverage import Coverage
from counterpoint.core.ledger.writers.keys import NamedKeys
from counterpoint.core.ledger.writers.signature import (
    Range,
    seal_delegation,
    seal_range,
    writer_key,
)
from counterpoint.core.model.trust.writers import WriterSignature
from counterpoint.evidence.keys import fresh_key
from counterpoint.storage.packing import pack, unpack

_SIGNATURES = 2_000
_WRITERS, _EACH = 500, 100


def _verify(entries: Iterable[bytes], project: str) -> None:
    verification = Verification(project)
    verification.read(entries)
    verification.close()
    verification.verified()


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=9)
    size = 100_000 if wanted.full else 20_000
    with opened() as (app,):
        core = caller(app)
        for number in range(size):
            core().memory.put("project", f"key-{number % 5000}", {"n": number, "text": "x" * 40})
        with app.store.reading(app.project) as view:
            data = list(view.entries())
        sample = _chained(data[1:20_001])
        project = orjson.loads(sample[0])["p"]
        packed = _packed(sample, project)
        found = alternate(
            {
                "ours": lambda: _verify(sample, project),
                "stored": lambda: _verify(_unpacked(packed, project), project),
                "floor": lambda: _parse(sample),
            },
            wanted.rounds,
            warmup=1,
            clock=time.process_time,
        )
        quick, audited, rebuilt = (
            _spent(lambda: core().audit.verify(extent="entries").sound),
            _spent(lambda: core().audit.verify().sound),
            _spent(lambda: core().audit.rebuild().differences == ()),
        )
        rows_held = sum(core().audit.rebuild().rows.values())
        core().signing.renew()
        note, key = core().audit.checkpoint(), core().audit.key
        signed = _spent(lambda: all(verify_checkpoint(note, key) for _ in range(_SIGNATURES)))
        coverage, vouched, named = _vouched(key)
        writers = _spent(lambda: coverage.check(vouched, NamedKeys(named)) is None)
    mean = statistics.mean(map(len, sample))
    chain = {name: len(sample) / statistics.median(found[name]) for name in found}
    rows = [
        Row(
            what="the promise, unpacking included",
            figure=chain["stored"],
            unit="entries/s",
            least=100_000,
        ),
        Row(
            what=f"chain and tree, entries of {mean:.0f} bytes",
            figure=chain["ours"],
            unit="entries/s",
            **_span(found, len(sample)),
            floor=chain["floor"],
            beside="parse + hash",
        ),
        Row(
            what="the same as stored, unpacked on the way",
            figure=chain["stored"],
            unit="entries/s",
            floor=chain["floor"],
            beside="parse + hash",
        ),
        Row(what=f"audit --quick of {size:,}", figure=size / quick, unit="entries/s"),
        Row(what=f"the whole audit of {size:,}", figure=size / audited, unit="entries/s"),
        Row(what=f"rebuild and compare {size:,}", figure=size / rebuilt, unit="entries/s"),
        Row(what=f"the same, of {rows_held:,} rows", figure=rows_held / rebuilt, unit="rows/s"),
        Row(
            what="signatures of checkpoints",
            figure=_SIGNATURES / signed,
            unit="signatures/s",
            floor=chain["ours"],
            beside="entries of the chain",
        ),
        Row(
            what=f"those of writers, each of another one and over {_EACH} entries",
            figure=_WRITERS / writers,
            unit="signatures/s",
            floor=chain["ours"],
            beside="entries of the chain",
        ),
    ]
    publish("verify", rows)


def _vouched(key: VerifierKey) -> tuple[Coverage, list[WriterSignature], VerifierKey]:
    """Answer a look that has read the entries of many writers, and what each of them signed."""
    signer, coverage = fresh_key(), Coverage()
    named = replace(key, public_key=signer.public_key)
    made: list[WriterSignature] = []
    for number in range(_WRITERS):
        writer, first = f"cn_{number}", number * _EACH
        leaves = [leaf_hash(b"%d" % place) for place in range(first, first + _EACH)]
        for place in range(first, first + _EACH):
            coverage.read(
                {"a": "decision.recorded", "w": {"i": {"i": writer, "k": "connection"}}}, place
            )
        coverage.hashed(leaves)
        own = signer.derived(writer)
        found = Range(first=first, last=first + _EACH - 1, count=_EACH, root=root_of(leaves))
        public = writer_key(key.name, writer, own.public_key)
        made.append(
            WriterSignature(
                writer=writer,
                first=first,
                delegation=seal_delegation(named, writer, own.public_key, signer.sign),
                note=seal_range(public, key.name, writer, found, own.sign),
            )
        )
    return coverage, made, named


def _chained(entries: list[bytes]) -> list[bytes]:
    """Number and chain the entries as a ledger of their own."""
    chained: list[bytes] = []
    last = GENESIS
    for place, data in enumerate(entries):
        value = {**orjson.loads(data), "n": place, "h": last}
        chained.append(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
        last = leaf_hash(chained[-1]).hex()
    return chained


Packed = list[tuple[bytes, int, str]]


def _packed(entries: list[bytes], project: str) -> Packed:
    """Answer the entries as they are stored, each with its place and the hash before it."""
    packed: Packed = []
    before = GENESIS
    for place, data in enumerate(entries):
        packed.append((pack(data, project, place, before), place, before))
        before = leaf_hash(data).hex()
    return packed


def _unpacked(packed: Packed, project: str) -> Iterator[bytes]:
    return (unpack(data, project, place, before) for data, place, before in packed)


def _parse(entries: list[bytes]) -> None:
    for data in entries:
        orjson.loads(data)
        hashlib.sha256(data).digest()


def _spent(check: Callable[[], bool]) -> float:
    begin = time.process_time()
    assert check()
    return time.process_time() - begin


def _span(found: Series, many: int) -> dict[str, float]:
    tenths = statistics.quantiles(found["ours"], n=10)
    return {"low": many / tenths[-1], "high": many / tenths[0]}


if __name__ == "__main__":
    main()
