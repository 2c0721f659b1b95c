"""Sealing a session: for good, signed, and proved from then on."""

from __future__ import annotations

import apsw
import pytest

from counterpoint.core.ledger.checkpoint import verify as verify_checkpoint
from counterpoint.core.ledger.merkle import (
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.ledger.thoughts import Link, link_of
from counterpoint.core.ledger.trail import origin_of
from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.kernel.errors import (
    AlreadySealed,
    ChainBroken,
    Forbidden,
    InvalidInput,
    NotFound,
    NothingToSeal,
    NotSealed,
    ProofMismatch,
    SessionEnded,
)
from fakes.studio import Studio


@pytest.fixture
def tasks(ada):
    """Give two tasks."""
    return ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n- [ ] B\n")).ready


def mine(core):
    """Answer the session of a caller."""
    return core.caller.actor.session


def think(core, tasks, count=5):
    """Think about two tasks in turn, and answer the thoughts."""
    return [
        core.use(Thoughts).think("plan", f"t{number}", task=tasks[number % 2]).thought
        for number in range(count)
    ]


def raw(path):
    """Answer hashes as bytes."""
    return [bytes.fromhex(part) for part in path]


def test_a_seal_is_the_signed_root_over_the_thoughts_in_order(studio, ada, bob, tasks):
    """Those of the session only, of all its tasks; the entry tells of it."""
    bob.use(Thoughts).think("plan", "not of this session", task=tasks[0])
    thoughts = think(ada, tasks, 3)
    seal = ada.use(Seals).seal(mine(ada))
    a, b, c = (link_of(one).leaf for one in thoughts)
    assert seal.root == node_hash(node_hash(a, b), c).hex()
    assert (seal.size, seal.number, seal.session) == (3, 1, mine(ada))
    key = ada.audit.key
    signed = verify_checkpoint(seal.checkpoint, key, origin_of(key, seal.session))
    assert (signed.origin, signed.size) == (f"counterpoint/demo/{seal.session}", 3)
    assert signed.root.hex() == seal.root
    assert bob.use(Seals).root(seal.session) == seal
    assert bob.use(Seals).list() == [seal]
    assert bob.use(Seals).list(after=1) == []
    (entry,) = bob.audit.log(limit=1)
    assert (entry.action, entry.subject) == ("session.sealed", seal.session)
    assert entry.facts == {"root": seal.root, "size": 3}


def test_a_sealed_session_is_over(studio, ada, bob, tasks):
    """No thought, no record, no claim, no second seal; others go on."""
    think(ada, tasks)
    ada.use(Seals).seal(mine(ada))
    for write in (
        lambda: ada.use(Thoughts).think("plan", "late", task=tasks[0]),
        lambda: ada.journal.append(Note(kind="finding", body="late", item=tasks[0])),
        lambda: ada.claims.start(tasks[0]),
        lambda: ada.memory.put("project", "n", 1),
        lambda: ada.sessions.hand_over(Handover(action="end", summary="late")),
    ):
        studio.refuses(SessionEnded, write)
    studio.refuses(AlreadySealed, lambda: ada.use(Seals).seal(mine(ada)))
    studio.refuses(AlreadySealed, lambda: bob.use(Seals).seal(mine(ada)))
    bob.use(Thoughts).think("plan", "on", task=tasks[0])
    assert bob.use(Thoughts).verify().sound


def test_sealing_gives_back_what_the_session_held(studio, ada, bob, tasks):
    """Nobody has to wait for the lease of somebody who has left; nobody else seals it."""
    ada.claims.start(tasks[0])
    think(ada, tasks)
    bob.use(Thoughts).think("plan", "x", task=tasks[0])
    studio.refuses(Forbidden, lambda: bob.use(Seals).seal(mine(ada)))
    ada.use(Seals).seal(mine(ada))
    with ada._context.reading() as view:
        assert view.find(Claim, tasks[0]).state == "released"
        assert view.find(Session, mine(ada)).status == "completed"
    assert bob.claims.start(tasks[0]).item.status == "active"


def test_a_paused_session_can_be_sealed_by_a_person(ada, person, tasks):
    """The command line has no session of its own."""
    think(ada, tasks)
    ada.sessions.hand_over(Handover(action="pause", summary="lunch"))
    assert person.use(Seals).seal(mine(ada)).size == 5


def test_what_cannot_be_sealed_is_refused_with_its_reason(studio, ada, bob, tasks):
    """Unknown, ended without a seal, or without a thought."""
    studio.refuses(NotFound, lambda: ada.use(Seals).seal("ses_none"))
    ada.memory.put("project", "n", 1)
    studio.refuses(NothingToSeal, lambda: ada.use(Seals).seal(mine(ada)))
    think(bob, tasks)
    bob.sessions.hand_over(Handover(action="end", summary="bye"))
    fault = studio.refuses(SessionEnded, lambda: ada.use(Seals).seal(mine(bob)))
    assert fault.facts == {"session": mine(bob), "state": "completed"}
    studio.refuses(SessionEnded, lambda: bob.use(Seals).seal(mine(ada)))


def test_nothing_is_proved_of_a_session_that_is_not_sealed(studio, ada, person, tasks):
    """Its tree still grows."""
    (thought,) = think(ada, tasks, 1)
    for ask in (
        ada.use(Seals).root,
        ada.use(Seals).verify,
        lambda session: ada.use(Seals).consistency(session, 0),
        lambda session: list(ada.use(Seals).export(session)),
    ):
        assert studio.refuses(NotSealed, lambda ask=ask: ask(mine(ada)))
        studio.refuses(NotFound, lambda ask=ask: ask("ses_none"))
    studio.refuses(NotSealed, lambda: ada.use(Seals).proof(thought.record))
    studio.refuses(NotFound, lambda: ada.use(Seals).proof("demo-r99"))
    loose = person.use(Thoughts).think("plan", "without a session", task=tasks[0])
    studio.refuses(NotSealed, lambda: ada.use(Seals).proof(loose.record.id))


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_every_thought_is_proved_to_be_in_the_seal(ada, bob, tasks, count):
    """By its place, its bytes and a path; whoever has the key can check it."""
    thoughts = think(ada, tasks, count)
    seal = ada.use(Seals).seal(mine(ada))
    for index, thought in enumerate(thoughts):
        proof = bob.use(Seals).proof(thought.record)
        assert (proof.sequence, proof.size, proof.root) == (index, count, seal.root)
        assert (proof.leaf, proof.checkpoint) == (thought.hash, seal.checkpoint)
        assert Link.from_bytes(proof.entry.encode()) == link_of(thought)
        leaf = leaf_hash(proof.entry.encode())
        verify_inclusion(index, count, leaf, raw(proof.path), bytes.fromhex(seal.root))
        with pytest.raises(ProofMismatch):
            verify_inclusion(index, count, bytes(32), raw(proof.path), bytes.fromhex(seal.root))


def test_every_beginning_of_a_sealed_tree_is_proved(studio, ada, tasks):
    """From any size to any later one; a size that never was is refused."""
    think(ada, tasks, 6)
    seal = ada.use(Seals).seal(mine(ada))
    for second in range(7):
        for first in range(second + 1):
            proof = ada.use(Seals).consistency(mine(ada), first, second)
            begin, end = bytes.fromhex(proof.first_root), bytes.fromhex(proof.root)
            verify_consistency(first, second, begin, end, raw(proof.path))
    assert ada.use(Seals).consistency(mine(ada), 3).root == seal.root
    for first, second in ((3, 2), (-1, 2), (0, 7)):
        studio.refuses(
            InvalidInput, lambda f=first, s=second: ada.use(Seals).consistency(mine(ada), f, s)
        )


def test_a_sealed_session_verifies_and_is_exported(ada, bob, tasks):
    """Root, size, signature, texts and its place in the ledger."""
    bob.use(Thoughts).think("plan", "before", task=tasks[0])
    think(ada, tasks)
    seal = ada.use(Seals).seal(mine(ada))
    found = bob.use(Seals).verify(mine(ada))
    assert (found.sound, found.size, found.root) == (True, 5, seal.root)
    bob.signing.renew()
    report = verify_any(bob.use(Seals).export(mine(ada)), bob.audit.key)
    assert (report.sound, report.trusted, report.root) == (True, True, seal.root)
    whole = verify_any(bob.audit.export(), bob.audit.key)
    assert (whole.sound, whole.thoughts, whole.seals) == (True, 6, 1)


def test_two_seals_of_one_project_are_two_logs(ada, bob, tasks):
    """A seal never speaks for another session."""
    think(ada, tasks)
    think(bob, tasks)
    first, second = ada.use(Seals).seal(mine(ada)), bob.use(Seals).seal(mine(bob))
    assert (first.number, second.number) == (1, 2)
    with pytest.raises(ProofMismatch):
        verify_checkpoint(first.checkpoint, ada.audit.key, origin_of(ada.audit.key, mine(bob)))


TAMPERINGS = {
    "thought": ("UPDATE thoughts SET agent = 'eve' WHERE number = 2", "the hash that it claims"),
    "removed": ("DELETE FROM thoughts WHERE number = 5", "not the root of its thoughts"),
    "moved here": ("UPDATE thoughts SET session = ?1 WHERE number = 6", "not the root of its"),
    "swapped": ("UPDATE thoughts SET number = 9 - number WHERE number < 6", "not the root of its"),
    "root": ("UPDATE seals SET root = hex(zeroblob(32))", "not the root of its thoughts"),
    "size": ("UPDATE seals SET size = 4", "is not the one that was signed"),
    "checkpoint": ("UPDATE seals SET checkpoint = 'x'", "note"),
    "other note": (
        "UPDATE seals SET checkpoint = replace(checkpoint, ?1, 'ses_x')",
        "does not fit the text",
    ),
    "reopened": ("UPDATE sessions SET status = 'active' WHERE id = ?1", "has not ended"),
    "no session": ("DELETE FROM sessions WHERE id = ?1", "has not ended"),
    "untold": (
        "UPDATE entries SET action = 'x.y' WHERE action = 'session.sealed'",
        "not told of in the ledger",
    ),
}


@pytest.fixture
def tampered(tmp_path):
    """Give a sealed session in a file, and what changes the file behind the product's back."""
    studio = Studio(tmp_path / "store.db")
    ada = studio.core("ada")
    tasks = ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n- [ ] B\n")).ready
    think(ada, tasks)
    studio.core("bob").use(Thoughts).think("plan", "of bob", task=tasks[0])

    def tamper(statement):
        connection = apsw.Connection(str(tmp_path / "store.db"))
        for trigger in ("entries_follow", "entries_stay", "entries_remain"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(statement, (mine(ada),) if "?1" in statement else ())
        assert connection.changes()
        connection.close()

    yield ada, tamper
    studio.close()


@pytest.mark.parametrize(("statement", "words"), TAMPERINGS.values(), ids=TAMPERINGS)
def test_what_was_done_to_a_sealed_session_is_found(tampered, statement, words):
    ada, tamper = tampered
    ada.use(Seals).seal(mine(ada))
    assert ada.use(Seals).verify(mine(ada)).sound
    tamper(statement)
    faults = ada.use(Seals).verify(mine(ada)).faults
    assert any(words in fault.message for fault in faults), [fault.message for fault in faults]
    assert all(fault.hint for fault in faults)


def test_a_seal_that_the_ledger_does_not_tell_of_is_not_exported(tampered):
    """There is no entry that could be proved."""
    ada, tamper = tampered
    ada.use(Seals).seal(mine(ada))
    tamper("UPDATE entries SET action = 'x.y' WHERE action = 'session.sealed'")
    with pytest.raises(ProofMismatch, match="not told of"):
        list(ada.use(Seals).export(mine(ada)))


def test_thoughts_that_were_tampered_with_are_not_sealed(tampered):
    """A signature under what nobody thought is worse than none."""
    ada, tamper = tampered
    tamper("UPDATE thoughts SET content = previous WHERE number = 2")
    with pytest.raises(ChainBroken) as refused:
        ada.use(Seals).seal(mine(ada))
    assert refused.value.facts["thought"] == "demo-r2"
    with pytest.raises(NotSealed):
        ada.use(Seals).root(mine(ada))


def test_a_retry_of_a_seal_hears_the_first_answer(ada, tasks):
    """Under a key nothing happens twice."""
    think(ada, tasks)
    asked = {"session": mine(ada)}
    answers = [
        ada.once("seal-1", asked, lambda: ada.use(Seals).seal(mine(ada)).root) for _ in range(2)
    ]
    assert answers[0] == answers[1] == ada.use(Seals).root(mine(ada)).root


def test_thoughts_with_one_text_bring_it_once(ada, tasks):
    """Equal texts that come close together have one commitment, and so one line."""
    for task in tasks:
        ada.use(Thoughts).think("plan", "the same", task=task)
    ada.use(Seals).seal(mine(ada))
    ada.signing.renew()
    lines = list(ada.use(Seals).export(mine(ada)))
    assert len(lines) == 4
    assert b'"body":"the same"' in lines[-1]
    assert verify_any(lines, ada.audit.key).sound
