"""Forged bundles, continued: entries, texts, thoughts and seals, each kind by a function."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from typing import Any

from counterpoint.core.ledger.merkle import leaf_hash
from fakes.forgeries import FORGERIES, SOUND, Bundle, put_together, simple, taken_apart
from fakes.tampering import dump

__all__ = ["FORGERIES", "SOUND", "put_together", "taken_apart"]

Value = Any
_OF_NOBODY = hashlib.sha256(b"\2" + bytes(16) + b"x").hexdigest()


def entry(
    name: str, change: Callable[[Value], object], *, sound: bool = False, place: int = 3
) -> None:
    """Name a forgery of one entry."""
    simple(f"entry: {name}", lambda bundle: change(bundle.lines[place]), sound=sound)


def raw_entry(name: str, old: bytes, new: bytes, *, place: int = 3) -> None:
    """Name a forgery of the bytes of one entry."""

    def change(bundle: Bundle) -> None:
        # Chained first, so that only the spelling is wrong.
        before = leaf_hash(dump(bundle.lines[place - 1])).hex()
        data = dump(bundle.lines[place] | {"h": before})
        assert old in data
        bundle.lines[place] = data.replace(old, new, 1)

    simple(f"spelling: {name}", change)


# ── entries ──────────────────────────────────────────────────────────────────────────────────────

entry("an unknown key", lambda e: e.update(x=1))
entry("version 1", lambda e: e.update(v=1))
entry("version 3", lambda e: e.update(v=3))
entry("version as a text", lambda e: e.update(v="2"))
entry("version true", lambda e: e.update(v=True))
entry("number true", lambda e: e.update(n=True), place=1)
entry("number false", lambda e: e.update(n=False), place=0)
entry("number as a text", lambda e: e.update(n="3"))
entry("another number", lambda e: e.update(n=7))
entry("time without milliseconds", lambda e: e.update(t="2026-11-20T10:00:00Z"))
entry("time of no day", lambda e: e.update(t="2026-02-30T10:00:00.000Z"), place=0)
entry("time of no hour", lambda e: e.update(t="2026-01-30T25:00:00.000Z"), place=0)
entry("a leap second", lambda e: e.update(t="2016-12-31T23:59:60.000Z"), place=0)
entry("year 0", lambda e: e.update(t="0000-01-01T10:00:00.000Z"), place=0)
entry("time in another zone", lambda e: e.update(t=e["t"].replace("Z", "+00:00")), place=0)
entry("time as a number", lambda e: e.update(t=1))
_WIDE = {digit: digit + 0xFEE0 for digit in range(0x30, 0x3A)}
entry("time in other digits", lambda e: e.update(t=e["t"].replace("2026", "2026".translate(_WIDE))))
entry("time back", lambda e: e.update(t="2020-01-01T10:00:00.000Z"))
entry("project of another", lambda e: e.update(p="other"))
entry("project as a number", lambda e: e.update(p=1))
entry("who as a text", lambda e: e.update(w="ada"))
entry("who of no kind", lambda e: e["w"].pop("k"))
entry("who of another kind", lambda e: e["w"].update(k="robot"))
entry("who without a name", lambda e: e["w"].update(n=""))
entry("who of a name of another sort", lambda e: e["w"].update(n=1))
entry("who with an unknown key", lambda e: e["w"].update(x=1))
entry("who with an empty profile", lambda e: e["w"].update(p=""))
entry("who with an empty session", lambda e: e["w"].update(s=""))
entry("who with a session of another sort", lambda e: e["w"].update(s=1))
entry("who with no principal", lambda e: e["w"].update(i=None))
entry("a principal without a kind", lambda e: e["w"].update(i={"i": "cn_a"}))
entry("a principal of another kind", lambda e: e["w"].update(i={"i": "cn_a", "k": "robot"}))
entry("a principal without an id", lambda e: e["w"].update(i={"i": "", "k": "connection"}))
entry("a principal with more", lambda e: e["w"].update(i={"i": "a", "k": "connection", "x": 1}))
entry("action without a dot", lambda e: e.update(a="written"))
entry("action in capitals", lambda e: e.update(a="Note.written"))
entry("action with a line feed", lambda e: e.update(a="note.written\n"))
entry("action of another sort", lambda e: e.update(a=1))
entry("an empty subject", lambda e: e.update(s=""))
entry("subject of another sort", lambda e: e.update(s=1))
entry("empty facts", lambda e: e.update(f={}))
entry("facts as a list", lambda e: e.update(f=[1]))
entry("no facts", lambda e: e.update(f=None))
entry("empty rows", lambda e: e.update(r=[]))
entry("rows as an object", lambda e: e.update(r={"t": "x"}))
entry("a row of another sort", lambda e: e.update(r=["x"]))
entry("a row without a key", lambda e: e.update(r=[{"t": "x", "v": {}}]))
entry("a row without a table", lambda e: e.update(r=[{"t": "", "k": {}, "v": {}}]))
entry("a row with both images", lambda e: e.update(r=[{"t": "x", "k": {}, "v": {}, "c": {}}]))
entry("a row without an image", lambda e: e.update(r=[{"t": "x", "k": {}}]))
entry("a row with a change of nothing", lambda e: e.update(r=[{"t": "x", "k": {}, "c": None}]))
entry("a row with an image of a text", lambda e: e.update(r=[{"t": "x", "k": {}, "v": "x"}]))
entry(
    "a row with a key of another sort",
    lambda e: e.update(r=[{"t": "x", "k": {"a": True}, "v": {}}]),
)
entry("a row with a key of a list", lambda e: e.update(r=[{"t": "x", "k": ["a"], "v": {}}]))
entry("a row with a null in its key", lambda e: e.update(r=[{"t": "x", "k": {"a": None}, "v": {}}]))
entry("a row with more", lambda e: e.update(r=[{"t": "x", "k": {}, "v": {}, "x": 1}]))
entry(
    "a row of an unknown table",
    lambda e: e.setdefault("r", []).append({"t": "x", "k": {"a": 1}, "v": {"b": [1]}}),
    sound=True,
)
entry("a number too large", lambda e: e.update(f={"a": 2**53}))
entry("the largest number", lambda e: e.update(f={"a": 2**53 - 1, "b": 1 - 2**53}), sound=True)
entry("a fraction", lambda e: e.update(f={"a": 0.5}))
entry("a fraction deep inside", lambda e: e.update(f={"a": [[{"b": 1.5}]]}))
entry("a key that is not ASCII", lambda e: e.update(f={"ü": 1}))
entry("a key with a dollar sign", lambda e: e.update(f={"$a": 1}))
entry("a reserved reference", lambda e: e.update(f={"a": {"$sealed": "0" * 64}}))
entry("a reference that is too short", lambda e: e.update(f={"a": {"$text": "0" * 63}}))
entry("a reference in capitals", lambda e: e.update(f={"a": {"$text": "A" * 64}}))
entry("a reference with more", lambda e: e.update(f={"a": {"$text": "0" * 64, "b": 1}}))
entry("a reference to nothing", lambda e: e.update(f={"a": {"$text": "0" * 64}}))
entry(
    "words like a reference in a text",
    lambda e: e.update(f={"a": '{"$text":"' + "0" * 64 + '"}'}),
    sound=True,
)
entry("deep facts", lambda e: e.update(f={"a": _deep(100)}), sound=True)
simple("entry: a list", lambda b: b.lines.insert(3, [1]))
simple("entry: twice", lambda b: b.lines.insert(3, copy.deepcopy(b.lines[3])))
simple("entry: one less", lambda b: b.lines.pop(3))
simple("entry: none at all", lambda b: (b.lines.clear(), b.texts.clear()), sound=True)
simple("entry: not chained", lambda b: (setattr(b, "rechained", False), b.lines[3].update(a="x.y")))
raw_entry("white space", b'"n":3', b'"n": 3')
raw_entry("minus zero", b'"n":3', b'"f":-0,"n":3')
raw_entry("a zero before", b'"n":3', b'"n":03')
raw_entry("an exponent", b'"n":3', b'"n":3e0')
raw_entry("a point", b'"n":3', b'"n":3.0')
raw_entry("a key twice", b'"n":3', b'"n":3,"n":3')
raw_entry("an escaped letter", b'"demo"', b'"\\u0064emo"')
raw_entry("an escaped slash", b'"demo"', b'"dem\\/o"')
raw_entry("keys in another order", b'"n":3,"p":"demo"', b'"p":"demo","n":3')
raw_entry("not a number", b'"n":3', b'"n":NaN')
raw_entry("a comment", b'"n":3', b'"n":3/**/')
raw_entry("a lone surrogate", b'"demo"', b'"\\ud800"')


def _deep(levels: int) -> Value:
    found: Value = 1
    for _ in range(levels):
        found = [found]
    return found


# ── texts and redactions ─────────────────────────────────────────────────────────────────────────


def redaction(name: str, facts: Value, *, sound: bool = False) -> None:
    """Name a forgery of what a redaction tells, in an entry of its own at the end."""

    def change(bundle: Bundle) -> None:
        last = bundle.lines[-1]
        added = {"a": "text.redacted", "n": last["n"] + 1, "p": last["p"], "t": last["t"], "v": 2}
        added |= {"w": {"k": "human", "n": "pat"}}
        bundle.lines.append(added | ({} if facts is None else {"f": facts}))

    simple(f"redaction: {name}", change, sound=sound)


redaction("without facts", None, sound=True)
redaction("of what is not there", {"texts": ["0" * 64]}, sound=True)
redaction("of nothing", {"texts": []}, sound=True)
redaction("told as a text", {"texts": "0" * 64}, sound=True)
redaction("told as a number", {"texts": 1}, sound=True)
redaction("told as an object", {"texts": {"0" * 64: 1}}, sound=True)
redaction("of several sorts", {"texts": [1, None, ["0"], "0" * 64]}, sound=True)
redaction("told elsewhere", {"digest": ["0" * 64]}, sound=True)
simple("texts: one missing", lambda b: b.texts.pop())
simple("texts: in another order", lambda b: b.texts.reverse())
simple("texts: one twice", lambda b: b.texts.append(copy.deepcopy(b.texts[-1])))
simple("texts: changed", lambda b: b.texts[0].update(body="x"))
simple("texts: another digest", lambda b: b.texts[0].update(text="0" * 64))
simple(
    "texts: salt with a space",
    lambda b: b.texts[0].update(salt=b.texts[0]["salt"][:2] + " " + b.texts[0]["salt"][2:]),
)
simple("texts: salt too short", lambda b: b.texts[0].update(salt=b.texts[0]["salt"][2:]))
simple("texts: without salt", lambda b: b.texts[0].pop("salt"))
simple("texts: with more", lambda b: b.texts[0].update(x=1))
simple("texts: body of another sort", lambda b: b.texts[0].update(body=1))
simple("texts: no object", lambda b: b.texts.append([1]))
simple(
    "texts: of nobody",
    lambda b: (
        b.texts.append({"body": "x", "salt": "0" * 32, "text": _OF_NOBODY}),
        b.texts.sort(key=lambda one: one["text"]),
    ),
)
simple(
    "texts: white space", lambda b: b.texts.__setitem__(0, dump(b.texts[0]).replace(b",", b", ", 1))
)

# ── thoughts and seals ───────────────────────────────────────────────────────────────────────────


def row(name: str, table: str, change: Callable[[Value], object], *, place: int = 0) -> None:
    """Name a forgery of one row."""
    simple(f"{table}: {name}", lambda bundle: change(bundle.row(table, place)))


def late(name: str, made: Callable[[Bundle], Value], *, sound: bool = False) -> None:
    """Name a forgery that writes a row more, in the last entry."""

    def change(bundle: Bundle) -> None:
        bundle.lines[-1].setdefault("r", []).append(made(bundle))

    simple(f"late: {name}", change, sound=sound)


def _as_change(one: Value) -> None:
    one["c"] = one.pop("v")


for _table in ("thoughts", "seals"):
    row("changed", _table, _as_change)
    row("deleted", _table, lambda one: one.update(v=None))
    row("of nothing", _table, lambda one: one.update(v={}))
    row("a key more", _table, lambda one: one["k"].update(x="y"))
    row("another key", _table, lambda one: one.update(k={"x": "y"}))
    row("a number for a key", _table, lambda one: one.update(k=dict.fromkeys(one["k"], 1)))
    late(f"{_table} changed", lambda b, t=_table: {"t": t, "k": b.row(t)["k"], "c": {"version": 2}})
    late(f"{_table} changed in nothing", lambda b, t=_table: {"t": t, "k": b.row(t)["k"], "c": {}})
    late(f"{_table} deleted", lambda b, t=_table: {"t": t, "k": b.row(t)["k"], "v": None})
    late(f"{_table} again", lambda b, t=_table: copy.deepcopy(b.row(t)))
    late(
        f"{_table} of nobody deleted",
        lambda b, t=_table: {"t": t, "k": dict.fromkeys(b.row(t)["k"], "x"), "v": None},
    )
row("another hash", "thoughts", lambda one: one["v"].update(hash="0" * 64))
row("another text", "thoughts", lambda one: one["v"].update(content="0" * 64))
row("another type", "thoughts", lambda one: one["v"].update(type="idea"))
row("another version", "thoughts", lambda one: one["v"].update(version=2))
row("version true", "thoughts", lambda one: one["v"].update(version=True))
row("a place more", "thoughts", lambda one: one["v"].update(sequence=5))
row("a place true", "thoughts", lambda one: one["v"].update(sequence=True), place=1)
row("of another task", "thoughts", lambda one: one["v"].update(task="x"))
row("without a task", "thoughts", lambda one: one["v"].pop("task"))
row("of another agent", "thoughts", lambda one: one["v"].update(agent="eve"))
row("another size", "seals", lambda one: one["v"].update(size=1))
row("size true", "seals", lambda one: one["v"].update(size=True))
row("another root", "seals", lambda one: one["v"].update(root="0" * 64))
row("no checkpoint", "seals", lambda one: one["v"].pop("checkpoint"))
row("a checkpoint of another sort", "seals", lambda one: one["v"].update(checkpoint=1))
row("of no thoughts", "seals", lambda one: one["k"].update(session="ses_x"))


def _record(change: Callable[[Value], object]) -> Callable[[Bundle], object]:
    """Change the record that is written with the first thought."""

    def changed(bundle: Bundle) -> None:
        written = bundle.row("thoughts")
        found = next(e for e, one in bundle.rows if one is written)
        change(next(one for one in found["r"] if one["t"] == "records"))

    return changed


def _record_twice(bundle: Bundle) -> None:
    """Write another record of the same id behind the right one."""
    written = bundle.row("thoughts")
    found = next(e for e, one in bundle.rows if one is written)
    found["r"].append({"t": "records", "k": {"id": written["k"]["record"]}, "v": {"kind": "note"}})


simple("record: of another kind", _record(lambda one: one["v"].update(kind="note")))
simple("record: of another item", _record(lambda one: one["v"].update(item="x")))
simple("record: of another session", _record(lambda one: one["v"].update(session="x")))
simple(
    "record: of another time",
    _record(lambda one: one["v"].update(created_at="2026-01-01T00:00:00.000Z")),
)
simple("record: without its text", _record(lambda one: one["v"].pop("body")))
simple("record: as a change", _record(_as_change))
simple("record: deleted", _record(lambda one: one.update(v=None)))
simple("record: of another id", _record(lambda one: one["k"].update(id="x")))
late(
    "record of a thought changed",
    lambda b: {"t": "records", "k": {"id": b.row("thoughts")["k"]["record"]}, "c": {"status": "x"}},
)
late(
    "record of a thought deleted",
    lambda b: {"t": "records", "k": {"id": b.row("thoughts")["k"]["record"]}, "v": None},
)
late(
    "record of a thought written again",
    lambda b: {
        "t": "records",
        "k": {"id": b.row("thoughts", 3)["k"]["record"]},
        "v": {"kind": "note"},
    },
)
late(
    "record in a sealed session",
    lambda b: {"t": "records", "k": {"id": "x"}, "v": {"session": b.row("seals")["k"]["session"]}},
)
late(
    "record moved into a sealed session",
    lambda b: {"t": "records", "k": {"id": "x"}, "c": {"session": b.row("seals")["k"]["session"]}},
)
late(
    "record of another deleted", lambda b: {"t": "records", "k": {"id": "x"}, "v": None}, sound=True
)
late(
    "sealed session changed",
    lambda b: {
        "t": "sessions",
        "k": {"id": b.row("seals")["k"]["session"]},
        "c": {"status": "active"},
    },
)
late(
    "sealed session deleted",
    lambda b: {"t": "sessions", "k": {"id": b.row("seals")["k"]["session"]}, "v": None},
)
late(
    "sealed session written",
    lambda b: {"t": "sessions", "k": {"id": b.row("seals")["k"]["session"]}, "v": {}},
)
late(
    "session of another sort",
    lambda b: {"t": "sessions", "k": {"id": 1}, "c": {"status": "x"}},
    sound=True,
)
late(
    "record of a session of another sort",
    lambda b: {"t": "records", "k": {"id": "x"}, "v": {"session": ["a"]}},
    sound=True,
)
simple("record: twice in its entry", _record_twice)

# ── the entry that names the first key ───────────────────────────────────────────────────────────


def naming(name: str, **other: Value) -> None:
    """Name another form of the entry by which the program names the first key."""

    def change(bundle: Bundle) -> None:
        (named,) = (one for one in bundle.lines if one["a"] == "signer.named")
        named |= copy.deepcopy(other)

    simple(f"first key: {name}", change)


_FIRST = {"t": "projects", "k": {}, "c": {"public_key": "ab" * 32}}
naming("in somebody's name", w={"k": "agent", "n": "a", "i": {"k": "connection", "i": "cn_a_b"}})
naming("by another act", a="project.changed")
naming("none", r=[])
naming("with more", r=[{**_FIRST, "c": {"public_key": "ab" * 32, "title": {"$text": "0" * 64}}}])
naming("with another row", r=[_FIRST, {"t": "sessions", "k": {"id": "x"}, "c": {"status": "x"}}])
naming("in a whole row", r=[{"t": "projects", "k": {}, "v": {"public_key": "ab" * 32}}])
naming("that is none", r=[{**_FIRST, "c": {"public_key": "none"}}])

# ── what was asked of reviews, and epochs ────────────────────────────────────────────────────────


def asked(name: str, *rows: Value, sound: bool = False, **entry: Value) -> None:
    """Name a forgery at the end of a project that asks for people, in the name of a person who signs nothing."""

    def change(bundle: Bundle) -> None:
        last = bundle.lines[-1]
        plain = {"p": last["p"], "t": last["t"], "v": 2, "w": {"k": "human", "n": "pat"}}
        strict = {"t": "projects", "k": {}, "c": {"reviews": "person"}}
        made = {"t": "gates", "k": _GATE, "v": {"kind": "review", "status": "closed"}}
        for written in ([strict, made], copy.deepcopy(list(rows))):
            told = {"a": "item.edited", "r": written, "n": bundle.lines[-1]["n"] + 1}
            bundle.lines.append(plain | told | entry)

    simple(f"asked: {name}", change, sound=sound)


_GATE = {"item": "demo-1", "name": "review"}
asked("nothing more", {"t": "gates", "k": _GATE, "c": {"status": "closed"}}, sound=True)
asked("a review met", {"t": "gates", "k": _GATE, "c": {"status": "met"}}, s="demo-1")
asked(
    "a review waived",
    {"t": "gates", "k": _GATE, "c": {"status": "waived"}},
    f={"waived": ["review"]},
)
asked("a review deleted", {"t": "gates", "k": _GATE, "v": None})
asked(
    "a review made a check", {"t": "gates", "k": _GATE, "v": {"kind": "check", "status": "closed"}}
)
asked("less", {"t": "projects", "k": {}, "c": {"reviews": "attested"}}, f={"policy": "attested"})
asked("nothing at all", {"t": "projects", "k": {}, "v": {}})
_KEY = {"public_key": "ab" * 32}
asked("the first key named again", {"t": "projects", "k": {}, "c": _KEY})
asked("the first key taken back", {"t": "projects", "k": {}, "c": {"public_key": ""}})
asked("an epoch", {"t": "epochs", "k": {"number": 2}, "v": _KEY}, sound=True, a="epoch.opened")
asked("an epoch of another act", {"t": "epochs", "k": {"number": 2}, "v": _KEY})
asked("the first epoch", {"t": "epochs", "k": {"number": 1}, "v": _KEY}, a="epoch.opened")
asked(
    "an epoch changed", {"t": "epochs", "k": {"number": 2}, "c": {"left_size": 1}}, a="epoch.opened"
)
asked("an epoch of a text", {"t": "epochs", "k": {"number": "2"}, "v": _KEY}, a="epoch.opened")
