"""Acts that take the signatures of several people, where a project asks for that.

The entry `signers.changed` of a person says by its fact `threshold` how many people must sign such an act from the next entry on (1
before any): an entry with the action `quorum.changed`, `reads.switched` or `signers.changed`, one that writes whether reads are recorded, one that writes rows of `keys` or `epochs`, or that changes `reviews` of
the row of `projects`, writes that row whole, or takes it away. While that is more than 1,

(1) such an entry is a person's, and its fact `proposal` names a proposal that is open, of its action, whose decision has the same facts of
    those that people sign (confirmed.DECIDED) with the same values, and that has not expired at the time of the entry;
(2) those who signed the proposal with a key that is in force, and who signs the entry, are as many people as the threshold says. A person is
    the owner of keys: two keys with the same `owner`, apart from case, blanks and how its letters are composed (NFKC), are one person's. The
    entry closes the proposal.

An entry `proposal.made` of a person opens one and signs it first: its facts are `proposal`, which no entry before has, `proposed`
({"act": action, "decision": object}, the action one of TOGETHER) and `open_until`, at most 30 days after the entry. `proposal.signed` of another person has the same `proposal` and
`proposed`, and is not later; a person signs once. `proposal.withdrawn` closes it, of the person who made it.

A threshold is at least 1 and at most as many people as have keys in force; no revocation leaves fewer than it asks for. The one way out for
those who have lost too many keys is `key.recovered`: it needs no proposal, opens an epoch that the signer has to open, and from it on the threshold is 1
and no proposal is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict
from unicodedata import normalize

from counterpoint.core.ledger.entry import is_time
from counterpoint.core.model.identity import Key
from counterpoint.core.model.trust.heads import RECOVERED, Epoch
from counterpoint.core.model.work import Attribute, Project
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.frozen import mutable

SIGNERS: Final = "signers.changed"
MADE: Final = "proposal.made"
SIGNED: Final = "proposal.signed"
WITHDRAWN: Final = "proposal.withdrawn"
_ENROLLED: Final = "key.enrolled"
_REVOKED: Final = "key.revoked"
_QUORUM: Final = "quorum.changed"
READS: Final = "reads.switched"
_POLICY_OFREADS: Final = {"item": "", "name": "reads"}
"""The key of the attribute that says whether they are recorded."""
PROPOSALS: Final = frozenset((MADE, SIGNED, WITHDRAWN))
TOGETHER: Final = frozenset(
    (_ENROLLED, _REVOKED, _QUORUM, READS, SIGNERS, "policy.changed", "epoch.opened")
)
"""The acts that several people sign, so that they can be proposed."""
READ: Final = PROPOSALS | TOGETHER | {RECOVERED}
"""The actions of all entries that count here."""
DECIDED: Final = frozenset(
    (
        "epoch",
        "gone",
        "key",
        "owner",
        "policy",
        "quorum",
        "reads",
        "storage",
        "threshold",
        "witnesses",
    )
)
"""The facts that such acts decide."""
_PROPOSED: Final = frozenset(("act", "decision"))
LONGEST: Final = timedelta(days=30)

Row = Mapping[str, Any]


@mutable
class Proposal:
    """An act that waits for signatures. signed: the key of each person who signed it, by the owner; the first made it.

    public_key: the line of the key that it lets in, for whoever signs last; empty unless its digest is the `key` of the decision, for
    nobody has signed it.
    """

    id: str
    act: str
    decision: Mapping[str, Json]
    expires: str
    public_key: str = ""
    signed: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def maker(self) -> str:
        """The person who made it."""
        return next(iter(self.signed))


class JointReport(TypedDict):
    """How many people must sign, and the entries that made it fewer."""

    signers: int
    fewer_signers: tuple[int, ...]


class Joint:
    """How many people must sign, and what waits for them, up to a place of the ledger. lowered: where that became fewer."""

    def __init__(self) -> None:
        """Begin before the first entry."""
        self.threshold = 1
        self.lowered: list[int] = []
        self.proposals: dict[str, Proposal] = {}
        self._owners: dict[str, str] = {}
        self._revoked: set[str] = set()
        self._named: set[str] = set()

    @property
    def people(self) -> set[str]:
        """Those who have a key in force."""
        return {owner for key, owner in self._owners.items() if key not in self._revoked}

    def owner_of(self, key: str) -> str:
        """Return whose a key is; empty for one that was never enrolled."""
        return self._owners.get(key, "")

    def signers_of(self, proposal: Proposal) -> list[str]:
        """Return those who signed a proposal with a key that is in force."""
        return [owner for owner, key in proposal.signed.items() if key not in self._revoked]

    def report(self) -> JointReport:
        """Return what is told of a whole ledger."""
        return {"signers": self.threshold, "fewer_signers": tuple(self.lowered)}

    def read(self, entry: Mapping[str, Any]) -> Iterator[str]:
        """Say in words what is wrong with how an entry was signed by several people."""
        action, facts = entry["a"], entry.get("f", {})
        principal: Row = entry["w"].get("i", {})
        signer = str(principal["i"]) if principal.get("k") == "person" else ""
        person = self._owners.get(signer, "")
        is_joint = self.threshold > 1 and action != RECOVERED and _takes_several(entry)
        if is_joint:
            yield from self._act_faults(entry, signer)
        if action == SIGNERS:
            yield from self._change(entry, signer)
        if action in PROPOSALS:
            if not person:
                yield "is about a proposal, and no person signed that"
            elif action == MADE:
                yield from self._make(entry, signer, person)
            else:
                yield from self._go_on(entry, signer, person)
        if signer and any(row["t"] == Key.table for row in entry.get("r", ())):
            yield from self._keep_keys(action, facts, entry["n"])
        elif action in _OF_KEYS:
            yield "says something of a key, and no person signed that with its row"

    def _act_faults(self, entry: Mapping[str, Any], signer: str) -> Iterator[str]:
        facts: Row = entry.get("f", {})
        name = facts.get("proposal")
        proposal = self.proposals.pop(name, None) if isinstance(name, str) else None
        if not signer or proposal is None:
            yield f"takes the signatures of {self.threshold} people, and no proposal has them"
            return
        decided = {name: value for name, value in facts.items() if name in DECIDED}
        if proposal.act != entry["a"] or not _is_same(decided, proposal.decision):
            yield "does something else than was proposed"
        if entry["t"] > proposal.expires:
            yield f"was proposed too long ago: it expired at {proposal.expires}"
        signers = {*self.signers_of(proposal), self._owners.get(signer, "")} - {""}
        if len(signers) < self.threshold:
            yield f"takes the signatures of {self.threshold} people, and has those of {len(signers)}"

    def _change(self, entry: Mapping[str, Any], signer: str) -> Iterator[str]:
        count: Any = entry.get("f", {}).get("threshold")
        if not signer:
            yield "says how many people must sign, and no person signed that"
        elif type(count) is not int or not 1 <= count <= max(len(self.people), 1):
            yield f"asks for the signatures of {count} people, where {len(self.people)} have keys"
        else:
            if count < self.threshold:
                self.lowered.append(entry["n"])
            self.threshold = count

    def _make(self, entry: Mapping[str, Any], signer: str, person: str) -> Iterator[str]:
        facts: Row = entry.get("f", {})
        name: Any = facts.get("proposal")
        proposed: dict[str, Any] = canonical.object_of(facts.get("proposed"))
        expires: Any = facts.get("open_until")
        act, decision = proposed.get("act"), proposed.get("decision")
        if not (proposed.keys() == _PROPOSED and type(act) is str and isinstance(decision, dict)):
            yield "makes a proposal of another form"
        elif act not in TOGETHER:
            yield "proposes an act that takes one person"
        elif type(name) is not str or not name or name in self._named:
            yield "makes a proposal that there was before"
        elif not is_time(expires) or not _lasts(entry["t"], expires):
            yield "makes a proposal that lasts too long"
        else:
            self._named.add(name)
            self.proposals[name] = Proposal(
                id=name,
                act=act,
                decision=canonical.object_of(proposed["decision"]),
                expires=expires,
                public_key=_public_key(facts, proposed["decision"]),
                signed={person: signer},
            )

    def _go_on(self, entry: Mapping[str, Any], signer: str, person: str) -> Iterator[str]:
        facts: Row = entry.get("f", {})
        name = facts.get("proposal")
        proposal = self.proposals.get(name) if isinstance(name, str) else None
        if proposal is None:
            yield "is about a proposal that is not open"
        elif entry["a"] == WITHDRAWN:
            if person != proposal.maker:
                yield "withdraws a proposal of somebody else"
                return
            del self.proposals[proposal.id]
        elif entry["t"] > proposal.expires:
            yield f"signs a proposal that expired at {proposal.expires}"
        elif person in self.signers_of(proposal):
            yield "signs a proposal that the same person has signed before"
        elif not _is_same(
            facts.get("proposed"), {"act": proposal.act, "decision": proposal.decision}
        ):
            yield "signs another proposal than was made"
        else:
            # Whoever signed with a key that was revoked since signs anew.
            proposal.signed[person] = signer

    def _keep_keys(self, action: str, facts: Row, sequence: int) -> Iterator[str]:
        name, owner = facts.get("key"), facts.get("owner")
        if action in _ENTERS and isinstance(name, str) and isinstance(owner, str):
            self._owners[name] = person_of(owner)
        if action == _REVOKED and isinstance(name, str):
            self._revoked.add(name)
            if self.threshold > max(len(self.people), 1):
                yield f"leaves fewer people with keys than the {self.threshold} who must sign"
        if action == RECOVERED:
            if self.threshold > 1:
                self.lowered.append(sequence)
            self.threshold = 1
            self.proposals.clear()


_ENTERS: Final = frozenset((_ENROLLED, RECOVERED))
_OF_KEYS: Final = _ENTERS | {_REVOKED}


def person_of(owner: str) -> str:
    """Return by what people are told apart: the owner of their keys, apart from case, blanks and how its letters are composed."""
    # Folding can take a composed letter apart again.
    folded = normalize("NFKC", normalize("NFKC", owner).casefold())
    return " ".join(folded.split())


def _public_key(facts: Row, decision: Row) -> str:
    line = facts.get("public_key")
    if line is None:
        return ""
    # Loaded only for this: most proposals are about no key.
    from counterpoint.core.ledger.people import sshsig

    with suppress(MalformedDocument):
        if isinstance(line, str) and sshsig.key_id_of(line) == decision.get("key"):
            return line
    return ""


def _takes_several(entry: Mapping[str, Any]) -> bool:
    if entry["a"] in {SIGNERS, _QUORUM, READS}:
        return True
    return any(_is_guarded(row) for row in entry.get("r", ()))


def _is_guarded(row: Row) -> bool:
    if row["t"] in {Key.table, Epoch.table}:
        return True
    if row["t"] == Attribute.table:
        return row["k"] == _POLICY_OFREADS
    # A whole row says the default of what it leaves out, and one that is taken away says it of all.
    return row["t"] == Project.table and ("c" not in row or "reviews" in row["c"])


def _lasts(since: str, until: str) -> bool:
    begins, ends = (datetime.fromisoformat(time) for time in (since, until))
    return begins < ends <= begins + LONGEST


def _is_same(first: Any, other: Any) -> bool:
    """Return whether two JSON values are the same; to Python, true is 1."""
    return canonical.dump_any(first) == canonical.dump_any(other)
