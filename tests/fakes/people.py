"""People with keys of their own, who sign what they decide."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.people import sshsig
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.identity import Confirmation, Key, ProposedAct
from counterpoint.core.operations.recording.context import Caller
from fakes.studio import ROOT, Studio


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody with a key in a project."""

    studio: Studio
    name: str = "pat"
    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public_key(self) -> str:
        """The public key, as a line."""
        return sshsig.ed25519_line(self.private.public_key().public_bytes_raw())

    @property
    def key(self) -> str:
        """The id of the key."""
        return sshsig.key_id_of(self.public_key)

    @property
    def unsigned(self) -> Core:
        """The core as this person uses it without a key."""
        return self.studio.core(self.name, kind="human")

    def sign(self, proposed: ProposedAct, reason: str = "") -> Confirmation:
        """Answer the signed confirmation of a proposed act."""
        people = self.unsigned.people
        made = people.prepare(proposed, self.key, reason)
        return self.signed(made)

    def signed(self, made: Confirmation) -> Confirmation:
        """Answer a confirmation with this person's signature."""
        return self.unsigned.people.sign(made, self.seal)

    def seal(self, message: bytes) -> str:
        """Answer the signature of a message."""
        return sshsig.seal(message, self.public_key, self.private.sign)

    def with_(self, confirmation: Confirmation) -> Core:
        """Answer the core for the one act of a confirmation."""
        principal = Principal(strength="person", id=confirmation.signed_by)
        actor = Actor(kind="human", name=self.name, principal=principal)
        caller = Caller(actor=actor, root=ROOT, confirmation=confirmation)
        return Core(self.studio.ports, caller)

    def does(self, proposed: ProposedAct, reason: str = "") -> Core:
        """Answer the core for a proposed act that is signed now."""
        return self.with_(self.sign(proposed, reason))

    def enrol(self, by: Person | None = None) -> Key:
        """Enrol the key, signed by it or by somebody else's."""
        proposed = self.unsigned.people.enrolment(self.public_key, self.name, "passphrase")
        return (by or self).does(proposed).people.enrol(self.public_key, proposed)

    def recover(self, reason: str = "it was lost") -> Key:
        """Let the key in by an epoch."""
        proposed = self.unsigned.people.recovery(self.public_key, self.name, "passphrase")
        return self.does(proposed, reason).people.recover(self.public_key, proposed, reason)

    def revoke(self, key: Key) -> Key:
        """Revoke a key."""
        return self.does(self.unsigned.people.revocation(key)).people.revoke(key.id)

    def judge(self, item: str, judgment: Judgment) -> object:
        """Judge an item, signed."""
        proposed = self.unsigned.reviews.proposed(item, judgment)
        return self.does(proposed, judgment.reason).reviews.review(item, judgment)
