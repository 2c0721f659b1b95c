"""Bundles to tamper with, and everything that somebody without the key could do to one."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import orjson

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.merkle import leaf_hash, root_of
from counterpoint.core.model.journal import Record
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.storage.packing import pack, unpack
from fakes.studio import Studio

Lines = list[bytes]
Tampering = Callable[[Lines, Random], Lines]


def tell() -> Studio:
    """Answer a small project with thoughts of three agents, a redaction and two sealed sessions."""
    studio = Studio()
    ada, bob, cyd = studio.core("ada"), studio.core("bob"), studio.core("cyd")
    first, second = ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n- [ ] B\n")).ready
    for number in range(2):
        ada.use(Thoughts).think("plan", f"of ada {number}", task=first)
        bob.use(Thoughts).think("analysis", f"of bob {number} ü\n", task=first)
        ada.use(Thoughts).think("decision", f"beside {number}", task=second)
    cyd.use(Thoughts).think("reflection", "of cyd", task=first)
    studio.core("pat", kind="human").erasing.of_row(Record, "demo-r1", reason="private")
    for core in (ada, bob):
        core.use(Seals).seal(core.caller.actor.session)
    cyd.memory.put("project", "name", {"value": 1})
    return studio


def edited(packed: bytes, old: str, new: str) -> bytes:
    """Answer a stored entry with another text in it; its place in the log stays."""
    place = ("", 0, "")
    written = unpack(packed, *place)
    assert old.encode() in written
    return pack(written.replace(old.encode(), new.encode()), *place)


def bundles(studio: Studio) -> list[Lines]:
    """Answer the bundles of the project and of its first sealed session, as lines without ends."""
    studio.system.signing.renew()
    exports = (studio.system.audit.export(), studio.system.use(Seals).export(sealed(studio)))
    return [[line[:-1] for line in export] for export in exports]


def sealed(studio: Studio) -> str:
    """Answer the session that was sealed first."""
    return studio.system.use(Seals).list()[0].session


def whole(lines: Lines) -> bytes:
    """Answer the bytes of a file of lines."""
    return b"".join(line + b"\n" for line in lines)


def dump(value: object) -> bytes:
    """Answer the canonical bytes of a value."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def flip(lines: Lines, chance: Random) -> Lines:
    """Change one byte anywhere."""
    at = chance.randrange(len(lines))
    place = chance.randrange(len(lines[at]))
    other = bytes([lines[at][place] ^ chance.randrange(1, 256)])
    return [*lines[:at], lines[at][:place] + other + lines[at][place + 1 :], *lines[at + 1 :]]


def edit(lines: Lines, chance: Random) -> Lines:
    """Change one value anywhere, in sound canonical JSON."""
    at = chance.randrange(len(lines))
    value = orjson.loads(lines[at])
    _change_in(value, chance)
    return [*lines[:at], dump(value), *lines[at + 1 :]]


def _change_in(value: Any, chance: Random) -> None:
    """Change something inside of an object or an array."""
    names = list(value) if isinstance(value, dict) else range(len(value))
    if not names:
        _add_to(value)
        return
    name = chance.choice(list(names))
    inner = value[name]
    if isinstance(inner, dict | list) and (not inner or chance.random() < 0.9):
        _change_in(inner, chance)
    elif chance.random() < 0.2:
        del value[name]
    elif isinstance(inner, str) and inner and chance.random() < 0.7:
        place = chance.randrange(len(inner))
        value[name] = inner[:place] + chance.choice("abcdef0123456789-") + inner[place + 1 :]
    elif isinstance(inner, int):
        value[name] = inner + chance.choice((-1, 1, 7))
    else:
        value[name] = chance.choice(("", "x", 0, None, [], {}))


def _add_to(value: Any) -> None:
    """Put something into an empty object or array."""
    if isinstance(value, dict):
        value["x"] = 1
    else:
        value.append(1)


def delete(lines: Lines, chance: Random) -> Lines:
    """Take one line, or several, out."""
    at = chance.randrange(len(lines))
    return [*lines[:at], *lines[at + chance.choice((1, 1, 1, 2, 5)) :]]


def insert(lines: Lines, chance: Random) -> Lines:
    """Put one line in once more, as it is or edited."""
    at = chance.randrange(len(lines) + 1)
    source = lines if chance.random() < 0.5 else edit(lines, chance)
    return [*lines[:at], chance.choice(source), *lines[at:]]


def reorder(lines: Lines, chance: Random) -> Lines:
    """Shuffle some lines that follow each other."""
    start = chance.randrange(len(lines) - 1)
    part = lines[start : start + chance.randrange(2, 8)]
    chance.shuffle(part)
    return [*lines[:start], *part, *lines[start + len(part) :]]


def swap(lines: Lines, chance: Random) -> Lines:
    """Exchange two lines."""
    changed = list(lines)
    one, other = chance.sample(range(len(lines)), 2)
    changed[one], changed[other] = changed[other], changed[one]
    return changed


def truncate(lines: Lines, chance: Random) -> Lines:
    """Cut the end off, between two lines or inside of one."""
    at = chance.randrange(len(lines))
    if chance.random() < 0.5:
        return lines[:at]
    return [*lines[:at], lines[at][: chance.randrange(len(lines[at]))]]


def forge(lines: Lines, chance: Random) -> Lines:
    """Edit one entry or thought and hash on from there to the root; only the signature is old."""
    head = orjson.loads(lines[0])
    size = checkpoints.open_checkpoint(head["checkpoint"]).size
    at = chance.randrange(1, size + 1)
    proved = edit([lines[at]], chance) + lines[at + 1 : size + 1]
    values = [orjson.loads(line) for line in lines[1:at] + proved]
    link = _link_entries if head["format"] == "counterpoint-bundle" else _link_thoughts
    link(values, at - 1)
    made = [dump(value) for value in values]
    head["checkpoint"] = _resign(head["checkpoint"], made)
    return [dump(head), *made, *lines[size + 1 :]]


def _link_entries(values: list[Any], start: int) -> None:
    for place in range(start + 1, len(values)):
        values[place]["h"] = leaf_hash(dump(values[place - 1])).hex()


def _link_thoughts(values: list[Any], start: int) -> None:
    ends: dict[str, str] = {}
    for place, value in enumerate(values):
        if place > start and value.get("task") in ends:
            value["previous"] = ends[value["task"]]
        ends[str(value.get("task"))] = leaf_hash(dump(value)).hex()


def _resign(note: str, made: Lines) -> str:
    """Answer a checkpoint of other lines under the signature of the old one."""
    old = checkpoints.open_checkpoint(note)
    root = root_of(map(leaf_hash, made))
    text = Checkpoint(origin=old.origin, size=len(made), root=root).to_text()
    return text + note[note.index("\n\n") + 1 :]


TAMPERINGS: tuple[Tampering, ...] = (
    flip,
    edit,
    delete,
    insert,
    reorder,
    swap,
    truncate,
    forge,
)


def tamper(lines: Lines, chance: Random) -> tuple[str, Lines]:
    """Answer the name of a tampering and what it makes of a bundle; never the same bundle."""
    while True:
        tampering = chance.choice(TAMPERINGS)
        changed = tampering(lines, chance)
        if whole(changed) != whole(lines):
            return tampering.__name__, changed
