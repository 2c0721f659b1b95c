"""Which repository a project belongs to, and what of its configuration counts."""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Check
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.trust.heads import FIRST_EPOCH, SignedHead
from counterpoint.core.operations.recording.unallowed import OLDER, way_to_run, why_elsewhere
from counterpoint.core.ports.signer import EverythingTrusted
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Forbidden, ForkRefused

ALLOWED = Checking(commands=(("pytest",),))
ROOTS, OTHERS = ("a" * 40,), ("b" * 40,)


def test_an_agent_makes_no_repository_the_projects(studio, ada, person):
    before = ada.projects.remember_repository(ROOTS)
    refusal = studio.refuses(Forbidden, lambda: ada.projects.adopt(OTHERS))
    assert "say which repository a project belongs to" in refusal.message
    assert ada.projects.root_commits() == before == ROOTS
    assert person.projects.adopt(OTHERS) == (*ROOTS, *OTHERS)
    assert ada.projects.remember_repository(("c" * 40,)) == (*ROOTS, *OTHERS)


def test_the_same_repository_again_writes_nothing(studio, person):
    """What a person signs names its first commits."""
    proposed = person.projects.proposed_adoption(OTHERS)
    assert (proposed.action, proposed.decision) == ("repository.adopted", {"roots": [*OTHERS]})
    assert person.projects.adopt(OTHERS) == OTHERS
    before = studio.image()
    assert person.projects.adopt(OTHERS) == OTHERS
    assert studio.image() == before


class Forgetful(EverythingTrusted):
    """What an account trusts that has forgotten it all."""

    def covers(self, ledger, digest):
        return False

    def is_trusted(self, ledger):
        return False


def test_what_the_ledger_says_already_is_trusted_anew_by_an_account_that_forgot(studio, person):
    assert Core.projects is vars(Core)["projects"]
    person.try_out(lambda core: core.projects.trust(ALLOWED, "/bin"))
    assert not person.projects.find().trusted
    first = person.projects.trust(ALLOWED, "/bin")
    studio.ports = replace(studio.ports, trusted=Forgetful())
    again = studio.core("Pat", kind="human")
    assert again.projects.trust(ALLOWED, "/bin") == first


def test_an_older_copy_names_what_says_so(studio, ada, person, monkeypatch):
    """It loosens nothing, also for who looks at it, until somebody opens an epoch."""
    item = ada.plans.create(ada.plans.read("# P\n- [ ] A\n  - verify: pytest\n")).items[1].id
    person.projects.trust(ALLOWED, "/bin")
    ahead = SignedHead(size=1_000, root=bytes(32), epoch=FIRST_EPOCH, time="", note="")
    monkeypatch.setattr(studio.ports.signer, "last", lambda _ledger: ahead)
    studio.ports = replace(studio.ports, checking=lambda: ALLOWED, remembered={})
    core = studio.core("ada")
    studio.refuses(ForkRefused, lambda: core.gates.verify(Check(item=item)))
    lacking = core.permitted.lacking_now()
    assert lacking.why == OLDER
    assert way_to_run(lacking).startswith(str(Act.AUDIT))
    with studio.store.reading("of nobody") as view:
        assert why_elsewhere(studio.context(core), view) == ""
