"""Acts that several people sign: proposed, signed and withdrawn.

The rule is that of every later verification (core/ledger/people/joint.py), asked of each entry before it lands
(recording/confirming.py). What waits is read from the entries that count for it, and stands in no table.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Final

from counterpoint.core.ledger.people.joint import (
    MADE,
    SIGNED,
    SIGNERS,
    TOGETHER,
    WITHDRAWN,
    Joint,
    Proposal,
    person_of,
)
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.operations.recording.authority import caller_authority, refuse_unsigned_act
from counterpoint.core.operations.recording.confirming import joint_of
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import moment, stamp
from counterpoint.kernel.errors import Conflict, Forbidden, NotFound

_LASTS: Final = timedelta(days=14)
_ACT: Final = "say how many people must sign"


class JointActs(Verbs):
    """Verbs for acts that several people sign."""

    def state(self) -> Joint:
        """Return how many people must sign, and what waits for them."""
        with self._context.reading() as view:
            return joint_of(view)

    def open(self) -> list[Proposal]:
        """Return the proposals that can be signed now, the oldest first."""
        now = self._context.ports.clock.now()
        return [proposal for proposal in self.state().proposals.values() if proposal.expires >= now]

    def get(self, name: str) -> Proposal:
        """Return a proposal that can be signed now; NotFound."""
        for proposal in self.open():
            if proposal.id == name:
                return proposal
        raise _not_open(name)

    def as_proposed(self, enrolment: ProposedAct) -> ProposedAct:
        """Return the enrolment of a key as it was proposed: how a key is stored only its owner knows.

        Conflict for one that was proposed as somebody else's.
        """
        for proposal in self.open():
            decision = proposal.decision
            # What another program has proposed may lack either.
            is_same_key = decision.get("key") == enrolment.decision["key"]
            if proposal.act == enrolment.action and is_same_key:
                owners = {
                    person_of(str(part.get("owner"))) for part in (decision, enrolment.decision)
                }
                if len(owners) > 1:
                    raise Conflict(
                        f"{proposal.id} proposes this key as one of {decision.get('owner')}",
                        hint=f"`counterpoint policy --sign {proposal.id}` signs that.",
                    )
                return replace(enrolment, decision=decision)
        return enrolment

    def asks_several(self, action: str) -> bool:
        """Return whether an act takes more than one person now."""
        return action in TOGETHER and self.state().threshold > 1

    def next_step(self, proposed: ProposedAct, key: str) -> ProposedAct:
        """Return what a person signs with a key who decides an act that takes several.

        That is the act itself for the last of them, and else the proposal, made or signed. Conflict for who signed it before.
        """
        state = self.state()
        person = state.owner_of(key)
        same = [candidate for candidate in self.open() if _is_of(candidate, proposed)]
        # Two may have proposed the same at once: then the other one is signed.
        same.sort(key=lambda candidate: person in state.signers_of(candidate))
        proposal = next(iter(same), None)
        content: Json = {"act": proposed.action, "decision": dict(proposed.decision)}
        if proposal is None:
            expires = stamp(moment(self._context.ports.clock.now()) + _LASTS)
            decision: dict[str, Json] = {
                "proposal": f"prp_{secrets.token_hex(8)}",
                "proposed": content,
                "open_until": expires,
            }
            return ProposedAct(action=MADE, decision=decision, shown=proposed.shown)
        signers = state.signers_of(proposal)
        if person in signers:
            raise Conflict(
                f"you have signed {proposal.id} before: {len(signers)} of {state.threshold} people have",
                hint="Somebody else signs it, by the same command; `counterpoint status` shows it.",
            )
        if len(signers) + 1 < state.threshold:
            decision = {"proposal": proposal.id, "proposed": content}
            return ProposedAct(action=SIGNED, decision=decision, shown=proposed.shown)
        return replace(proposed, decision={**proposed.decision, "proposal": proposal.id})

    def write(self, step: ProposedAct, public_key: str = "") -> str:
        """Write that a proposal was made, signed or withdrawn, as was signed; return its id. Forbidden.

        public_key: of a key that is proposed, so that whoever signs last needs no file.
        """
        signed = SIGNED if step.action == SIGNED else WITHDRAWN
        with recording(self._context, MADE if step.action == MADE else signed) as change:
            refuse_unsigned_act(change, "propose what several people sign", Act.BY_PERSON)
            change.add_facts(**dict(step.decision))
            if public_key and step.action == MADE:
                change.add_facts(public_key=public_key)
        return str(step.decision["proposal"])

    def withdrawal(self, name: str) -> ProposedAct:
        """Return what withdrawing a proposal decides; NotFound for one that is not open."""
        if name not in self.state().proposals:
            raise _not_open(name)
        return ProposedAct(action=WITHDRAWN, decision={"proposal": name})

    def proposed(self, count: int) -> ProposedAct:
        """Return what asking for so many people would decide, for one of them to sign."""
        return ProposedAct(action=SIGNERS, decision={"threshold": count})

    def require(self, count: int, reason: str = "") -> int:
        """Say how many people must sign from now on; the same again writes nothing. Forbidden without a signature."""
        with recording(self._context, SIGNERS) as change:
            before = joint_of(change.writing).threshold
            if before == count:
                return before
            refuse_unsigned_act(change, _ACT, Act.BY_PERSON)
            if caller_authority(change) == "person":
                raise Forbidden(f"without a signature nobody can {_ACT}", hint=f"{Act.SIGN}.")
            change.add_facts(threshold=count, before=before)
            if reason:
                change.add_texts(reason=reason)
        return count


def _not_open(name: str) -> NotFound:
    return NotFound(
        f"no proposal {name!r} is open", hint="`counterpoint status` shows those that are."
    )


def _is_of(proposal: Proposal, proposed: ProposedAct) -> bool:
    return (proposal.act, dict(proposal.decision)) == (proposed.action, dict(proposed.decision))
