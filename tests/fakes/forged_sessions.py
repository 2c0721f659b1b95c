"""Forged bundles of sealed sessions, by somebody who has the key: each kind by a function.

The ledger that a session's bundle leads into is forged with it: a tree in which the entries of the bundle stand where
they say, among leaves that nobody wrote.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from counterpoint.core.ledger.merkle import inclusion_proof, leaf_hash, nodes_of, root_of
from counterpoint.core.ledger.note import VerifierKey, to_base64
from fakes import forged_entries
from fakes.forgeries import Bundle, Forgery, joined, signed
from fakes.studio import FixedKey
from fakes.tampering import Lines, dump

Value = Any


@dataclass
class Session(Bundle):
    """A session's bundle taken apart; `lines` are its thoughts, and `note` and the like make its seal.

    entries: those of the ledger. length: of that ledger. sealing: whether the row of the seal is filled in; sealed: what
    it says else. written: makes the checkpoint of the ledger from its text; told: changes what the header says of the ledger.
    """

    entries: list[Value] = field(default_factory=list)
    length: int = 0
    sealing: bool = True
    sealed: dict[str, Value] = field(default_factory=dict)
    written: Callable[[str], str] | None = None
    told: Callable[[Value], object] = field(default=lambda _: None)


def taken_apart(lines: Lines) -> Session:
    """Answer the parts of a sound bundle, to be changed."""
    values = [orjson.loads(line) for line in lines]
    proved = int(values[0]["checkpoint"].split("\n")[1])
    ledger = values[0]["ledger"]
    return Session(
        values[0],
        values[1 : proved + 1],
        values[proved + 1 :],
        entries=[orjson.loads(one["entry"]) for one in ledger["entries"]],
        length=int(ledger["checkpoint"].split("\n")[1]),
    )


def put_together(bundle: Session, key: VerifierKey, signer: FixedKey) -> bytes:
    """Answer the file: thoughts chained, sealed, the seal entered in a ledger, and all of it signed."""
    written = _chained(bundle)
    made = root_of(map(leaf_hash, written))
    origin = bundle.origin or f"{key.name}/{bundle.head.get('session')}"
    root = bundle.root or to_base64(made)
    text = f"{origin}\n{bundle.size or len(written)}\n{root}\n{bundle.more}"
    if bundle.note is not None:
        bundle.head["checkpoint"] = bundle.note(text)
    elif bundle.head.get("checkpoint") is not None:
        bundle.head["checkpoint"] = signed(text, key, signer)
    seals = [row for one in bundle.entries for row in one.get("r", ()) if row["t"] == "seals"]
    if bundle.sealing and seals:
        checkpoint = bundle.head.get("checkpoint")
        told = {"checkpoint": checkpoint, "root": made.hex(), "size": len(written)}
        seals[0]["v"] |= told | bundle.sealed
    if "ledger" in bundle.head:
        bundle.head["ledger"] = _ledger(bundle, key, signer)
    return joined(bundle, written)


def _chained(bundle: Session) -> Lines:
    """Answer the thoughts; whichever follows the one before it about its task names that one's hash."""
    written: Lines = []
    ends: dict[Value, tuple[int, str]] = {}
    for value in bundle.lines:
        if bundle.rechained and isinstance(value, dict) and value.get("task") in ends:
            place, before = ends[value["task"]]
            if value.get("sequence") == place + 1:
                value["previous"] = before
        written.append(value if isinstance(value, bytes) else dump(value))
        if isinstance(value, dict) and type(value.get("sequence")) is int:
            ends[str(value.get("task"))] = value["sequence"], leaf_hash(written[-1]).hex()
    return written


def _ledger(bundle: Session, key: VerifierKey, signer: FixedKey) -> Value:
    leaves = [bytes(32)] * bundle.length
    entries = [dump(one) for one in bundle.entries]
    places = [one["n"] if type(one["n"]) is int else 0 for one in bundle.entries]
    for place, data in zip(places, entries, strict=True):
        leaves[place % bundle.length] = leaf_hash(data)
    text = f"{key.name}\n{bundle.length}\n{to_base64(root_of(leaves))}\n"
    made = bundle.written(text) if bundle.written else signed(text, key, signer)
    proofs = (inclusion_proof(p % bundle.length, bundle.length, nodes_of(leaves)) for p in places)
    told = [
        {"entry": data.decode(), "path": [part.hex() for part in path]}
        for data, path in zip(entries, proofs, strict=True)
    ]
    ledger = {"checkpoint": made, "entries": told}
    bundle.told(ledger)
    return ledger


SHARED = ("header", "checkpoint", "note", "file", "texts")
"""Sorts of forgeries that a session's bundle has as a ledger's; of its own checkpoint."""
SESSIONS: dict[str, Forgery] = {
    name: made for name, made in forged_entries.FORGERIES.items() if name.split(":")[0] in SHARED
}
SOUND: set[str] = {name for name in forged_entries.SOUND if name in SESSIONS}

Change = Callable[[Session], object]


def simple(name: str, change: Change, *, sound: bool = False) -> None:
    """Name a forgery that needs no key of its own."""

    def made(bundle: Bundle, _key: VerifierKey, _signer: FixedKey) -> None:
        assert isinstance(bundle, Session)
        change(bundle)

    SESSIONS[name] = made
    if sound:
        SOUND.add(name)


# ── the header ───────────────────────────────────────────────────────────────────────────────────

simple("header: another session", lambda b: b.head.update(session="ses_x"))
simple("header: empty session", lambda b: b.head.update(session=""))
simple("header: session of another sort", lambda b: b.head.update(session=1))
simple("header: no session", lambda b: b.head.pop("session"))
simple("header: no ledger", lambda b: b.head.pop("ledger"))
simple("header: as of a ledger", lambda b: b.head.update(format="counterpoint-bundle"))

# ── thoughts ─────────────────────────────────────────────────────────────────────────────────────


def thought(name: str, change: Change | None = None, *, sound: bool = False, **told: Value) -> None:
    """Name a forgery of the thoughts, or of what the second of them tells."""
    simple(f"thought: {name}", change or (lambda bundle: bundle.lines[1].update(told)), sound=sound)


def _last_less(bundle: Session) -> None:
    gone = bundle.lines.pop()["content"]
    bundle.texts = [one for one in bundle.texts if one["text"] != gone]


thought("the last one less, with its text", _last_less, sound=True)
thought("the last one less", lambda b: b.lines.pop())
thought("none at all", lambda b: (b.lines.clear(), b.texts.clear()))
thought("one twice", lambda b: b.lines.insert(1, copy.deepcopy(b.lines[1])))
thought("one twice in its chain", lambda b: b.lines.append(b.lines[-1] | {"sequence": 9}))
thought("in another order", lambda b: b.lines.reverse())
thought(
    "not chained", lambda b: (setattr(b, "rechained", False), b.lines[1].update(type="analysis"))
)
thought("of another session", session="ses_x")
thought("of no session", session="")
thought("of another agent", agent="eve", sound=True)
thought("of an empty agent", agent="")
thought("of an agent of another sort", agent=1)
thought("of another type", type="idea")
thought("of another version", version=2)
thought("of version true", version=True)
thought("of a place before the first", sequence=-1)
thought("of a place true", sequence=True)
thought("of a place as a text", sequence="1")
thought("of another text", content="0" * 64)
thought("of a text in capitals", content="A" * 64)
thought("of a text of another sort", content=1)
thought("of an earlier time", lambda b: b.lines[3].update(timestamp="2020-01-01T10:00:00.000Z"))
thought("of a time without milliseconds", timestamp="2026-11-20T10:00:00Z")
thought("of a hash before in capitals", previous="A" * 64)
thought("of a task of another sort", task=1)
thought("without a task", task="")
thought("without an id", id="")
thought("of an id of another sort", id=1)
thought("with more", x=1)
thought("with less", lambda b: b.lines[1].pop("agent"))
thought("no object", lambda b: b.lines.insert(1, dump([1])))
thought(
    "with white space", lambda b: b.lines.insert(1, dump(b.lines.pop(1)).replace(b",", b", ", 1))
)

# ── the ledger that it leads into ────────────────────────────────────────────────────────────────


def ledger(name: str, change: Callable[[Value], object], *, sound: bool = False) -> None:
    """Name a forgery of what the header says of the ledger."""
    simple(f"ledger: {name}", lambda bundle: setattr(bundle, "told", change), sound=sound)


def path(name: str, change: Callable[[Value], object]) -> None:
    """Name a forgery of the way from the entry of the seal to the root."""
    simple(
        f"path: {name}",
        lambda bundle: setattr(bundle, "told", lambda told: change(told["entries"][0]["path"])),
    )


ledger("an unknown key", lambda told: told.update(x=1))
ledger("no checkpoint", lambda told: told.pop("checkpoint"))
ledger("a checkpoint of another sort", lambda told: told.update(checkpoint=1))
ledger("no entries", lambda told: told.pop("entries"))
ledger("an empty list of entries", lambda told: told.update(entries=[]))
ledger("entries of another sort", lambda told: told.update(entries={}))
ledger("an entry as an object", lambda told: told["entries"][0].update(entry={}))
ledger("an entry with more", lambda told: told["entries"][0].update(x=1))
ledger("an entry without a path", lambda told: told["entries"][0].pop("path"))
ledger("an entry twice", lambda told: told["entries"].append(told["entries"][0]), sound=True)
ledger(
    "an entry with white space",
    lambda told: told["entries"][0].update(entry=told["entries"][0]["entry"].replace(",", ", ", 1)),
)
path("with one less", lambda parts: parts.pop())
path("with one more", lambda parts: parts.append("0" * 64))
path("in another order", lambda parts: parts.reverse())
path("with another hash", lambda parts: parts.__setitem__(0, "f" * 64))
path("with a hash in capitals", lambda parts: parts.__setitem__(-1, parts[-1].upper()))
path("with a short hash", lambda parts: parts.__setitem__(0, parts[0][2:]))
path("with a hash of another sort", lambda parts: parts.__setitem__(0, 1))


def signature(
    name: str, make: Callable[[str, VerifierKey, FixedKey], str], *, sound: bool = False
) -> None:
    """Name a forgery of the signed note of the ledger."""

    def change(bundle: Bundle, key: VerifierKey, signer: FixedKey) -> None:
        assert isinstance(bundle, Session)
        bundle.written = lambda text: make(text, key, signer)

    SESSIONS[f"ledger note: {name}"] = change
    if sound:
        SOUND.add(f"ledger note: {name}")


_OTHER = FixedKey(b"o" * 32)
signature("unsigned", lambda text, key, signer: f"{text}\n")
signature("signed by somebody else", lambda text, key, signer: signed(text, key, _OTHER))
signature(
    "of another origin",
    lambda text, key, signer: signed(text.replace("demo", "other", 1), key, signer),
)
signature(
    "of a session",
    lambda text, key, signer: signed(text.replace("demo", "demo/ses", 1), key, signer),
)
signature(
    "with a line more", lambda text, key, signer: signed(f"{text}more\n", key, signer), sound=True
)
signature("one entry longer", lambda text, key, signer: signed(_longer(text), key, signer))
signature("nothing", lambda text, key, signer: "")


def _longer(text: str) -> str:
    origin, size, rest = text.split("\n", 2)
    # A length in whose tree the place of the entry has a way of another length.
    return f"{origin}\n{2 * int(size) + 1}\n{rest}"


# ── the entries of the ledger ────────────────────────────────────────────────────────────────────


def entry(name: str, change: Callable[[Value], object], *, sound: bool = False) -> None:
    """Name a forgery of the entry that writes the seal."""
    simple(f"sealing entry: {name}", lambda bundle: change(bundle.entries[0]), sound=sound)


def seal(name: str, change: Callable[[Value], object], *, sealing: bool = True) -> None:
    """Name a forgery of the row of the seal; sealing: it is filled in afterwards."""

    def made(bundle: Session) -> None:
        bundle.sealing = sealing
        change(next(row for row in bundle.entries[0]["r"] if row["t"] == "seals"))

    simple(f"seal: {name}", made)


entry("of another project", lambda e: e.update(p="other"))
entry("of another agent", lambda e: e["w"].update(n="eve"), sound=True)
entry("of version 1", lambda e: e.update(v=1))
entry("of an unknown kind of agent", lambda e: e["w"].update(k="robot"))
entry("of another number", lambda e: e.update(n=0), sound=True)
entry("of a number beyond the ledger", lambda e: e.update(n=e["n"] + 1000))
entry("of number true", lambda e: e.update(n=True))
entry("with an unknown key", lambda e: e.update(x=1))
entry("without rows", lambda e: e.pop("r"))
entry(
    "without the seal",
    lambda e: e.update(r=[one for one in e["r"] if one["t"] != "seals"] or [_ROW]),
)
entry("with a fraction", lambda e: e.update(f={"a": 0.5}))
entry("with a reserved reference", lambda e: e.update(f={"a": {"$sealed": "0" * 64}}))
_ROW: Value = {"t": "x", "k": {"a": 1}, "v": {}}
seal("of another session", lambda row: row["k"].update(session="ses_x"))
seal("by another key", lambda row: row.update(k={"x": "y"}))
seal("by a key more", lambda row: row["k"].update(x="y"))
seal("changed", lambda row: row.update(c=row.pop("v")), sealing=False)
seal("deleted", lambda row: row.update(v=None), sealing=False)
for _column, _value in {"size": 1, "root": "0" * 64, "checkpoint": "x"}.items():
    simple(
        f"seal: another {_column}",
        lambda bundle, told={_column: _value}: bundle.sealed.update(told),
    )


# ── texts that were taken away ───────────────────────────────────────────────────────────────────


def _taken_away(bundle: Session, *, action: str = "text.redacted", first: bool = False) -> None:
    """Take the first text out, with an entry that tells of it."""
    gone = bundle.texts.pop(0)["text"]
    last = bundle.entries[-1]
    place = bundle.length
    added = {"a": action, "n": place, "p": last["p"], "t": last["t"], "v": 2, "h": "0" * 64}
    added |= {"w": {"k": "human", "n": "pat"}, "f": {"texts": [gone]}}
    bundle.length += 1
    bundle.entries.insert(0 if first else len(bundle.entries), added)


simple("redaction: of the first text", _taken_away, sound=True)
simple("redaction: by another action", lambda b: _taken_away(b, action="text.moved"))
simple("redaction: before the seal", lambda b: _taken_away(b, first=True))
simple("redaction: told by nobody", lambda b: (_taken_away(b), b.entries.pop()))
