"""Which witnesses a project asks for, and whether they have signed.

1. A person says so, who signs where anybody has a key, or where a person has signed that before (core.ledger.witnesses.quorum).
2. A cosignature counts if the key of the policy made it, over a head that a key of the ledger has signed, of the present epoch,
   which the ledger begins with, and that leaves no entry out. Else the witness is asked, and counts if it cosigns the head
   that was signed last now. Whoever asks nobody takes a head of before too, as long as the first entry that it leaves out is
   younger than five minutes: a server gives each witness the next head within one.
3. What is exported has the cosignatures over its own head; witnesses are asked for them first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.growth import origin_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey
from counterpoint.core.ledger.witnesses.quorum import (
    CHANGED,
    WitnessPolicy,
    parse_policy,
    quorum_fault,
    signers_of,
)
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.trust.heads import SignedHead
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.authority import caller_authority, refuse_unsigned_act
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.forks import refuse_fork
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.trust.heads import list_named_keys, open_head
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.operations.trust.witnessing import WitnessChecks
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.acts import Act
from counterpoint.kernel.clock import elapsed_ms
from counterpoint.kernel.errors import (
    Forbidden,
    LedgerBroken,
    MalformedDocument,
    QuorumMissing,
    Unavailable,
)
from counterpoint.kernel.frozen import frozen

_FRESH_MS: Final = 300_000
"""How old an entry may be that a cosignature does not cover, for whoever asks nobody."""
_ATTEMPTS: Final = 3
_ACT: Final = "say which witnesses must sign"
_ASK: Final = (
    "`counterpoint audit cosign` asks them where COUNTERPOINT_WITNESSES names them with their addresses; if one is gone for"
    " good, a person names others: `counterpoint policy --witnesses`."
)


@frozen
class QuorumStatus:
    """What is asked of witnesses, and who of them counts for the ledger of a size."""

    policy: WitnessPolicy
    size: int = 0
    signers: tuple[CosignerKey, ...] = ()

    @property
    def fault(self) -> QuorumMissing | None:
        """What is missing; None if enough have signed."""
        return quorum_fault(self.policy, self.signers, self.size, _ASK)


class WitnessPolicies(Verbs):
    """Verbs for the witnesses that must have signed."""

    def current(self) -> WitnessPolicy:
        """Return what is asked of witnesses now."""
        with self._context.reading() as view:
            return policy_of(view)

    def proposed(self, policy: WitnessPolicy) -> ProposedAct:
        """Return what asking for witnesses would decide, for a person to sign."""
        before = self.current()
        lines = {"witnesses": ", ".join(policy.names) or "none"}
        if policy.asks_less_than(before):
            lines["less"] = (
                f"before, {before.count} of {', '.join(before.names)} had to sign; every verification will tell it"
            )
        return ProposedAct(action=CHANGED, decision=policy.to_facts(), shown=lines)

    def require(self, policy: WitnessPolicy, reason: str = "") -> WitnessPolicy:
        """Say which witnesses must sign from now on; the same again writes nothing. Forbidden to all but people."""
        with recording(self._context, CHANGED) as change:
            before = policy_of(change.writing)
            if (before.count, before.keys) == (policy.count, policy.keys):
                return before
            refuse_unsigned_act(change, _ACT, Act.BY_PERSON)
            if caller_authority(change) == "person" and _is_signed(change.writing):
                raise Forbidden(
                    f"a person has signed which witnesses must sign: without a signature nobody can {_ACT}",
                    hint=f"{Act.SIGN}.",
                )
            change.add_facts(**policy.to_facts(), before=before.count)
            if reason:
                change.add_texts(reason=reason)
        return policy

    def standing(self, policy: WitnessPolicy | None = None, *, asks: bool = False) -> QuorumStatus:
        """Return who of the witnesses counts (rule 2).

        policy: as somebody has read it from all entries; by default as the last one says it. asks: witnesses are asked for
        what is missing, and nothing of it is kept.
        """
        signing = LedgerSigning(self._context)
        last = signing.last()
        standing = self._standing(policy, last, asks=asks)
        for _ in range(_ATTEMPTS - 1):
            later = signing.last()
            if standing.fault is None or not asks or later == last:
                break
            # Another head was signed meanwhile, and a witness that has that one signs no older one.
            last = later
            standing = self._standing(policy, last, asks=asks)
        return standing

    def _standing(
        self, policy: WitnessPolicy | None, last: SignedHead | None, *, asks: bool
    ) -> QuorumStatus:
        with self._context.reading() as view:
            project, moved = view.find(Project), view.moved()
            policy, size = policy_of(view) if policy is None else policy, view.head().size
        if moved is not None or project is None:
            return QuorumStatus(policy=WitnessPolicy())
        if last is None or not policy.count:
            return QuorumStatus(policy=policy, size=size)
        cosigned = self._context.ports.cosigned(project.ledger)
        signed = self._signers(policy, (last.note, *cosigned), size, is_strict=asks)
        if asks and len(signed) < policy.count:
            # Whoever is far away answers late: no view is open meanwhile.
            answers = tuple(self._asked(project.ledger, last))
            signed |= self._signers(policy, answers, last.size, is_strict=True)
        signers = tuple(key for key in policy.keys if key in signed)
        return QuorumStatus(policy=policy, size=size, signers=signers)

    def vouched(self) -> SignedHead:
        """Return the head that was signed last, with the cosignatures that are asked for; SignerAway, QuorumMissing.

        Witnesses that lack it are given it first.
        """
        signing, witnessing, policy = (
            LedgerSigning(self._context),
            WitnessChecks(self._context),
            self.current(),
        )
        head = signing.head()
        if not policy.count:
            return head
        for _ in range(_ATTEMPTS):
            witnessing.tell()
            note = witnessing.endorsed(head.note)
            fault = quorum_fault(policy, signers_of(note, policy), head.size, _ASK)
            if fault is None:
                return replace(head, note=note)
            later = signing.head()
            if later.note == head.note:
                raise fault
            # Signed meanwhile: the witnesses were given that one.
            head = later
        raise Unavailable("others have heads of this ledger signed all the time")

    def refuse_unwitnessed(self) -> None:
        """Raise QuorumMissing if too few witnesses have signed the end of the ledger; they are asked first."""
        if self.current().count:
            self.vouched()

    def _asked(self, ledger: str, last: SignedHead) -> Iterator[str]:
        """Return a head with the cosignature of each witness that answers now."""
        witnessing = WitnessChecks(self._context)
        for witness in self._context.ports.witnesses():
            # Who does not answer has not signed; comparing says why.
            with suppress(LedgerBroken, Unavailable):
                yield witness.cosign(ledger, last, witnessing.prove)

    def _signers(
        self, policy: WitnessPolicy, notes: Iterable[str], size: int, *, is_strict: bool
    ) -> set[CosignerKey]:
        """Return the witnesses that cosigned one of some heads. size: that it must have; is_strict: whatever the age of entries."""
        name = origin_of(self._context.project)
        with self._context.reading() as view:
            keys = [
                VerifierKey(name=name, public_key=bytes.fromhex(public_key))
                for public_key in list_named_keys(view)
            ]
            heads = [(note, open_head(note, keys)) for note in dict.fromkeys(notes)]
            counted = [
                note
                for note, head in heads
                if head is not None and self._counts(view, head, size, is_strict=is_strict)
            ]
        return {key for note in counted for key in signers_of(note, policy)}

    def _counts(self, view: Reading, head: SignedHead, size: int, *, is_strict: bool) -> bool:
        try:
            refuse_fork(view, head)
        except LedgerBroken:
            return False
        if is_strict or head.size >= size:
            return head.size >= size
        since = Entry.from_bytes(next(view.entries(head.size, head.size + 1))).time
        return elapsed_ms(since, self._context.ports.clock.now()) < _FRESH_MS


def policy_of(view: Reading) -> WitnessPolicy:
    """Return what the last entry that asks for witnesses says; nothing is asked without one."""
    for entry in _entries(view):
        # What is no policy is told by whoever reads all entries, and changes nothing.
        with suppress(MalformedDocument):
            return parse_policy(entry.facts, entry.sequence)
    return WitnessPolicy()


def _is_signed(view: Reading) -> bool:
    principals = [entry.actor.principal for entry in _entries(view)]
    return any(principal is not None and principal.strength == "person" for principal in principals)


def _entries(view: Reading) -> Iterator[Entry]:
    """Return the entries that ask for witnesses, the latest first."""
    before: int | None = None
    while places := view.sequences(action=CHANGED, before=before, limit=1):
        (before,) = places
        yield Entry.from_bytes(next(view.entries(before, before + 1)))
