"""One entry of the ledger, and its exact bytes.

An entry says who did what to which item, and how each row of the tables looked afterwards. Its
bytes are a canonical JSON object (RFC 8785 under the profile of kernel.canonical) without a line
break. These bytes are what is hashed, stored and exported; nothing is ever hashed in another form.

Layout of the object; the keys in brackets are there if and only if what they hold is not empty:

    key  name      value
    v    version   2
    p    project   id of the project, not empty
    n    sequence  place in the log, counted from 0
    t    time      UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`
    w    who       {"k": "agent" | "human" | "system", "n": name, not empty, ["p": profile,]
                   ["s": session id,] ["i": principal]}
    a    action    what happened: lower-case words joined by dots, such as `task.started`
    [s]  subject   id of the item it happened to
    [f]  facts     object: what a reader of the history wants to know
    [r]  rows      array of row images, in the order of writing
    h    previous  64 hex digits in lower case: leaf hash of the entry before; zeros in the first

A principal is who stands behind the actor, {"i": id, not empty, "k": "person" | "credential" |
"connection"}; without one nobody is attested.

A row image is an object with `t` (table, not empty), `k` (object: column → text or integer: the key
of the row inside the project, empty where a project has one row) and exactly one of
    v    object: the columns of the whole row, or null: the row was deleted
    c    object: only the columns that changed
Which columns are left out of them is said in derived.py.

A text that may later have to be blotted out stands outside of the entry: in its place is an object
with the only key `$text`, whose value is its commitment in lower-case hex: SHA-256(0x02 || salt || UTF-8
bytes of the text), with 16 random bytes as salt, kept beside the text and gone with it. So the proof
holds with and without the text, and whoever guesses a text that is gone cannot see that the guess is
right. References stand in row images and in facts. No other key begins with `$`; a later version may
have other references.

Signatures over an entry are of its leaf hash. They stand beside the entry, never in these bytes, so
that one may be added without a change of what is chained.

Bytes are a valid entry if and only if (1) they are JSON in canonical form, (2) inside the profile,
and (3) the value has the layout above, references included. They follow another entry if and only if (4) the project is
the same, (5) the sequence is one higher, (6) the time is not before, and (7) `h` is the hex of
SHA-256(0x00 || bytes of the entry before).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from itertools import combinations
from typing import Any, Final, cast, get_args

import orjson

from counterpoint.core.ledger.derived import Origin, Row
from counterpoint.core.model.access import Actor, ActorKind, Principal, Strength
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, MalformedDocument
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

Parsed = dict[str, Any] | list[Any] | str | int | float | bool | None
"""What JSON bytes can hold, named so that the type checker follows each test of a type."""

VERSION: Final = 2
GENESIS: Final = "0" * 64
"""What the first entry carries in place of a leaf hash."""

_KEYS = frozenset("ahnptvw")
_FULL = frozenset((*_KEYS, "s", "f", "r"))
_SORTED = frozenset(
    tuple(sorted((*_KEYS, *more))) for many in range(4) for more in combinations("frs", many)
)
_WHO_KEYS = frozenset("kn")
_PRINCIPAL_KEYS = frozenset("ik")
_STRENGTHS = frozenset(get_args(Strength))
_ROW_KEYS = (frozenset("tkv"), frozenset("tkc"))
_ACTOR_KINDS = frozenset(get_args(ActorKind))
_TEXT_OR_INTEGER = frozenset((str, int))
_SIMPLE = frozenset((str, int, bool, type(None)))
_HEX_64 = expression(r"[0-9a-f]{64}")
ACTION: Final = expression(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")
_TIME = expression(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_REFERENCE: Final = expression(rb'\{"\$text":"([0-9a-f]{64})"\}')
_RESERVED: Final = expression(rb'[{,]"\$(?:[^"\\]|\\.)*":')
"""How a key that begins with `$` looks in canonical bytes: no text inside of an array has a colon behind it."""
# Passed through, a date or a dataclass is refused; by itself orjson would write it in a form of its
# own.
CANONICAL: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_NO_REFERENCE: Final = "a key begins with $ that is not a reference to a text by its commitment"
_OTHER_FORMAT: Final = "a ledger of an older or newer format, which this program does not read"


@frozen
class RowImage:
    """One row of a table after a write.

    key: what finds the row inside the project.
    values: column → value, every column that is not empty if `whole`, else those that changed;
        None: the row was deleted.
    """

    table: str
    key: Mapping[str, str | int]
    values: Mapping[str, Json] | None
    whole: bool = True


@frozen
class Entry:
    """One line of history; `sequence` counts from 0, `previous` is hex (GENESIS in the first)."""

    project: str
    sequence: int
    time: Timestamp
    actor: Actor
    action: str
    subject: str = ""
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    rows: tuple[RowImage, ...] = ()
    previous: str = GENESIS
    version: int = VERSION

    @property
    def origin(self) -> Origin:
        """What its row images leave out."""
        return Origin(self.time, self.actor.name, self.actor.session)

    def to_bytes(self) -> bytes:
        """Return the canonical bytes; InvalidInput, naming all faults, if they would not load."""
        value: dict[str, Json] = {
            "v": self.version,
            "p": self.project,
            "n": self.sequence,
            "t": self.time,
            "w": _dump_actor(self.actor),
            "a": self.action,
            "h": self.previous,
        }
        if self.subject:
            value["s"] = self.subject
        if self.facts:
            value["f"] = dict(self.facts)
        if self.rows:
            value["r"] = [
                {
                    "t": row.table,
                    "k": dict(row.key),
                    ("v" if row.whole else "c"): (None if row.values is None else dict(row.values)),
                }
                for row in self.rows
            ]
        faults = layout_faults(value)
        if faults:
            raise InvalidInput("no valid entry: " + "; ".join(faults), faults=faults)
        # Facts are anything; rows are made from nouns, and simple values are looked at below.
        if not _SIMPLE.issuperset(map(type, self.facts.values())):
            canonical.dump(value["f"])
        try:
            data = orjson.dumps(value, option=CANONICAL)
        except TypeError as fault:
            raise InvalidInput(f"no valid entry: {fault}") from fault
        if not _needs_closer_look(data):
            return data
        if has_other_reference(data):
            raise InvalidInput(f"no valid entry: {_NO_REFERENCE}", faults=[_NO_REFERENCE])
        return canonical.dump(value)

    @classmethod
    def from_bytes(cls, data: bytes) -> Entry:
        """Return the entry that the bytes are; MalformedDocument, naming all faults, if none."""
        value = load_fields(data)
        return cls(
            version=value["v"],
            project=value["p"],
            sequence=value["n"],
            time=value["t"],
            actor=_load_actor(value["w"]),
            action=value["a"],
            subject=value.get("s", ""),
            facts=value.get("f", {}),
            rows=tuple(_load_row(row) for row in value.get("r", ())),
            previous=value["h"],
        )


def load_fields(data: bytes) -> dict[str, Any]:
    """Return the object that entry bytes hold, by its short keys; MalformedDocument if invalid."""
    try:
        value = orjson.loads(data)
        exact = orjson.dumps(value, option=CANONICAL) == data
    except (TypeError, ValueError) as fault:
        raise MalformedDocument(f"no valid entry: {fault}") from fault
    faults = layout_faults(value)
    if not exact:
        faults.append("the bytes are not in canonical form")
    # No integer is too large: it had not been dumped.
    if _needs_closer_look(data):
        if has_other_reference(data):
            faults.append(_NO_REFERENCE)
        if not _is_in_profile(value):
            faults.append("a number or a key is outside of the profile of canonical JSON")
    if faults:
        raise MalformedDocument("no valid entry: " + "; ".join(faults), faults=faults)
    return value


def layout_faults(value: Parsed) -> list[str]:
    """List in words where a JSON value departs from the layout of an entry."""
    if type(value) is not dict:
        return ["an entry is an object"]
    # `type`, here and below: to `isinstance`, true is an integer.
    if type(value.get("v")) is not int or value["v"] != VERSION:
        return [f"the version (v) is {value.get('v')!r}, not {VERSION}: {_OTHER_FORMAT}"]
    # Canonical bytes have their keys in order: one look in a set is the answer for nearly all.
    if tuple(value) not in _SORTED and not _KEYS <= value.keys() <= _FULL:
        return [
            "an entry is an object with the keys a h n p t v w, and f r s if they are not empty"
        ]
    project, action, subject, previous = value["p"], value["a"], value.get("s"), value["h"]
    rows = cast("list[Parsed]", value.get("r"))
    # Each rule is written out, none is a function of a table: every entry that is written comes through here.
    judged = (
        (type(value["n"]) is int and value["n"] >= 0, "the sequence (n) is not an integer from 0"),
        (is_time(value["t"]), "the time (t) is not UTC with milliseconds"),
        (
            is_who(value["w"]),
            "the actor (w) is not an object of kind k, name n, profile p, session s, principal i",
        ),
        (
            "f" not in value or (type(value["f"]) is dict and value["f"] != {}),
            "the facts (f) are not an object that is not empty",
        ),
        (
            "r" not in value or (type(rows) is list and rows and all(map(_is_row, rows))),
            "the rows (r) are not an array of row images",
        ),
        (
            type(project) is str and project,
            "the project (p) is not a text with at least one letter",
        ),
        (
            type(action) is str and ACTION.fullmatch(action),
            "the action (a) is not lower-case words joined by dots",
        ),
        (
            "s" not in value or (type(subject) is str and subject),
            "the subject (s) is not a text with at least one letter",
        ),
        (
            type(previous) is str and _HEX_64.fullmatch(previous),
            "the previous hash (h) is not 64 hex digits in lower case",
        ),
    )
    return [fault for holds, fault in judged if not holds]


def origin_of_fields(value: Mapping[str, Any]) -> Origin:
    """Return what the row images of an entry, as its short keys, leave out."""
    return Origin(value["t"], value["w"]["n"], value["w"].get("s", ""))


def refer(commitment: str) -> dict[str, str]:
    """Return what stands in an entry for a text that is kept outside of it, by its commitment."""
    return {"$text": commitment}


def parse_reference(value: Json) -> str:
    """Return the commitment of the text that a value of an entry refers to; empty if it is none."""
    return str(canonical.object_of(value).get("$text", ""))


def list_references(data: bytes) -> list[str]:
    """List the commitments of the texts that the canonical bytes of an entry refer to."""
    return [digest.decode() for digest in _REFERENCE.findall(data)]


def is_time(value: Parsed) -> bool:
    """Return whether a JSON value is a time as entries carry it."""
    if type(value) is not str or not _TIME.fullmatch(value):
        return False
    try:
        # The pattern says how a time is written; only the calendar knows whether there is such a
        # day.
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def is_digest(value: Parsed) -> bool:
    """Return whether a JSON value is a SHA-256 as entries carry it."""
    return type(value) is str and _HEX_64.fullmatch(value) is not None


def is_who(value: Parsed) -> bool:
    """Return whether a JSON value says who acted."""
    if type(value) is not dict:
        return False
    kind, name = value.get("k"), value.get("n")
    if type(kind) is not str or kind not in _ACTOR_KINDS or type(name) is not str or not name:
        return False
    key_count = len(_WHO_KEYS)
    for part in (value.get("s"), value.get("p")):
        if part is not None:
            key_count += 1
            if type(part) is not str or not part:
                return False
    if "i" in value:
        key_count += 1
        if not _is_principal(value["i"]):
            return False
    return key_count == len(value)


def _is_principal(value: Parsed) -> bool:
    if type(value) is not dict or value.keys() != _PRINCIPAL_KEYS:
        return False
    name, strength = value["i"], value["k"]
    return type(name) is type(strength) is str and name != "" and strength in _STRENGTHS


def _is_row(value: Parsed) -> bool:
    if type(value) is not dict or value.keys() not in _ROW_KEYS:
        return False
    columns = value["v"] if "v" in value else value["c"]
    return (
        type(value["t"]) is str
        and value["t"] != ""
        and type(value["k"]) is dict
        and _TEXT_OR_INTEGER.issuperset(map(type, cast("Row", value["k"]).values()))
        and (type(columns) is dict or (columns is None and "v" in value))
    )


def has_other_reference(data: bytes) -> bool:
    """Return whether a key in canonical bytes begins with `$` and is not that of a reference to a text."""
    references = len(_REFERENCE.findall(data))
    # Most bytes have no other text that begins with `$`; to look for keys takes three times as long.
    return data.count(b'"$') != references and len(_RESERVED.findall(data)) != references


def _needs_closer_look(data: bytes) -> bool:
    """Return whether something in JSON bytes could be outside of the profile, or a key that begins with `$`.

    Twenty times faster than to look closely.
    """
    # A quotation mark may be inside of a text, where there are backslashes.
    if b"\\" in data or not data.isascii():
        return True
    if data.count(b'"$') != len(_REFERENCE.findall(data)):
        return True
    bare = b"".join(data.split(b'"')[::2])
    return b"." in bare or b"e" in bare or b"E" in bare


def _is_in_profile(value: Parsed) -> bool:
    """Return whether every key is ASCII and no number is a fraction, in a value that was dumped."""
    if type(value) is dict:
        return all(map(str.isascii, value)) and all(map(_is_in_profile, value.values()))
    if type(value) is list:
        return all(map(_is_in_profile, value))
    return type(value) is not float


def _dump_actor(actor: Actor) -> dict[str, Json]:
    value: dict[str, Json] = {"k": actor.kind, "n": actor.name}
    if actor.profile:
        value["p"] = actor.profile
    if actor.session:
        value["s"] = actor.session
    if actor.principal is not None:
        value["i"] = {"i": actor.principal.id, "k": actor.principal.strength}
    return value


def _load_actor(value: dict[str, Any]) -> Actor:
    principal = value.get("i")
    return Actor(
        kind=value["k"],
        name=value["n"],
        profile=value.get("p", ""),
        session=value.get("s", ""),
        principal=Principal(strength=principal["k"], id=principal["i"]) if principal else None,
    )


def _load_row(value: dict[str, Any]) -> RowImage:
    whole = "v" in value
    columns = cast("dict[str, Json] | None", value["v"] if whole else value["c"])
    return RowImage(table=value["t"], key=value["k"], values=columns, whole=whole)
