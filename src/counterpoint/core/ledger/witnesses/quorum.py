"""How many of which witnesses must have signed a head, as far as the ledger says.

An entry with the action `quorum.changed` says so from its place on, until the next one:

(1) its fact `quorum` is a number from 0, its fact `witnesses` a list of the verifier keys of witnesses (see
    cosignature.py), no two of one name or with one public key, not fewer than `quorum`; 0 goes with an empty list;
(2) while a key of a person is in force, and after a person has signed an entry of this action, only a person's entry has it;
(3) one that is none of both is a fault, and what the entry before said holds on.

A checkpoint meets that if and only if as many of these keys as `quorum` says have cosigned it. Keys are told apart by
their bytes, so that a witness counts once; a key that is not in the list does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, cast

from counterpoint.core.ledger.note import Note, open_note
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosignature_time
from counterpoint.core.model.trust.heads import AskedLess, QuorumReport
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch, QuorumMissing
from counterpoint.kernel.frozen import frozen

CHANGED: Final = "quorum.changed"
"""What the entry says that says how many of which witnesses must have signed."""
MOST_WITNESSES: Final = 32


@frozen
class WitnessPolicy:
    """How many of which witnesses must have signed; none by default. place: of the entry that says so."""

    count: int = 0
    keys: tuple[CosignerKey, ...] = ()
    place: int = -1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the witnesses."""
        return tuple(key.name for key in self.keys)

    def to_facts(self) -> dict[str, Json]:
        """Return the facts of the entry that says so."""
        return {"quorum": self.count, "witnesses": [key.to_text() for key in self.keys]}

    def asks_less_than(self, other: WitnessPolicy) -> bool:
        """Return whether some set of witnesses meets this policy and not another."""
        added = {key.public_key for key in self.keys} - {key.public_key for key in other.keys}
        return bool(other.count) and self.count - len(added) < other.count


def parse_policy(facts: Mapping[str, Any], sequence: int = -1) -> WitnessPolicy:
    """Return the policy that the facts of an entry say; MalformedDocument if they say none."""
    count, texts = facts.get("quorum"), facts.get("witnesses")
    if type(count) is not int or type(texts) is not list:
        raise MalformedDocument("a quorum is a number and a list of verifier keys")
    words = cast("list[object]", texts)
    keys = tuple(CosignerKey.from_text(text) for text in words if isinstance(text, str))
    distinct = min(len({key.public_key for key in keys}), len({key.name for key in keys}))
    if len(keys) != len(words) or distinct != len(keys) or len(keys) > MOST_WITNESSES:
        raise MalformedDocument(
            f"at most {MOST_WITNESSES} witnesses are named, each once: its verifier key as a text"
        )
    if not 0 <= count <= len(keys) or bool(count) != bool(keys):
        raise MalformedDocument("a quorum is at least 1 of the witnesses named, or 0 of none")
    return WitnessPolicy(count=count, keys=keys, place=sequence)


class Quorum:
    """What is asked of witnesses up to a place of the ledger. lowered: where that became less."""

    def __init__(self) -> None:
        """Begin before the first entry: nothing is asked."""
        self.policy = WitnessPolicy()
        self.lowered: list[AskedLess] = []
        self._is_signed = False

    def read(
        self, entry: Mapping[str, Any], keys: Collection[str], revoked: Collection[str]
    ) -> Iterator[str]:
        """Say in words what is wrong with how an entry says which witnesses must sign.

        known, revoked: the keys of people that were enrolled before, and those that are not in force any more.
        """
        if entry["a"] != CHANGED:
            return
        principal: Mapping[str, Any] = entry["w"].get("i", {})
        is_person = principal.get("k") == "person"
        if not is_person and (self._is_signed or not set(keys) <= set(revoked)):
            yield "says which witnesses must sign, and no person signed that"
            return
        try:
            after = parse_policy(entry.get("f", {}), entry["n"])
        except MalformedDocument as fault:
            yield f"does not say which witnesses must sign: {fault.message}"
            return
        if after.asks_less_than(self.policy):
            signer = str(principal["i"]) if is_person else ""
            before = self.policy.count, self.policy.names
            self.lowered.append(
                AskedLess(
                    place=entry["n"],
                    before=before,
                    after=(after.count, after.names),
                    signed_by=signer,
                )
            )
        self.policy, self._is_signed = after, self._is_signed or is_person

    def report(self, signers: Iterable[CosignerKey] = ()) -> QuorumReport:
        """Return what is asked of witnesses, and who of them has signed."""
        return QuorumReport(
            count=self.policy.count,
            witnesses=self.policy.names,
            place=self.policy.place,
            signed=tuple(key.name for key in signers),
            lowered=tuple(self.lowered),
        )


def signers_of(document: str, policy: WitnessPolicy) -> list[CosignerKey]:
    """Return the witnesses of a policy that have cosigned a checkpoint; none of what is no note."""
    if not policy.keys:
        return []
    try:
        note = open_note(document)
    except MalformedDocument:
        return []
    return [key for key in policy.keys if _has_cosigned(note, key)]


def quorum_fault(
    policy: WitnessPolicy, signers: Collection[CosignerKey], size: int, hint: str = ""
) -> QuorumMissing | None:
    """Return the error for a head of a size that too few witnesses have signed; None if enough have."""
    if len(signers) >= policy.count:
        return None
    missing = [key.name for key in policy.keys if key not in signers]
    has = "have" if len(missing) > 1 else "has"
    return QuorumMissing(
        f"too few witnesses have signed these {size:,} entries: {len(signers)} of {len(policy.keys)} named, and"
        f" {policy.count} must; {', '.join(missing)} {has} not",
        hint=hint or _ASK,
        required=policy.count,
        signed=[key.name for key in signers],
        missing=missing,
    )


def _has_cosigned(note: Note, key: CosignerKey) -> bool:
    try:
        cosignature_time(note, key)
    except ProofMismatch:
        return False
    return True


_ASK: Final = (
    "Where the ledger is, `counterpoint audit cosign` asks the witnesses that are missing; then export it anew with"
    " `counterpoint audit export`."
)
