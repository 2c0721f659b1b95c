"""A witness elsewhere that cosigns heads, and what is kept of it here (C2SP).

Layout, beside the checkpoints of the database:

    cosigned/<ledger>.<key id>.note    the head it cosigned last: the checkpoint, with the line of the log and its own

1. The address and the key are from the settings. Only lines of that key count, and only if they are right.
2. A head is submitted with the proof from the size that is known to have been cosigned; a witness that says
   another size is asked once more from there.
3. To ask what it has, the head that was signed last is submitted with its own size as the old one: that changes
   nothing there. Only if it says a smaller size of which nothing is kept here is the proof sent too, for there is no
   other way to learn whether that is the same history; it may cosign it then.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.note import Note, claims_of, open_note, signature_line
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosignature_time
from counterpoint.core.ledger.witnesses.submission import Submission, load_size
from counterpoint.core.model.trust.heads import SignedHead, WitnessedHead
from counterpoint.core.ports.witnesses import Prove
from counterpoint.evidence.replacing import replace_file
from counterpoint.evidence.witnesses.asking import Address, Answered
from counterpoint.kernel.clock import stamp
from counterpoint.kernel.errors import (
    ForkRefused,
    LedgerBroken,
    MalformedDocument,
    ProofMismatch,
    Unavailable,
)
from counterpoint.kernel.plurals import counted

_CALL: Final = "add-checkpoint"
_SIZE_TYPE: Final = "text/x.tlog.size"
_DONE: Final = 200
_CONFLICT: Final = 409
_UNPROVED: Final = 422
_UNKNOWN: Final = frozenset({403, 404})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosigner:
    """A witness that is asked over HTTP. folder: where what it cosigned is kept."""

    key: CosignerKey
    address: Address
    folder: Path

    @property
    def name(self) -> str:
        """What it is called in answers: the name of its key."""
        return self.key.name

    def known(self, ledger: str) -> WitnessedHead | None:
        """Return the head that is kept here with its cosignature; ProofMismatch if that is not right."""
        try:
            text = self._file(ledger).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise Unavailable(f"what it cosigned cannot be read ({fault.strerror})") from fault
        try:
            return self._head(text)
        except (MalformedDocument, LedgerBroken) as fault:
            raise ProofMismatch(
                f"what is kept of it is not what it cosigned: {fault.message}",
                hint=f"Somebody changed {self._file(ledger).name}; keep it, and move it away.",
            ) from fault

    def ask(self, ledger: str, head: SignedHead, prove: Prove) -> WitnessedHead | None:
        """Return the head that it has, as it says and as is kept here; ForkRefused, Unavailable."""
        size = self._submit(head, head.size)
        if isinstance(size, WitnessedHead):
            return size
        witnessed = self.known(ledger)
        if witnessed is not None and witnessed.size == size:
            return witnessed
        if size == 0:
            if witnessed is not None:
                raise Unavailable("it has no head of this log any more")
            return None
        if size > head.size:
            return WitnessedHead(size=size, time="")
        again = self._submit(head, size, prove(size, head.size))
        if isinstance(again, WitnessedHead):
            return again
        raise Unavailable(f"it says that it has {counted(size, 'entry')}, and then {again:,}")

    def keep(self, ledger: str, head: SignedHead, prove: Prove) -> None:
        """Have a head cosigned, and keep it; ForkRefused if it contradicts what it has, Unavailable."""
        note = self.cosign(ledger, head, prove)
        replace_file(self._file(ledger), note.encode(), what="what it cosigned")

    def cosign(self, ledger: str, head: SignedHead, prove: Prove) -> str:
        """Return a head with its cosignature; ForkRefused if it contradicts what it has, Unavailable."""
        witnessed = self.known(ledger)
        size = witnessed.size if witnessed and witnessed.size <= head.size else 0
        for _ in range(2):
            answer = self._submit(head, size, prove(size, head.size))
            if isinstance(answer, WitnessedHead):
                return answer.note
            if answer > head.size:
                raise Unavailable(f"it has a later head, of {counted(answer, 'entry')}")
            size = answer
        raise Unavailable("others have heads of this log cosigned all the time")

    def _submit(
        self, head: SignedHead, old: int, proof: tuple[bytes, ...] = ()
    ) -> WitnessedHead | int:
        """Return the head as it cosigned it, or the size that it has; ForkRefused, Unavailable."""
        submission = Submission(old=old, proof=proof, note=head.note)
        answer = self.address.post(_CALL, submission.to_bytes())
        if answer.status == _DONE:
            return self._cosigned(head.note, answer)
        if answer.status == _CONFLICT and answer.kind == _SIZE_TYPE:
            size = load_size(answer.body)
            if size is None:
                raise Unavailable("its answer to a conflict is no size")
            if size != old:
                return size
        if answer.status == _CONFLICT:
            raise ForkRefused(f"it cosigned another head of {counted(old, 'entry')}", hint=_FORK)
        if answer.status == _UNPROVED:
            raise ForkRefused(
                f"the {old:,} entries that it cosigned are not the first of these {head.size:,}",
                hint=_FORK,
            )
        if answer.status in _UNKNOWN:
            raise Unavailable(
                "it does not know this log, or not the key that signed it",
                hint="Give its operator the key that `counterpoint audit verify` shows.",
            )
        raise Unavailable(f"it answers {answer.status}")

    def _cosigned(self, note: str, answer: Answered) -> WitnessedHead:
        """Return a head with the lines of this key that a witness answered; Unavailable without any."""
        try:
            opened = open_note(note.rpartition("\n\n")[0] + "\n\n" + answer.body.decode())
            signatures = {claim.signature: None for claim in claims_of(opened, self.key)}
            lines = "".join(signature_line(self.key, signature) for signature in signatures)
            return self._head(note + lines)
        except (MalformedDocument, LedgerBroken, UnicodeDecodeError) as fault:
            raise Unavailable("its answer has no cosignature of its key that fits") from fault

    def _head(self, text: str) -> WitnessedHead:
        """Return the head of a note that this witness cosigned; MalformedDocument, ProofMismatch."""
        note: Note = open_note(text)
        moment = datetime.fromtimestamp(min(cosignature_time(note, self.key), _LATEST), UTC)
        size = Checkpoint.from_text(note.text).size
        return WitnessedHead(size=size, time=stamp(moment), note=text)

    def _file(self, ledger: str) -> Path:
        return self.folder / f"{ledger}.{self.key.key_id.hex()}.note"


def read_cosigned(folder: Path, ledger: str) -> tuple[str, ...]:
    """Return what is kept of a ledger with a cosignature, whether the settings name that witness or not."""
    texts: list[str] = []
    for file in sorted(folder.glob(f"{ledger}.*.note")):
        # Of a file that cannot be read nothing counts; comparing with its witness says why.
        with suppress(OSError):
            texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return tuple(texts)


_LATEST: Final = 253_402_300_799
"""The last second that a date of four digits has: a witness whose clock is wrong is no crash."""
_FORK: Final = (
    "The ledger is not the one that this witness saw: compare it with a backup. After an epoch its"
    " operator has to let the log begin anew."
)
