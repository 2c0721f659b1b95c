"""Sealing a session, and proving what was thought in it.

A sealed session has ended for good: its thoughts, in the order of writing, are the leaves of a tree
(see core.ledger.thoughts) whose root and size are signed and stand in the project's ledger. What
anybody would write in its name afterwards is refused, as in any session that has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.merkle import (
    consistency_proof,
    frontier_at,
    inclusion_proof,
    nodes_of,
    root_of,
)
from counterpoint.core.ledger.sealed import EntryProof, SealedHeader, dump_sealed
from counterpoint.core.ledger.thoughts import link_of
from counterpoint.core.ledger.trail import origin_of
from counterpoint.core.model.answers import Proof
from counterpoint.core.model.proofs import Examined, Seal, Thought
from counterpoint.core.model.sessions import Session, SessionOpening
from counterpoint.core.operations.audit import LedgerAudit
from counterpoint.core.operations.journal import redactions
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import item_named
from counterpoint.core.operations.recording.handover import close
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.sessions import Sessions
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.operations.trust.witness_policy import WitnessPolicies
from counterpoint.core.ports.store import Reading, Salted
from counterpoint.core.rules.sessions import may_write
from counterpoint.dialects.colibri.verbs.thoughts import broken_of, examine
from counterpoint.kernel.errors import (
    AlreadySealed,
    ChainBroken,
    CounterpointError,
    InvalidInput,
    LedgerBroken,
    MalformedDocument,
    NothingToSeal,
    NotSealed,
    ProofMismatch,
    SignerAway,
)
from counterpoint.kernel.plurals import counted

ACTION = "session.sealed"
"""What the ledger calls the sealing of a session."""

_ATTEMPTS = 3


class _ThoughtsAdded(Exception):
    """Ends a transaction whose session has other thoughts than were signed."""


class Seals(Verbs):
    """Verbs for sealing sessions."""

    def seal(self, session: str) -> Seal:
        """End a session for good and sign the tree over its thoughts; claims are given back.

        Raises NotFound, AlreadySealed, SessionEnded if it ended without a seal, NothingToSeal, Forbidden for
        a session of somebody else, ChainBroken if a thought is not what was hashed.
        """
        for _ in range(_ATTEMPTS):
            # Asked before the transaction: nobody waits to write while a signer takes its time.
            checkpoint, note = self._sign(session)
            with suppress(_ThoughtsAdded):
                return self._store(session, checkpoint, note)
        raise SignerAway(f"session {session} gets thoughts faster than the signer signs")

    def _sign(self, session: str) -> tuple[Checkpoint | None, str]:
        """Return what a seal would say now, and that signed; nothing where there is nothing to seal."""
        with self._context.reading() as view:
            row = view.find(Session, session)
            is_open = row is not None and not row.has_ended
            leaves = (
                [_sound_leaf(thought) for thought in _thoughts_of(view, session)] if is_open else []
            )
        caller = self._context.caller
        if row is None or not leaves or not may_write(row, caller.actor, caller.capability):
            # Refused in the transaction, in these words or others: nobody is asked for it.
            return None, ""
        signing = LedgerSigning(self._context)
        # The ledger names the key before anything is sealed with it.
        signing.name_key()
        key = signing.named_key()
        checkpoint = Checkpoint(
            origin=origin_of(key, session), size=len(leaves), root=root_of(leaves)
        )
        return checkpoint, checkpoints.seal(checkpoint, signing.statement, key)

    def _store(self, session: str, checkpoint: Checkpoint | None, note: str) -> Seal:
        """Keep a seal that was signed, and end its session; _Grown if there are other thoughts by now."""
        with recording(self._context, ACTION, session) as change:
            if change.find(Seal, session) is not None:
                raise AlreadySealed(f"session {session} is sealed already", session=session)
            leaves = [_sound_leaf(thought) for thought in _thoughts_of(change.writing, session)]
            # Looked at before anything is written, so that the call can go on.
            if checkpoint is not None and (checkpoint.size, checkpoint.root) != (
                len(leaves),
                root_of(leaves),
            ):
                raise _ThoughtsAdded
            change.open_session()
            row = change.get(Session, session)
            row.refuse_ended("A session is sealed before it ends; begin another one.")
            row = change.enter(row)
            if checkpoint is None:
                raise NothingToSeal(f"session {session} has no thought to seal", session=session)
            seal = Seal(
                project=self._context.project,
                session=session,
                number=change.next_number(Seal),
                root=checkpoint.root.hex(),
                size=checkpoint.size,
                checkpoint=note,
                sealed_at=change.now,
            )
            close(change, row, "completed")
            change.put(seal)
            change.add_facts(root=seal.root, size=seal.size)
            return seal

    def root(self, session: str) -> Seal:
        """Return the seal of a session; NotFound for the session, NotSealed."""
        with self._context.reading() as view:
            return _seal_of(view, session)

    def list(self, *, after: int = 0, limit: int | None = 50) -> list[Seal]:
        """Return seals in the order in which they were set, those beyond a number only."""
        with self._context.reading() as view:
            return view.select(Seal, order="number", after=(after,), limit=limit)

    def proof(self, record: str) -> Proof:
        """Return the proof that a thought is in the sealed tree of its session.

        `sequence` is the index of the leaf, `leaf` its hash, `entry` the bytes it was made of as text,
        `checkpoint` the seal's. Raises NotFound for the thought, NotSealed.
        """
        with self._context.reading() as view:
            thought = view.find(Thought, record)
            if thought is None:
                raise missing(Thought, record)
            if not thought.session:
                raise NotSealed(
                    f"thought {record} was not thought in a session",
                    hint="It stands in the project's ledger: `counterpoint audit prove`.",
                )
            seal = _seal_of(view, thought.session)
            thoughts = _thoughts_of(view, thought.session)
        leaves = [bytes.fromhex(sibling.hash) for sibling in thoughts]
        index = [sibling.record for sibling in thoughts].index(record)
        path = inclusion_proof(index, len(leaves), nodes_of(leaves))
        return Proof(
            size=seal.size,
            root=seal.root,
            path=tuple(part.hex() for part in path),
            checkpoint=seal.checkpoint,
            sequence=index,
            leaf=thought.hash,
            entry=link_of(thought).to_bytes().decode(),
        )

    def consistency(self, session: str, first: int, second: int | None = None) -> Proof:
        """Return the proof that the tree of a sealed session of one size begins with another.

        second: the sealed size by default; the checkpoint signs that size only. Raises InvalidInput
        for a size that the session never had, NotFound for the session, NotSealed.
        """
        with self._context.reading() as view:
            seal = _seal_of(view, session)
            leaves = [bytes.fromhex(thought.hash) for thought in _thoughts_of(view, session)]
        end = seal.size if second is None else second
        if not 0 <= first <= end <= seal.size:
            raise InvalidInput(
                f"session {session} has {counted(seal.size, 'thought')}: sizes from 0 to {seal.size}, in order",
                size=seal.size,
            )
        read = nodes_of(leaves)
        return Proof(
            size=end,
            root=frontier_at(end, read).root().hex(),
            path=tuple(part.hex() for part in consistency_proof(first, end, read)),
            checkpoint=seal.checkpoint,
            first_size=first,
            first_root=frontier_at(first, read).root().hex(),
        )

    def verify(self, session: str) -> Examined:
        """Make the tree of a sealed session anew from its thoughts and hold it against the seal.

        Found are: a thought that was changed, added, removed or moved; a seal that is not the one
        signed, or not the one the ledger tells of. Raises NotFound for the session, NotSealed.
        """
        with self._context.reading() as view:
            seal = _seal_of(view, session)
            thoughts = _thoughts_of(view, session)
            ledger_faults, redacted = examine(view, thoughts, gaps=True)
            faults: list[CounterpointError] = [*ledger_faults]
            root = root_of(link_of(thought).leaf for thought in thoughts)
            if (seal.root, seal.size) != (root.hex(), len(thoughts)):
                faults.append(_differs(session, "is not the root of its thoughts"))
            faults += self._seal_faults(view, seal)
        return Examined(
            size=len(thoughts),
            broken=broken_of(faults),
            redacted=redacted,
            faults=tuple(faults),
            root=root.hex(),
        )

    def _seal_faults(self, view: Reading, seal: Seal) -> Iterator[LedgerBroken | MalformedDocument]:
        key = LedgerSigning(self._context).key_at(seal.sealed_at)
        try:
            signed = checkpoints.verify(seal.checkpoint, key, origin_of(key, seal.session))
        except (MalformedDocument, ProofMismatch) as fault:
            yield fault
            return
        if (signed.root.hex(), signed.size) != (seal.root, seal.size):
            yield _differs(seal.session, "is not the one that was signed")
        session = view.find(Session, seal.session)
        if session is None or not session.has_ended:
            yield _differs(seal.session, "is of a session that has not ended")
        if len(view.sequences(subject=seal.session, action=ACTION, limit=2)) != 1:
            yield _differs(seal.session, "is not told of in the ledger")

    def export(self, session: str) -> Iterator[bytes]:
        """Return the lines of a bundle of a sealed session that verifies offline.

        Raises NotFound for the session, NotSealed, QuorumMissing.
        """
        audit = LedgerAudit(self._context)
        WitnessPolicies(self._context).refuse_unwitnessed()
        with self._context.reading() as view:
            seal = _seal_of(view, session)
            thoughts = _thoughts_of(view, session)
            sequences = view.sequences(subject=session, action=ACTION, limit=1)
            if not sequences:
                raise _differs(session, "is not told of in the ledger")
            sequences += _redactions(view, {thought.content for thought in thoughts})
            size = view.head().size
        if LedgerSigning(self._context).key_at(seal.sealed_at) != audit.key:
            raise SignerAway(
                f"session {session} was sealed with a key that the ledger has left since",
                hint="Export the whole ledger: its bundle tells of both keys.",
            )
        proofs = [audit.inclusion(sequence, size) for sequence in sequences]
        header = SealedHeader(
            project=self._context.project,
            session=session,
            key=audit.key,
            checkpoint=seal.checkpoint,
            ledger=proofs[0].checkpoint,
            testimonies=tuple(EntryProof(entry=proof.entry, path=proof.path) for proof in proofs),
        )
        links = (link_of(thought).to_bytes() for thought in thoughts)
        yield from dump_sealed(header, links, self._texts(thoughts))

    def _texts(self, thoughts: Sequence[Thought]) -> Iterator[Salted]:
        """Return the texts of thoughts that are still there, by their commitments, each once."""
        with self._context.reading() as view:
            for commitment in sorted({thought.content for thought in thoughts}):
                text = view.salted(commitment)
                if text is not None:
                    yield text


def _redactions(view: Reading, commitments: set[str]) -> list[int]:
    """Return the places of the entries that tell which of some texts were taken away."""
    gone = {commitment for commitment in commitments if view.salted(commitment) is None}
    return [sequence for sequence, texts in redactions(view) if gone.intersection(texts)]


def _thoughts_of(view: Reading, session: str) -> list[Thought]:
    """Return the thoughts of a session in the order of writing, which is that of the leaves."""
    return view.select(Thought, session=session, order="number")


def _sound_leaf(thought: Thought) -> bytes:
    """Return the leaf of a thought made anew; ChainBroken if it is not the one kept."""
    leaf = link_of(thought).leaf
    if leaf.hex() != thought.hash:
        raise ChainBroken(
            f"thought {thought.record} does not have the hash that it claims",
            hint="Do not seal this; restore a backup.",
            thought=thought.record,
            task=thought.task,
        )
    return leaf


def _seal_of(view: Reading, session: str) -> Seal:
    seal = view.find(Seal, session)
    if seal is not None:
        return seal
    if view.find(Session, session) is None:
        raise missing(Session, session)
    raise NotSealed(f"session {session} is not sealed yet", session=session)


def _differs(session: str, how: str) -> ProofMismatch:
    return ProofMismatch(
        f"the seal of session {session} {how}",
        hint="Compare it with an exported bundle of the session, or restore a backup.",
        session=session,
    )


_ID_LENGTH: Final = 200


class AuditSessions(Verbs):
    """Verbs for audit sessions."""

    def open(self, intent: str, *, task: str = "", session: str = "") -> Session:
        """Open an audit session; Conflict if there is a session of that id, InvalidInput.

        task: what it is about, in the caller's words; it may be no item at all.
        """
        if not intent.strip():
            raise InvalidInput("an audit session has an intent", hint="Say what it is for.")
        if len(session) > _ID_LENGTH:
            raise InvalidInput(f"a session's id has at most {_ID_LENGTH} characters")
        with self._context.reading() as view:
            about = item_named(view, task) if task else None
        opening = SessionOpening(
            purpose="audit",
            id=session,
            item=about.id if about else "",
            details={"intent": intent, "task_id": task},
        )
        return Sessions(self._context).open(opening)
