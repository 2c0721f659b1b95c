"""The keys of people and what they sign: prepared here, checked by `recording`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from unicodedata import normalize

from counterpoint.core.ledger.people import sshsig
from counterpoint.core.ledger.people.confirmed import ENROLLED, REVOKED
from counterpoint.core.ledger.people.joint import person_of
from counterpoint.core.ledger.people.statement import Statement, message_of
from counterpoint.core.model.identity import (
    BY_EPOCH,
    Confirmation,
    Connection,
    Contribution,
    Key,
    KeyStorage,
    ProposedAct,
    Succession,
)
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.trust.heads import RECOVERED, Epoch
from counterpoint.core.operations.recording.authority import (
    may_bring_first_key,
    refuse_first_key,
    refuse_others,
    without_signature,
)
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.contributions import SIGNED_FROM
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.trust.keys import Keys
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.secrets import mask, mask_json
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput
from counterpoint.kernel.ids import SALT_BYTES
from counterpoint.kernel.visible import likeness_of

_LONGEST_OWNER = 100
_RECOVER = "recover a key"


class People(Keys):
    """Verbs for the keys of people and what they sign."""

    def prepare(self, proposed: ProposedAct, signed_by: str, reason: str = "") -> Confirmation:
        """Return what a key has to sign so that a person has decided this, the signature left empty.

        It is of the ledger as it is at this moment, and good for ten minutes.
        """
        hidden = self._context.ports.secrets
        text, salt = mask(reason, hidden), secrets.token_hex(SALT_BYTES)
        with self._context.reading() as view:
            head = view.head()
        decision: Mapping[str, Json] = {
            name: mask_json(value, hidden) for name, value in proposed.decision.items()
        }
        statement = Statement(
            project=self._context.project,
            act=proposed.action,
            subject=proposed.subject,
            decision=decision,
            place=head.size - 1,
            leaf=head.leaf,
            signed_by=signed_by,
            nonce=secrets.token_hex(SALT_BYTES),
            time=self._context.ports.clock.now(),
            reason=canonical.commitment(bytes.fromhex(salt), text) if text else "",
        )
        salted = canonical.dump({"salt": salt, "text": text}).decode() if text else ""
        return Confirmation(
            project=self._context.project,
            id=statement.nonce,
            signed_by=signed_by,
            statement=statement.to_text(),
            signature="",
            reason=Prose(salted),
        )

    def take_along(self, key: str) -> None:
        """Write down that who worked at this terminal is the person of a key: one principal, not two.

        What an agent's process signs with a person's key makes no person of the agent, so nothing is written of that.
        """
        process = self._context.caller.origin.process
        if process is None:
            return
        with recording(self._context, "key.used") as change:
            is_known = change.find(Succession, key, SIGNED_FROM, process.id) is not None
            has_worked = change.writing.exists(Contribution, principal=process.id, how="worked")
            if is_known or not has_worked or change.find(Connection, process.id) is not None:
                return
            change.put(
                Succession(
                    project=self._context.project,
                    principal=key,
                    session=SIGNED_FROM,
                    former=process.id,
                    is_whole=True,
                )
            )
            change.add_facts(key=key, succeeds=process.id)

    def sign(self, confirmation: Confirmation, sign: Callable[[bytes], str]) -> Confirmation:
        """Return what was prepared with its signature; sign: answers that of a message."""
        return replace(confirmation, signature=sign(message_of(confirmation.statement)))

    def enrolment(self, public_key: str, owner: str, storage: KeyStorage) -> ProposedAct:
        """Return what enrolling a key decides; Conflict for one that is enrolled, InvalidInput."""
        name = sshsig.key_id_of(sshsig.public_key_of(public_key))
        if any(key.id == name for key in self.list()):
            raise Conflict(
                f"the key {name} was enrolled before", hint="A key is enrolled once; add another."
            )
        if not owner.strip() or len(owner) > _LONGEST_OWNER or not owner.isprintable():
            raise InvalidInput(f"a key is of somebody with a name of 1 to {_LONGEST_OWNER} letters")
        # Two spellings that look the same are one name.
        owner = normalize("NFC", owner)
        self._refuse_likeness(owner)
        return ProposedAct(
            action=ENROLLED, decision={"key": name, "owner": owner, "storage": storage}
        )

    def _refuse_likeness(self, owner: str) -> None:
        """Raise Conflict for a name that looks like that of another person: where several sign, one would count as two."""
        for key in self.list():
            is_same = person_of(key.owner) == person_of(owner)
            if not is_same and likeness_of(key.owner) == likeness_of(owner):
                raise Conflict(
                    f"{owner!a} looks like {key.owner!a}, who has the key {key.id}, in letters of another script",
                    hint="For the same person give exactly the same name; for another one a name that people can tell apart.",
                )

    def enrol(self, public_key: str, proposed: ProposedAct) -> Key:
        """Let a key sign from now on, as was signed; Forbidden without a signature."""
        with recording(self._context, ENROLLED) as change:
            self._refuse_first(change.writing)
            return self._put(change, public_key, proposed, self._signer())

    def _put(self, change: Change, public_key: str, proposed: ProposedAct, by: str) -> Key:
        key = Key(
            project=self._context.project,
            id=proposed.decision["key"],
            owner=proposed.decision["owner"],
            public_key=sshsig.public_key_of(public_key),
            storage=proposed.decision["storage"],
            enrolled_by=by,
            enrolled_at=change.now,
            revoked_by="",
            revoked_at="",
        )
        if change.find(Key, key.id) is not None:
            raise Conflict(f"the key {key.id} was enrolled before")
        change.put(key)
        change.add_facts(key=key.id, owner=key.owner, storage=key.storage)
        return key

    def recovery(self, public_key: str, owner: str, storage: KeyStorage) -> ProposedAct:
        """Return what it decides to enrol a key where all others are lost; Conflict if nobody had one, Forbidden."""
        self.refuse_recovery()
        enrolment = self.enrolment(public_key, owner, storage)
        opened = LedgerSigning(self._context).proposed().decision
        return ProposedAct(action=RECOVERED, decision={**enrolment.decision, **opened})

    def recover(self, public_key: str, proposed: ProposedAct, reason: str) -> Key:
        """Let a key in with an epoch of its own, as was signed with it; Forbidden, InvalidInput, Unavailable.

        That only this epoch vouches for it is told for ever.
        """
        signing = LedgerSigning(self._context)
        self.refuse_recovery()
        epoch_left = signing.asked(reason)
        with recording(self._context, RECOVERED) as change:
            self._refuse(change.writing, _RECOVER)
            if proposed.decision["key"] != self._signer():
                raise Forbidden("a key that is recovered signs for itself")
            epoch = signing.begin(change, reason, epoch_left)
            key = self._put(change, public_key, proposed, f"{BY_EPOCH}{epoch.number}")
        signing.go_on(epoch)
        return key

    def finish_recovery(self, key: str) -> bool:
        """Have the signer open the epoch that let a key in, if that was not done; answer whether it was so."""
        self.refuse_recovery()
        signing = LedgerSigning(self._context)
        with self._context.reading() as view:
            stored = view.find(Key, key)
            epoch = view.find(Epoch, stored.recovered_in) if stored else None
        last = signing.last()
        if epoch is None or (last is not None and last.epoch >= epoch.number):
            return False
        signing.go_on(epoch)
        return True

    def refuse_recovery(self) -> None:
        """Raise Forbidden if no person would recover a key, Conflict if none is lost."""
        with self._context.reading() as view:
            self._refuse(view, _RECOVER)
        if not self.list():
            raise Conflict(
                "nobody has had a key here, so that none is lost",
                hint="`counterpoint key add` makes the first.",
            )

    def refuse_first(self) -> None:
        """Raise Forbidden if there is no key yet, and it is no person that would bring the first."""
        with self._context.reading() as view:
            self._refuse_first(view)

    def may_bring_first(self) -> bool:
        """Return whether whoever asks may bring the first key; True where there has been one."""
        with self._context.reading() as view:
            return view.exists(Key) or may_bring_first_key(view, without_signature(self._context))

    def _refuse_first(self, view: Reading) -> None:
        if not view.exists(Key):
            refuse_first_key(view, without_signature(self._context), "bring the first key")

    def _refuse(self, view: Reading, act: str) -> None:
        """Raise Forbidden unless a person acts, whatever he signs: the key may be his own."""
        refuse_others(view, without_signature(self._context), act, Act.BY_PERSON, signs=False)

    def revocation(self, key: Key) -> ProposedAct:
        """Return what revoking a key decides; Conflict for one that is not in force."""
        if not key.is_in_force:
            raise Conflict(f"the key {key.id} was revoked at {key.revoked_at}")
        return ProposedAct(action=REVOKED, decision={"key": key.id})

    def revoke(self, key: str) -> Key:
        """Let a key sign nothing from now on; what it signed stays. Forbidden without a signature."""
        with recording(self._context, REVOKED) as change:
            after = replace(change.get(Key, key), revoked_by=self._signer(), revoked_at=change.now)
            change.put(after)
            change.add_facts(key=key)
            return after

    def _signer(self) -> str:
        actor = self._context.caller.actor
        if actor.principal is None or not actor.is_signed:
            raise Forbidden(
                "only a person's signature adds or revokes a key",
                hint="Run `counterpoint key add` in a terminal.",
            )
        return actor.principal.id
