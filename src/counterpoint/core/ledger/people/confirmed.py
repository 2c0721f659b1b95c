"""Whether what stands in a ledger as a person's act was signed by that person.

Read entry by entry, the acts of people are sound if and only if

(1) an entry whose principal is a person writes one row of `confirmations`, whole, and no other entry writes any;
(2) the row's statement is one (see statement.py): its key is the principal and the row's `signed_by`, its nonce the row's
    id, which no entry before it has;
(3) act, subject and project of the statement are those of the entry, and each member of its decision is the fact of
    the same name; the facts that tell what was decided (`DECIDED`) are all in the decision, where the entry has them;
(4) its head is an entry before this one, with that leaf hash;
(5) the signature of the statement holds under the key, which is in force: enrolled by an entry before, and not revoked by one;
(6) the first entry that enrols a key at all is signed by that key itself, and so is each with the action `key.recovered`;
(7) rows of `keys` are written by such entries alone. One with the action `key.enrolled` writes one whole row: its id is the
    fingerprint of its public key and the fact `key`, its `owner` and `storage` are the facts of these names, its
    `enrolled_by` the signer. One with `key.recovered` does the same, with `enrolled_by` `epoch N`, and opens that epoch: it writes
    one row of `epochs`, whole, with the number N of the fact `epoch` and no `confirmed_by`. One with `key.revoked` sets `revoked_by`, to the
    signer, and `revoked_at` of the key in the fact `key`, which was in force, and nothing else;
(8) the reason, unless it was taken away, is the one that the statement commits to;
(9) only such an entry writes a verdict or a gate whose `independence` is `person`, or an epoch with a `confirmed_by`;
(10) numbers of epochs rise from 2, and the entry that writes one says so by its action (`epoch.opened`, `key.recovered`). Once an epoch has let a key in, the checkpoint that is verified says an epoch that is not below it, and
    the entry that writes the next row of `epochs` has the fact `left` with its number, or 0;
(11) what a project asks of reviews is kept (see policy.py), and credentials come in as the program lets them (credentials.py);
(12) while a key is in force, an epoch takes a person: the entry is a recovery (rule 7), or has the action `epoch.opened`, one row of `epochs`
    with the number of the fact `epoch`, and the person who signs as its `confirmed_by`. A person's entry writes no epoch in another way;
(13) a person's entry is one of the acts that people sign, and writes what that one writes (see acts.py);
(14) which witnesses must sign is said as witnesses/quorum.py has it;
(15) where several people must sign, they have (see joint.py).

Rule 10 leaves the recovery of a key to the signer: it is asked for every epoch, and the product writes to `left` the epoch that the signer says
it left (0: it remembers none). Whoever has the database alone has no signature of the epoch he tells of; and when a person opens the next one,
the signer has left another.

So nobody can enter an act of a person without the person's private key, whatever else he holds; and since the head is
in what is signed, nobody can put other entries in the place of those before it. What a revoked key signed before stays sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from counterpoint.core.ledger.derived import expand
from counterpoint.core.ledger.entry import origin_of_fields
from counterpoint.core.ledger.faults import Faults
from counterpoint.core.ledger.people import sshsig
from counterpoint.core.ledger.people.acts import act_faults
from counterpoint.core.ledger.people.credentials import Credentials
from counterpoint.core.ledger.people.joint import Joint
from counterpoint.core.ledger.people.policy import Policy
from counterpoint.core.ledger.people.sshsig import Verify
from counterpoint.core.ledger.people.statement import Statement, is_reason, message_of
from counterpoint.core.ledger.people.trusting import trust_faults
from counterpoint.core.ledger.witnesses.quorum import Quorum
from counterpoint.core.model.identity import BY_EPOCH, Confirmation, Key
from counterpoint.core.model.journal import Verdict
from counterpoint.core.model.trust.heads import FIRST_EPOCH, OPENED, RECOVERED, Epoch
from counterpoint.core.model.work import Gate
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch
from counterpoint.kernel.frozen import mutable

ENROLLED: Final = "key.enrolled"
REVOKED: Final = "key.revoked"
DECIDED: Final[frozenset[str]] = frozenset(
    (
        "key",
        "owner",
        "storage",
        "subject",
        "submission",
        "waived",
        "moved",
        "holder",
        "token",
        "tokens",
        "row",
        "policy",
        "reads",
        "epoch",
        "gone",
        "record",
        "scopes",
        "digest",
        "quorum",
        "witnesses",
        "threshold",
        "proposal",
        "proposed",
        "open_until",
    )
)
"""The facts that tell what was decided: a person who signs an entry with one of them has signed it."""
_FORGED: Final = "Somebody entered it without the person's key: compare with a backup or an export."
_TABLES: Final = frozenset((Confirmation.table, Key.table, Epoch.table))
_JUDGED: Final = frozenset((Verdict.table, Gate.table))
_OF_REVOCATION: Final = frozenset(("revoked_by", "revoked_at"))
_HASH: Final = 32

Row = Mapping[str, Any]


@mutable
class Ring:
    """The keys of people up to a place of the ledger.

    known: each that was ever enrolled, with its public key. revoked: those that are not in force. used: the nonces.
    """

    known: dict[str, str] = field(default_factory=dict[str, str])
    revoked: set[str] = field(default_factory=set[str])
    used: set[str] = field(default_factory=set[str])

    @property
    def is_any_in_force(self) -> bool:
        """Whether a person could sign here."""
        return not self.known.keys() <= self.revoked


class Confirmed:
    """One pass over the parsed entries of a ledger, from the first on.

    reasons: the commitment of each reason that was signed, by the digest of the text that keeps it. self_judged: how many
    entries say that people judged their own work. quorum: which witnesses must sign. joint: how many people.
    """

    def __init__(self, verify: Verify = sshsig.verify) -> None:
        """Begin before the first entry."""
        self._verify = verify
        self._leaves = bytearray()
        self._policy = Policy()
        self._epochs = _Epochs()
        self._credentials = Credentials()
        self.quorum = Quorum()
        self.joint = Joint()
        self.ring = Ring()
        self.self_judged = 0
        self.reasons: dict[str, str] = {}
        self.faults = Faults()

    @property
    def acts(self) -> int:
        """How many acts of people are confirmed up to here."""
        return len(self.ring.used)

    def read(self, entry: Mapping[str, Any]) -> None:
        """Check one more entry, as its short keys; faults are kept, not raised."""
        # The hash of the entry before: at the place n of this list stands the leaf of n - 1.
        self._leaves += bytes.fromhex(entry["h"])
        self.self_judged += entry.get("f", {}).get("independence") == "self"
        credential_faults = self._credentials.read(entry, self.ring.known, self.ring.revoked)
        trusted = trust_faults(entry, self.ring.known, self.ring.revoked)
        quorum_faults = self.quorum.read(entry, self.ring.known, self.ring.revoked)
        for why in (
            *self._policy.read(entry),
            *self._epochs.read(entry),
            *credential_faults,
            *trusted,
            *quorum_faults,
            *self.joint.read(entry),
        ):
            self.faults.add(_fault(entry, why))
        if not bears_on_people(entry):
            return
        for fault in entry_faults(entry, self.ring, self._leaf, self._verify):
            self.faults.add(fault)
        for row in entry.get("r", ()):
            if row["t"] == Confirmation.table and type(row.get("v")) is dict:
                self._remember(row["v"])

    def close(self, epoch: int) -> None:
        """Say, after the last entry, which epoch the checkpoint says that vouches for them."""
        if self._epochs.recovered > epoch:
            self.faults.add(
                ProofMismatch(
                    f"a key was recovered in epoch {self._epochs.recovered}, but epoch {epoch} was signed",
                    hint=_FORGED,
                )
            )

    def reason_faults(self, text: Callable[[str], str | None]) -> Iterator[ProofMismatch]:
        """Say which reasons are not those that were signed; text: answers one by its digest, or None."""
        for digest in self.reasons:
            body = text(digest)
            if body is not None:
                yield from self.text_faults(digest, body)

    def text_faults(self, digest: str, body: str) -> Iterator[ProofMismatch]:
        """Say whether a text is to be the reason of an act, and not the one that was signed."""
        committed = self.reasons.get(digest)
        if committed is not None and not is_reason(body, committed):
            yield ProofMismatch("the reason of a person's act is not the one signed", hint=_FORGED)

    def _leaf(self, sequence: int) -> str:
        start = (sequence + 1) * _HASH
        return self._leaves[start : start + _HASH].hex() if sequence >= 0 else ""

    def _remember(self, columns: Row) -> None:
        reason: Row | None = columns.get("reason")
        statement: Any = columns.get("statement")
        try:
            signed = Statement.from_text(statement).reason if type(statement) is str else ""
        except MalformedDocument:
            return  # told as a fault above
        if reason:
            self.reasons[next(iter(reason.values()))] = signed


@mutable
class _Epochs:
    """The epochs up to a place of the ledger. recovered: the last that let a key in; 0: none did."""

    last: int = FIRST_EPOCH
    recovered: int = 0

    def read(self, entry: Mapping[str, Any]) -> Iterator[str]:
        """Say in words what is wrong with an epoch that an entry opens."""
        for row in entry.get("r", ()):
            if row["t"] != Epoch.table:
                continue
            number = row["k"].get("number")
            if type(number) is not int or number <= self.last or not row.get("v"):
                yield "opens an epoch that is not above the last one"
                continue
            if entry["a"] not in {OPENED, RECOVERED}:
                yield "opens an epoch, and its action does not say so"
            departed = entry.get("f", {}).get("left")
            is_told = type(departed) is int and departed in (self.recovered, 0)
            if self.recovered == self.last and not is_told:
                yield f"leaves another epoch than {self.recovered}, in which a key was recovered"
            self.last = number
            self.recovered = number if entry["a"] == RECOVERED else self.recovered


def bears_on_people(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry says to be a person's, or writes what only a person may."""
    principal = entry["w"].get("i")
    if principal is not None and principal["k"] == "person":
        return True
    for row in entry.get("r", ()):
        table = row["t"]
        if table in _TABLES or _says_person(row):
            return True
    return False


def entry_faults(
    entry: Mapping[str, Any], ring: Ring, leaf_of: Callable[[int], str], verify: Verify
) -> Iterator[ProofMismatch]:
    """Say what is wrong with an entry as an act of a person; the ring goes on to after it.

    leaf_of: answers the leaf hash of an entry before this one, in hex; empty if there is none.
    """
    rows: list[Row] = entry.get("r", [])
    principal: Row = entry["w"].get("i") or {}
    signer: str = principal.get("i", "") if principal.get("k") == "person" else ""
    confirmations = [row for row in rows if row["t"] == Confirmation.table]
    keys = [row for row in rows if row["t"] == Key.table]
    if not signer:
        opens = ring.is_any_in_force and any(row["t"] == Epoch.table for row in rows)
        if confirmations or keys or opens or any(map(_says_person, rows)):
            yield _fault(entry, "writes what only a person may, and no person signed it")
        return
    if len(confirmations) != 1 or type(confirmations[0].get("v")) is not dict:
        yield _fault(entry, "says that a person did it, and has no confirmation of it")
        return
    origin = origin_of_fields(entry)
    confirmation = expand(Confirmation, confirmations[0]["k"], confirmations[0]["v"], origin)
    try:
        statement = Statement.from_text(confirmation["statement"])
    except (MalformedDocument, AttributeError):
        yield _fault(entry, "has a confirmation without a statement")
        return
    for why in (
        *act_faults(entry),
        *_departures(entry, confirmation, statement, signer, ring, leaf_of),
    ):
        yield _fault(entry, why)
    enrolled = {row["k"].get("id"): row for row in keys if type(row.get("v")) is dict}
    if signer in enrolled and (not ring.known or entry["a"] == RECOVERED):
        public_key = expand(Key, enrolled[signer]["k"], enrolled[signer]["v"], origin)["public_key"]
    else:
        public_key = "" if signer in ring.revoked else ring.known.get(signer, "")
    signature, message = confirmation["signature"], message_of(confirmation["statement"])
    if not public_key:
        yield _fault(entry, f"is signed by the key {signer}, which is not in force there")
    elif type(signature) is not str or not verify(str(public_key), message, signature):
        yield _fault(entry, f"has a signature that is not one of the key {signer}")
    for why in (*_epoch_faults(entry, rows, signer), *_key_faults(entry, keys, signer, ring)):
        yield _fault(entry, why)
    ring.used.add(statement.nonce)


def _departures(
    entry: Mapping[str, Any],
    confirmation: Row,
    statement: Statement,
    signer: str,
    ring: Ring,
    leaf_of: Callable[[int], str],
) -> Iterator[str]:
    """Say in words in what a statement is of something else than its entry."""
    if not confirmation["signed_by"] == statement.signed_by == signer:
        yield "has a confirmation by another key than it says"
    if confirmation["id"] != statement.nonce:
        yield "has a confirmation with the nonce of another one"
    if statement.nonce in ring.used:
        yield "repeats a confirmation that was used before"
    act = entry["p"], entry["a"], entry.get("s", "")
    if (statement.project, statement.act, statement.subject) != act:
        yield "has the confirmation of another act"
    facts: Mapping[str, Any] = entry.get("f", {})
    decided = {name: value for name, value in facts.items() if name in DECIDED}
    if any(
        name not in facts or not _same(facts[name], value)
        for name, value in statement.decision.items()
    ) or not (decided.keys() <= statement.decision.keys()):
        yield "decides something else than what was signed"
    if not 0 <= statement.place < entry["n"] or leaf_of(statement.place) != statement.leaf:
        yield f"was signed by somebody who saw another entry {statement.place} than there is"


def _epoch_faults(entry: Mapping[str, Any], rows: list[Row], signer: str) -> Iterator[str]:
    """Say what is wrong with the epoch that a person's entry opens and that lets no key in."""
    opened = [row for row in rows if row["t"] == Epoch.table]
    if not opened or entry["a"] == RECOVERED:
        return
    number: Any = entry.get("f", {}).get("epoch")
    columns: Row = opened[0].get("v") or {}
    is_told = _same(number, opened[0]["k"].get("number")) and len(opened) == 1
    if entry["a"] != OPENED or not is_told or columns.get("confirmed_by") != signer:
        yield "opens an epoch that was not signed with it"


def _key_faults(
    entry: Mapping[str, Any], rows: list[Row], signer: str, ring: Ring
) -> Iterator[str]:
    """Say what is wrong with the keys that a signed entry writes; the ring goes on to after it."""
    if entry["a"] not in {ENROLLED, RECOVERED, REVOKED}:
        if rows:
            yield "writes a key, and its action does not say so"
        return
    if len(rows) != 1 or rows[0]["k"].get("id") != entry.get("f", {}).get("key"):
        yield "writes another key than it tells"
        return
    row, name = rows[0], str(rows[0]["k"].get("id"))
    if entry["a"] != REVOKED:
        if type(row.get("v")) is not dict or name in ring.known:
            yield "does not write a whole key that is new"
            return
        key = expand(Key, row["k"], row["v"], origin_of_fields(entry))
        public_key = str(key["public_key"])
        facts: Row = entry["f"]
        by = _recovery(entry, signer) if entry["a"] == RECOVERED else signer
        expected = facts.get("owner"), facts.get("storage"), by, "", ""
        columns = ("owner", "storage", "enrolled_by", "revoked_by", "revoked_at")
        if not _is_key(public_key, name) or tuple(map(key.get, columns)) != expected:
            yield f"enrols the key {name} wrongly"
            return
        ring.known[name] = public_key
        return
    changed: Row = row.get("c") or {}
    if (
        changed.keys() != _OF_REVOCATION
        or (changed["revoked_by"], changed["revoked_at"]) != (signer, entry["t"])
        or name not in ring.known.keys() - ring.revoked
    ):
        yield f"revokes the key {name} wrongly"
        return
    ring.revoked.add(name)


def _recovery(entry: Mapping[str, Any], signer: str) -> str:
    """Return the epoch that lets in the key which signs an entry, as in its row; empty if none does."""
    number = entry["f"].get("epoch")
    opened = [row for row in entry["r"] if row["t"] == Epoch.table]
    keys = [row["k"] for row in opened if row.get("v") and not row["v"].get("confirmed_by")]
    if type(number) is not int or keys != [{"number": number}] or entry["f"]["key"] != signer:
        return ""
    return f"{BY_EPOCH}{number}"


def _is_key(public_key: str, name: str) -> bool:
    try:
        return sshsig.public_key_of(public_key) == public_key and (
            sshsig.key_id_of(public_key) == name
        )
    except MalformedDocument:
        return False


def _same(first: Any, other: Any) -> bool:
    # To Python, true is 1.
    return type(first) is type(other) and first == other


def _says_person(row: Row) -> bool:
    columns: Row = row.get("v") or row.get("c") or {}
    if row["t"] == Epoch.table:
        return bool(columns.get("confirmed_by"))
    return row["t"] in _JUDGED and columns.get("independence") == "person"


def _fault(entry: Mapping[str, Any], how: str) -> ProofMismatch:
    return ProofMismatch(f"entry {entry['n']} {how}", hint=_FORGED, sequence=entry["n"])
