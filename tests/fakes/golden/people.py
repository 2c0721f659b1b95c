"""The people of a golden ledger, with keys that are the same each time, and all that they decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, DraftToken, Principal, TokenRequest
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Judgment, Note, Report
from counterpoint.core.model.identity import Attested, Confirmation, Origin, ProposedAct
from counterpoint.core.model.journal import Record
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.operations.recording.context import Caller
from fakes.golden.stage import Stage
from fakes.people import Person

TRUSTED = Checking(commands=(("make", "test"),))


@dataclass(frozen=True, kw_only=True)
class Signer(Person):
    """Somebody with a key in the project of a stage."""

    studio: Any
    private: Ed25519PrivateKey = field(init=False)

    def __post_init__(self) -> None:
        """Make the key out of the name."""
        made = Ed25519PrivateKey.from_private_bytes(sha256(self.name.encode()).digest())
        object.__setattr__(self, "private", made)

    @property
    def unsigned(self) -> Core:
        """The core as this person uses it without a key."""
        return self.studio.person(self.name)

    def with_(self, confirmation: Confirmation) -> Core:
        """Answer the core for the one act of a confirmation."""
        principal = Principal(strength="person", id=confirmation.signed_by)
        actor = Actor(kind="human", name=self.name, principal=principal)
        caller = Caller(actor=actor, root=self.studio.root, confirmation=confirmation)
        return Core(self.studio.ports, caller)


def decisions(stage: Stage) -> None:
    """Enrol people, and let one sign each act that people sign."""
    pat, sam = Signer(studio=stage), Signer(studio=stage, name="sam")
    pat.enrol()
    sam.enrol(by=pat)
    ada, bob = stage.seat("ada").core, stage.seat("bob").core
    ask = ProposedAct(action="policy.changed", decision={"policy": "person"})
    pat.does(ask, "from now on").projects.ask_of_reviews("person", "from now on")
    text = "# Judged\n- [ ] Approved {#a}\n  - review: yes\n- [ ] Rejected\n  - review: yes\n- [ ] Waived\n  - review: yes\n- [ ] Held\n"
    items = [one for one in ada.plans.create(ada.plans.read(text)).items if one.kind == "task"]
    approved, rejected, waived, held = (one.id for one in items)
    for item in (approved, rejected):
        token = ada.claims.start(item).claim.token
        ada.tasks.finish(item, token, Report(outcome="done", summary="it works"))
    pat.judge(approved, Judgment(approves=True, reason="well done"))
    pat.judge(rejected, Judgment(approves=False, reason="not yet", fixes=("mend it",)))
    edit = ProposedAct(action="item.edited", subject=waived, decision={"waived": ["review"]})
    pat.does(edit, "no need").items.edit(waived, Edit(waive=("review",), reason="no need"))
    bob.claims.start(held)
    pat.does(pat.unsigned.claims.proposed_release(held)).claims.release(held)
    stuck = ada.journal.append(Note(kind="blocker", body="what colour?", item=held))
    proposed = ProposedAct(action="blocker.resolved", subject=held, decision={"record": stuck.id})
    pat.does(proposed, "blue").journal.resolve(stuck.id, "blue")
    _credentials(stage, pat)
    trusted = pat.unsigned.projects.proposed_trust(TRUSTED, "/usr/bin:/bin")
    pat.does(trusted).projects.trust(TRUSTED, "/usr/bin:/bin")
    said = ada.journal.append(Note(kind="comment", body="a word that is taken away", item=held))
    proposed = pat.unsigned.erasing.proposed_row(Record, said.id)
    erased = pat.does(proposed, "private").erasing.of_row(Record, said.id, reason="private")
    stage.system.erasing.close(
        erased, looked_for=1, cleaned=("database",), beyond=("backups",), remains=()
    )
    _start_approved(stage, pat)
    ask = ProposedAct(action="policy.changed", decision={"policy": "attested"})
    pat.does(ask, "enough").projects.ask_of_reviews("attested", "enough")


def _credentials(stage: Stage, pat: Signer) -> None:
    """Let a credential that a person has signed be at work, one be revoked, and one write for nobody."""
    request = TokenRequest(name="runner", kind="agent", scopes=("read", "write", "maintain"))
    draft = DraftToken(id="agt_00000000000000000000000001", secret=f"cpt_{'0a' * 32}")
    proposed = pat.unsigned.tokens.proposed(request, draft)
    made = pat.does(proposed).tokens.create(request, draft).token
    process = stage.connection("runner")
    bearer = Attested(
        principal=Principal(strength="credential", id=made.id),
        connection=process,
        name=made.name,
        scopes=frozenset(made.scopes),
        origin=Origin(boot=process.boot, process=process),
        vouched_by=pat.key,
    )
    core = stage.seat("runner", attested=bearer).core
    item = core.plans.create(Draft(kind="task", title="Run by a credential")).root.id
    core.claims.start(item)
    other = TokenRequest(name="ci", tool_limits=("plan=3",), addresses=("10.0.0.0/8",))
    draft = DraftToken(id="tok_00000000000000000000000002", secret=f"cpt_{'0b' * 32}")
    pat.does(pat.unsigned.tokens.proposed(other, draft)).tokens.create(other, draft)
    pat.does(pat.unsigned.tokens.proposed_revocation("ci")).tokens.revoke("ci")


def _start_approved(stage: Stage, pat: Signer) -> None:
    """Approve that an item is begun."""
    ada = stage.seat("ada").core
    draft = Draft(kind="task", title="Only with a word", approval=True)
    item = ada.plans.create(draft).root.id
    pat.judge(item, Judgment(approves=True, reason="go on"))


def epochs(stage: Stage) -> None:
    """Lose the signer, and the keys of people, and go on."""
    pat, kim = Signer(studio=stage), Signer(studio=stage, name="kim")
    stage.sign()
    stage.resign(b"\x01" * 32)
    proposed = pat.unsigned.signing.proposed()
    pat.does(proposed, "the signer was lost").signing.open_epoch("the signer was lost")
    stage.seat("ada").core.journal.append(Note(kind="comment", body="in another epoch"))
    stage.sign()
    kim.recover("nobody has a key any more")
    kim.revoke(kim.unsigned.people.get("sam"))
    kim.revoke(kim.unsigned.people.get("pat"))
    stage.sign()
