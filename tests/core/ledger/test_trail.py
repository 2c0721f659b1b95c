"""Thoughts and seals in the entries of a ledger: written once, in order, and never after the seal."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.ledger.faults import MOST_FAULTS
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.thoughts import link_of_row
from counterpoint.core.ledger.trail import Trail, check_seal, origin_of
from counterpoint.core.model.trust.heads import NAMED
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.kernel.errors import LedgerBroken, ProofMismatch
from fakes.studio import FixedKey, Studio

Entries = list[dict[str, Any]]
Change = Callable[[Entries], object]


@pytest.fixture(scope="module")
def story() -> Iterator[Studio]:
    """Give a project in which ada and bob thought about a task, and ada's session is sealed."""
    studio = Studio()
    ada, bob = studio.core("ada"), studio.core("bob")
    task = ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n")).ready[0]
    ada.use(Thoughts).think("plan", "one", task=task)
    bob.use(Thoughts).think("analysis", "two", task=task)
    ada.use(Thoughts).think("reflection", "three", task=task)
    ada.use(Seals).seal(ada.caller.actor.session)
    bob.use(Thoughts).think("decision", "four", task=task)
    yield studio
    studio.close()


@pytest.fixture
def key(story: Studio) -> VerifierKey:
    """Answer the key of the project."""
    return story.system.audit.key


@pytest.fixture
def entries(story: Studio) -> Entries:
    """Answer the entries of the story, to be changed."""
    with story.store.reading("demo") as view:
        return [copy.deepcopy(load_fields(data)) for data in view.entries()]


def faults(entries: Entries, key: VerifierKey) -> list[LedgerBroken]:
    """Answer what is wrong with the thoughts and seals of entries."""
    trail = Trail(key)
    for entry in entries:
        trail.read(entry)
    assert trail.faults.count == len(trail.faults)
    return list(trail.faults)


def row(entries: Entries, table: str, place: int = 0) -> dict[str, Any]:
    """Answer the row image of a table that comes at a place among those of the table."""
    found = [one for entry in entries for one in entry["r"] if one["t"] == table]
    return found[place]


def rows_with(entries: Entries, table: str) -> list[Any]:
    """Answer the rows of the first entry that writes to a table."""
    return next(entry["r"] for entry in entries if any(one["t"] == table for one in entry["r"]))


def test_a_sound_trail_has_no_fault(entries: Entries, key: VerifierKey) -> None:
    """Four thoughts of two sessions, one of them sealed."""
    trail = Trail(key)
    for entry in entries:
        trail.read(entry)
    assert (trail.thoughts, trail.seals, [*trail.faults]) == (4, 1, [])


def other(table: str, place: int, **columns: object) -> Change:
    """Answer a change of some columns of a row image."""
    return lambda entries: row(entries, table, place)["v"].update(columns)


def as_change(table: str, place: int) -> Change:
    """Answer a change that makes a whole row image one of some columns."""

    def change(entries: Entries) -> None:
        one = row(entries, table, place)
        one["c"] = one.pop("v")

    return change


def again(table: str, place: int) -> Change:
    """Answer a change that writes a row once more, in the last entry."""
    return lambda entries: entries[-1]["r"].append(copy.deepcopy(row(entries, table, place)))


def without(table: str) -> Change:
    """Answer a change that takes the first row of a table out of its entry."""
    return lambda entries: rows_with(entries, table).remove(row(entries, table))


def moved(entries: Entries) -> None:
    """Write the end of ada's session after its seal once more."""
    sealed = row(entries, "seals")["k"]["session"]
    entries[-1]["r"].append({"t": "sessions", "k": {"id": sealed}, "c": {"status": "active"}})


def late(entries: Entries) -> None:
    """Write a record in ada's name after the seal."""
    sealed = row(entries, "seals")["k"]["session"]
    entries[-1]["r"].append({"t": "records", "k": {"id": "x"}, "v": {"session": sealed}})


def deleted(entries: Entries) -> None:
    """Delete a thought."""
    one = copy.deepcopy(row(entries, "thoughts"))
    entries[-1]["r"].append(one | {"v": None})


def late_thought(entries: Entries) -> None:
    """Give the last thought to the session that is sealed."""
    sealed = row(entries, "seals")["k"]["session"]
    row(entries, "records", 3)["v"]["session"] = sealed
    thought = row(entries, "thoughts", 3)
    thought["v"]["session"] = sealed
    entry = next(one for one in entries if thought in one["r"])
    told = {"agent": entry["w"]["n"], "created_at": entry["t"]}
    thought["v"]["hash"] = link_of_row(thought["k"]["record"], told | thought["v"]).leaf.hex()


CHANGES: dict[str, tuple[Change, str]] = {
    "agent": (other("thoughts", 1, agent="eve"), "a hash that is not its own"),
    "hash": (other("thoughts", 3, hash="0" * 64), "a hash that is not its own"),
    "type": (other("thoughts", 0, type="whim"), "no valid thought"),
    "number as text": (other("thoughts", 0, sequence="0"), "no valid thought"),
    "not whole": (as_change("thoughts", 0), "changes the thought"),
    "twice": (again("thoughts", 0), "changes the thought"),
    "deleted": (deleted, "changes the thought"),
    "no record": (without("records"), "does not write the record"),
    "other text": (other("records", 0, body={"$text": "0" * 64}), "does not write the record"),
    "other kind": (other("records", 1, kind="finding"), "does not write the record"),
    "other session": (other("records", 1, session="ses_x"), "does not write the record"),
    "record of another id": (lambda e: row(e, "records")["k"].update(id="x"), "does not write"),
    "record not whole": (as_change("records", 0), "does not write the record"),
    "key of another type": (lambda e: row(e, "thoughts")["k"].update(record=1), "changes"),
    "first left out": (lambda e: e.remove(e[2]), "instead of 0"),
    "seal of more": (other("seals", 0, size=3), "not of its 2 thoughts"),
    "seal of others": (other("seals", 0, root="0" * 64), "not of its 2 thoughts"),
    "seal of nobody": (lambda e: row(e, "seals")["k"].update(session="x"), "not of its 0 thoughts"),
    "seal not whole": (as_change("seals", 0), "changes the seal"),
    "seal twice": (again("seals", 0), "changes the seal"),
    "no checkpoint": (other("seals", 0, checkpoint=""), "does not hold"),
    "checkpoint as number": (other("seals", 0, checkpoint=7), "does not hold"),
    "session reopened": (moved, "writes to sessions of the session"),
    "record after the seal": (late, "writes to records of the session"),
    "thought after the seal": (late_thought, "writes to thoughts of the session"),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_a_wrong_row_of_a_thought_or_a_seal_is_found(
    entries: Entries, key: VerifierKey, change: Change, words: str
) -> None:
    change(entries)
    found = faults(entries, key)
    assert any(words in fault.message for fault in found), [fault.message for fault in found]
    assert all(fault.hint for fault in found)


def test_a_seal_signed_by_another_key_is_found(entries: Entries, key: VerifierKey) -> None:
    stranger = VerifierKey(name=key.name, public_key=FixedKey(b"s" * 32).public_key)
    (named,) = (one for one in entries if one["a"] == NAMED)
    assert faults(entries, stranger) == []
    named["r"][0]["c"]["public_key"] = stranger.public_key.hex()
    (fault,) = faults(entries, key)
    assert isinstance(fault, ProofMismatch)
    entries.remove(named)
    assert faults(entries, key) == []
    (fault,) = faults(entries, stranger)
    assert isinstance(fault, ProofMismatch)
    entries[0]["r"][0]["v"]["public_key"] = key.public_key.hex()
    assert faults(entries, stranger) == []


def test_a_key_is_named_once(entries: Entries, key: VerifierKey) -> None:
    """By an entry of nobody's that does nothing else, where no key was named; by an epoch as often as there are epochs."""
    row = {"t": "projects", "k": {}, "c": {"public_key": key.public_key.hex()}}
    epoch = {"t": "epochs", "k": {"number": 2}, "v": {"public_key": key.public_key.hex()}}
    first = {"a": NAMED, "r": [row]}
    later = {"a": "epoch.opened", "r": [epoch]}
    ada = {"k": "agent", "n": "ada", "i": {"k": "connection", "i": "cn_agent_ada"}}
    for written, many in (
        ([first], 0),
        ([first, later], 0),
        ([first, first], 1),
        ([first, first | {"r": [{**row, "c": {"public_key": "ab" * 32}}]}], 1),
        ([later, first], 1),
        ([first, first | {"a": "policy.changed"}], 1),
        ([first | {"a": "policy.changed"}, first], 1),
        ([first | {"w": ada}, first], 1),
        ([first | {"r": []}, first], 1),
        ([first | {"r": [row, row]}, first], 1),
        ([first | {"r": [{"t": "projects", "k": {}, "v": row["c"]}]}, first], 1),
        ([first | {"r": [{**row, "c": {"title": "x"}}]}, first], 1),
        ([first | {"r": [{**row, "c": {"public_key": "none"}}]}, first], 1),
        ([first | {"r": [epoch]}], 1),
    ):
        trail = Trail(key)
        for place, one in enumerate(written, 1):
            trail.read({**entries[0], "n": place, "w": {"k": "system", "n": "x"}, **one})
        found = [one.message for one in trail.faults]
        assert len(found) == many
        assert trail.keys.present == key


def test_a_checkpoint_of_another_root_is_no_seal(key: VerifierKey) -> None:
    """It is signed, and for this session, but says something else than the row."""
    signed = Checkpoint(origin=origin_of(key, "ses_1"), size=2, root=bytes(32))
    note = checkpoints.seal(signed, FixedKey().sign, key)
    sound = {"size": 2, "root": "00" * 32, "checkpoint": note}
    check_seal(sound, key, "ses_1")
    for wrong in ({"size": 3}, {"root": "11" * 32}):
        with pytest.raises(ProofMismatch, match="another size or root"):
            check_seal(sound | wrong, key, "ses_1")
    with pytest.raises(ProofMismatch, match="is of the log"):
        check_seal(sound, key, "ses_2")


def test_only_the_first_faults_are_kept_in_words(entries: Entries, key: VerifierKey) -> None:
    trail = Trail(key)
    deleted(entries)
    for _ in range(MOST_FAULTS + 5):
        trail.read(entries[-1])
    assert len(trail.faults) == MOST_FAULTS < trail.faults.count
