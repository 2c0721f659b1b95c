"""People sign what they decide: keys, confirmations, and what is refused without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from builders import known_connection
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.people.statement import Statement
from counterpoint.core.model.access import Actor, Principal, TokenRequest
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Judgment, Note, Report
from counterpoint.core.model.identity import Confirmation, Key, Origin, ProposedAct
from counterpoint.core.model.journal import Record, Verdict
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.identity import unseen_caller
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, StaleVersion
from fakes.people import Person
from fakes.studio import Studio

PLAN = "# Plan\n- [ ] A\n  - review: yes\n- [ ] B\n  - verify: true\n"
YES = Judgment(approves=True, reason="well done")


@pytest.fixture
def studio() -> Studio:
    """A project in which work waits for a verdict."""
    made = Studio()
    ada = made.core("ada")
    first = ada.plans.create(ada.plans.read(PLAN)).ready[0]
    started = ada.claims.start(first)
    ada.tasks.finish(first, started.claim.token, Report(outcome="done", summary="it works"))
    return made


@pytest.fixture
def pat(studio: Studio) -> Person:
    """A person whose key is the first of the project."""
    person = Person(studio=studio)
    person.enrol()
    return person


ITEM = "demo-2"


def test_a_verdict_that_a_person_signed_stands_as_the_persons(studio: Studio, pat: Person) -> None:
    """The entry has the person as its principal, the confirmation, and only commits to the reason."""
    pat.judge(ITEM, YES)
    entry = studio.last()
    assert (entry.actor.principal.strength, entry.actor.principal.id) == ("person", pat.key)
    with studio.view() as view:
        confirmation = next(one for one in view.select(Confirmation) if one.reason)
    statement = Statement.from_text(confirmation.statement)
    assert (statement.act, statement.subject) == ("item.approved", ITEM)
    assert "well done" not in confirmation.statement
    assert "well done" in confirmation.reason
    studio.check()


def test_nobody_is_a_person_by_saying_so(studio: Studio, pat: Person) -> None:
    """A caller with a person's principal and no signature writes nothing."""
    signed = pat.sign(pat.unsigned.reviews.proposed(ITEM, YES))
    bare = pat.with_(signed)
    liar = studio.core("eve", kind="agent")
    claimed = replace(
        liar.caller, actor=replace(liar.caller.actor, principal=bare.caller.actor.principal)
    )
    core = type(liar)(studio.ports, claimed)
    assert "no confirmation" in str(
        studio.refuses(Forbidden, lambda: core.reviews.review(ITEM, YES))
    )


def test_the_signature_of_another_key_is_none(studio: Studio, pat: Person) -> None:
    """Eve signs with her own key in the name of Pat's."""
    eve = Person(studio=studio, name="eve")
    made = pat.unsigned.people.prepare(pat.unsigned.reviews.proposed(ITEM, YES), pat.key)
    studio.refuses(Forbidden, lambda: eve.with_(eve.signed(made)).reviews.review(ITEM, YES))
    stranger = eve.sign(pat.unsigned.reviews.proposed(ITEM, YES))
    fault = studio.refuses(Forbidden, lambda: eve.with_(stranger).reviews.review(ITEM, YES))
    assert "not in force" in str(fault)


def test_a_signature_is_good_for_what_was_signed_alone(studio: Studio, pat: Person) -> None:
    """Another act, another item, another decision, another project: each is refused."""
    proposed = pat.unsigned.reviews.proposed(ITEM, YES)
    others = (
        replace(proposed, action="item.rejected"),
        replace(proposed, subject="demo-3"),
        replace(proposed, decision={}),
        replace(proposed, decision={**proposed.decision, "submission": "demo-s9"}),
        replace(proposed, decision={**proposed.decision, "more": 1}),
    )
    for other in others:
        core = pat.does(other)
        studio.refuses(Forbidden, lambda core=core: core.reviews.review(ITEM, YES))


def test_a_confirmation_counts_once(studio: Studio, pat: Person) -> None:
    """A second act with it is refused, and so is a second entry of one call."""
    proposed = ProposedAct(action="item.edited", subject="demo-3", decision={})
    signed = pat.sign(proposed)
    pat.with_(signed).items.edit("demo-3", Edit(title="B2"))
    studio.refuses(Conflict, lambda: pat.with_(signed).items.edit("demo-3", Edit(title="B3")))
    studio.check()


def test_what_a_server_has_started_uses_no_signature(studio: Studio, pat: Person) -> None:
    """Not of a key that a person has unlocked for something else: for anything, a key too."""
    proposed = pat.unsigned.reviews.proposed(ITEM, YES)
    key = pat.unsigned.people.get(pat.key)

    def served(act: ProposedAct) -> Core:
        caller = replace(pat.does(act).caller, origin=Origin(doubt="served"))
        return Core(studio.ports, caller)

    judge, owner = served(proposed), served(pat.unsigned.people.revocation(key))
    for call in (lambda: judge.reviews.review(ITEM, YES), lambda: owner.people.revoke(pat.key)):
        assert "for one of its callers" in str(studio.refuses(Forbidden, call))


def test_a_signature_is_of_now(studio: Studio, pat: Person) -> None:
    """Ten minutes later it cannot be used any more."""
    core = pat.does(pat.unsigned.reviews.proposed(ITEM, YES))
    studio.clock.pass_by(minutes=11)
    studio.refuses(StaleVersion, lambda: core.reviews.review(ITEM, YES))


def test_what_changed_since_it_was_signed_is_not_approved(studio: Studio, pat: Person) -> None:
    """The worker hands in something else between the look and the signature."""
    core = pat.does(pat.unsigned.reviews.proposed(ITEM, YES))
    ada = studio.core("ada")
    pat.unsigned.reviews.review(ITEM, Judgment(approves=False, reason="no"))
    again = ada.claims.start(ITEM)
    ada.reviews.submit(ITEM, "", "again", again.claim.token)
    ada.tasks.finish(ITEM, again.claim.token, Report(outcome="done", summary="again"))
    studio.refuses(Forbidden, lambda: core.reviews.review(ITEM, YES))


def test_a_second_key_takes_a_signature_of_one_in_force(studio: Studio, pat: Person) -> None:
    """By itself it cannot come in; by Pat's signature it can, and may then revoke Pat's."""
    sam = Person(studio=studio, name="sam")
    studio.refuses(Forbidden, sam.enrol)
    sam.enrol(by=pat)
    sam.revoke(pat.unsigned.people.get(pat.key))
    in_force = {key.id for key in sam.unsigned.people.list() if key.is_in_force}
    assert in_force == {sam.key}
    studio.check()


def test_what_a_revoked_key_signed_before_stays_and_nothing_comes_after(
    studio: Studio, pat: Person
) -> None:
    """The ledger verifies with the old act in it, and a new one is refused."""
    pat.judge(ITEM, YES)
    pat.revoke(pat.unsigned.people.get("pat"))
    proposed = ProposedAct(action="item.edited", subject="demo-3")
    core = pat.does(proposed)
    fault = studio.refuses(Forbidden, lambda: core.items.edit("demo-3", Edit(title="B2")))
    assert "not in force" in str(fault)
    studio.refuses(
        Conflict, lambda: pat.unsigned.people.revocation(pat.unsigned.people.get(pat.key))
    )
    studio.check()


def test_only_a_person_writes_keys(studio: Studio, pat: Person) -> None:
    """Without a signature a key is neither enrolled nor revoked."""
    eve = Person(studio=studio, name="eve")
    proposed = eve.unsigned.people.enrolment(eve.public_key, "eve", "ssh")
    studio.refuses(Forbidden, lambda: eve.unsigned.people.enrol(eve.public_key, proposed))
    studio.refuses(Forbidden, lambda: eve.unsigned.people.revoke(pat.key))


def test_a_key_is_enrolled_once_and_has_an_owner(studio: Studio, pat: Person) -> None:
    """A second time is refused, and so is a name that nobody could say."""
    people = pat.unsigned.people
    studio.refuses(Conflict, lambda: people.enrolment(pat.public_key, "pat", "ssh"))
    sam = Person(studio=studio)
    for name in ("", " ", "x" * 101, "a\nb"):
        with pytest.raises(InvalidInput):
            people.enrolment(sam.public_key, name, "ssh")
    proposed = people.enrolment(sam.public_key, "sam", "ssh")
    first, second = pat.does(proposed), pat.does(proposed)
    first.people.enrol(sam.public_key, proposed)
    studio.refuses(Conflict, lambda: second.people.enrol(sam.public_key, proposed))


def test_a_key_is_found_by_what_people_call_it(studio: Studio, pat: Person) -> None:
    """Its id, the beginning of it, or its owner; nothing else."""
    people = pat.unsigned.people
    for name in (pat.key, pat.key[7:15], "pat"):
        assert people.get(name).id == pat.key
    with pytest.raises(NotFound):
        people.get("nobody")
    Person(studio=studio).enrol(by=pat)
    with pytest.raises(NotFound, match="2 keys"):
        people.get("pat")


def test_every_act_of_a_person_can_be_signed(studio: Studio, pat: Person) -> None:
    """Waiving, releasing, redacting: each lands as the person's."""
    eve = studio.core("eve")
    eve.claims.start("demo-3")
    claim = pat.unsigned.claims.proposed_release("demo-3")
    pat.does(claim).claims.release("demo-3")
    waive = ProposedAct(action="item.edited", subject="demo-3", decision={"waived": ["check-1"]})
    pat.does(waive, "not needed").items.edit("demo-3", Edit(waive=("check-1",), reason="no need"))
    noted = studio.core("ada").journal.append(Note(kind="finding", body="a private thing"))
    redact = ProposedAct(action="text.redacted", decision={"row": f"records/{noted.id}"})
    pat.does(redact, "private").erasing.of_row(Record, noted.id, reason="private")
    strengths = [
        one.actor.principal.strength
        for one in studio.system.audit.log(limit=5)
        if one.actor.principal
    ]
    assert strengths.count("person") == 3
    studio.check()


def test_a_secret_in_a_reason_is_masked_before_it_is_signed(studio: Studio, pat: Person) -> None:
    """What stands beside the statement is what was signed."""
    studio.masking("hunter2hunter2")
    pat.judge(ITEM, Judgment(approves=True, reason="the password hunter2hunter2 works"))
    assert "hunter2hunter2" not in str(studio.image())
    studio.check()


def test_the_rows_of_a_person_are_those_of_the_ledger(studio: Studio, pat: Person) -> None:
    """Keys and confirmations are replayed as every other table."""
    pat.judge(ITEM, YES)
    with studio.view() as view:
        assert len(view.select(Key)) == 1
        assert view.select(Verdict)[0].reason == Prose("well done")
    assert studio.system.audit.rebuild().differences == ()


def test_a_reason_that_is_taken_away_is_gone_beside_the_signature_too(
    studio: Studio, pat: Person
) -> None:
    """And the signature still holds: it is over a commitment."""
    pat.judge(ITEM, Judgment(approves=True, reason="what nobody should read"))
    pat.unsigned.erasing.of_row(Verdict, "demo-v1", reason="private")
    assert "nobody should read" not in str(studio.image().texts)
    studio.check()


def test_an_epoch_that_a_person_signed_says_so(studio: Studio, pat: Person) -> None:
    """As long as anybody has a key no other is opened; else the ledger tells that nobody signed it."""
    signing = pat.does(pat.unsigned.signing.proposed(), "restored").signing
    assert signing.open_epoch("restored").confirmed_by == pat.key
    fault = studio.refuses(Forbidden, lambda: pat.unsigned.signing.open_epoch("again"))
    assert "counterpoint key list" in fault.hint
    revoked = pat.unsigned.people.revocation(pat.unsigned.people.list()[0])
    pat.does(revoked, "lost").people.revoke(pat.key)
    assert pat.unsigned.signing.open_epoch("again").confirmed_by == ""
    assert pat.unsigned.claims.proposed_release("demo-3").decision == {}


def test_a_maintainers_credential_takes_a_signature_of_whoever_has_a_key(
    studio: Studio, pat: Person
) -> None:
    """Over its name, its scopes and the digest of its secret; others need none."""
    tokens = pat.unsigned.tokens
    for kind in ("agent", "caller"):
        request = TokenRequest(name="ada", kind=kind, scopes=("maintain",))
        studio.refuses(Forbidden, lambda asked=request: tokens.create(asked))
        draft = tokens.draft(kind)
        signed = pat.does(tokens.proposed(request, draft)).tokens
        other = replace(draft, secret="cpt_" + "0" * 64)
        studio.refuses(
            Forbidden, lambda one=signed, asked=request, two=other: one.create(asked, two)
        )
        assert signed.create(request, draft).token.maker == pat.key
    assert tokens.create(TokenRequest(name="bob", kind="agent")).token.maker == "cn_human_pat"
    studio.check()


def test_the_first_key_is_brought_by_a_person(studio: Studio) -> None:
    """Not by an agent with a terminal of its own, nor by whoever may be one, nor below a server."""
    eve = Person(studio=studio, name="eve")
    agent = known_connection("cn_eve", boot="b")
    with recording(
        Context(ports=studio.ports, caller=studio.core("x").caller), "connection.opened"
    ) as change:
        change.put(agent)
    proposed = eve.unsigned.people.enrolment(eve.public_key, "eve", "passphrase")
    confirmed = eve.with_(eve.sign(proposed))
    for origin in (
        Origin(boot="b", process=agent),
        Origin(boot="b", doubt="orphan"),
        Origin(boot="other", doubt="served"),
    ):
        core = Core(studio.ports, replace(confirmed.caller, origin=origin))
        fault = studio.refuses(
            Forbidden, lambda one=core: one.people.enrol(eve.public_key, proposed)
        )
        assert "cannot bring the first key" in fault.message
        studio.refuses(Forbidden, core.people.refuse_first)
    assert confirmed.people.enrol(eve.public_key, proposed).is_in_force


def test_beside_callers_over_http_people_sign_and_bring_the_first_key_where_a_process_attests_them(
    studio: Studio,
) -> None:
    """Whoever wrote over HTTP may be anybody of this boot; beside another agent that is known, and of another boot, as before."""
    caller = studio.core("ci").caller
    unseen = unseen_caller("b", project="demo", now=studio.ports.clock.now())
    over_http = Core(studio.ports, replace(caller, origin=Origin(unseen=unseen)))
    eve = Person(studio=studio, name="eve")
    terminal = known_connection("cn_shell", boot="b", pid=5, started=5, held_since=4)
    here, hidden = Origin(boot="b", process=terminal), Origin(boot="b", doubt="orphan")
    person = [replace(eve.unsigned.caller, origin=one) for one in (here, hidden)]
    make = TokenRequest(name="second", kind="agent")
    for number, one in enumerate(person):
        Core(studio.ports, one).tokens.create(replace(make, name=f"before-{number}"))
    over_http.journal.append(Note(kind="finding", body="it is here"))
    for one in person:
        core = Core(studio.ports, one)
        fault = studio.refuses(Forbidden, lambda core=core: core.tokens.create(make))
        assert "worked over HTTP" in fault.message
        assert "counterpoint key add" in fault.message
        assert "sign it" in fault.hint
    next_boot = Core(studio.ports, replace(person[0], origin=replace(here, boot="next")))
    assert next_boot.identities.why_no_person() == ""
    proposed = eve.unsigned.people.enrolment(eve.public_key, "eve", "passphrase")
    confirmed = eve.with_(eve.sign(proposed))
    nobody = Core(studio.ports, replace(confirmed.caller, origin=hidden))
    studio.refuses(Forbidden, lambda: nobody.people.enrol(eve.public_key, proposed))
    attested = Core(studio.ports, replace(confirmed.caller, origin=here))
    assert attested.people.enrol(eve.public_key, proposed).is_in_force
    studio.check()


def test_whoever_only_reads_over_http_has_a_part_in_nothing_and_is_not_known(
    studio: Studio,
) -> None:
    """So a reader judges what others did, and counts as a person in a shell; nothing is written of it. With its first word that ends."""
    ada = studio.core("ada")
    task = ada.plans.create(Draft(kind="task", title="A")).root.id
    begun = ada.claims.start(task)
    caller = studio.core("ci").caller
    unseen = unseen_caller("b", project="demo", now=studio.ports.clock.now())
    over_http = Core(studio.ports, replace(caller, origin=Origin(unseen=unseen)))
    shell = known_connection("cn_shell", boot="b", pid=5, started=5, held_since=4)
    person = studio.core("pat", kind="human").caller
    here = Core(studio.ports, replace(person, origin=Origin(boot="b", process=shell)))
    size = studio.last().sequence
    over_http.overview.facets(task)
    assert (over_http.overview.to_continue(), over_http.overview.held()) == ((), ())
    assert studio.last().sequence == size
    assert here.identities.why_no_person() == ""
    over_http.journal.append(Note(kind="finding", body="it is here", item=task))
    assert "worked over HTTP" in here.identities.why_no_person()
    assert ada.tasks.finish(task, begun.claim.token, Report(outcome="done", summary="x"))


def test_whoever_is_no_person_hears_why_and_what_to_do(studio: Studio) -> None:
    """Known as an agent, perhaps one, or what a server has started."""
    agent = known_connection("cn_eve", boot="b")
    with recording(
        Context(ports=studio.ports, caller=studio.core("x").caller), "connection.opened"
    ) as change:
        change.put(agent)
    person = studio.core("pat", kind="human").caller
    known = replace(person.actor, principal=Principal(strength="connection", id="cn_eve"))
    told = {
        "an agent has started this command, under the name pat": replace(
            person, actor=known, origin=Origin(boot="b", process=agent)
        ),
        "Counterpoint cannot tell you (pat)": replace(person, origin=Origin(boot="b", doubt="cut")),
        "a Counterpoint server has started this": replace(
            person, origin=Origin(boot="b", doubt="served")
        ),
        "": replace(person, origin=Origin(boot="next", doubt="orphan")),
    }
    for why, caller in told.items():
        core = Core(studio.ports, caller)
        assert core.identities.why_no_person().startswith(why)
        assert bool(core.identities.why_no_person()) == bool(why)
        if why:
            fault = studio.refuses(Forbidden, lambda one=core: one.tokens.revoke("ci"))
            assert "in a terminal that no agent has started" in fault.hint
            # Nobody has a key, and the first would be refused to each of them: it is not advised.
            assert ("sign it" in fault.hint, core.people.may_bring_first()) == (False, False)


def test_who_worked_at_a_terminal_is_the_person_whose_key_signs_there(
    studio: Studio, pat: Person
) -> None:
    """Known once, and never of an agent's process, or of one that did nothing: he does not judge his own work."""
    terminal = known_connection("cn_shell", boot="b", pid=5, started=5, held_since=4)
    idle = known_connection("cn_idle", boot="b", pid=6, started=6)
    agent = known_connection("cn_agent_ada", boot="b", pid=7, started=7)
    context = Context(ports=studio.ports, caller=studio.core("ada").caller)
    with recording(context, "connection.opened") as change:
        change.put(agent)
    principal = Principal(strength="connection", id=terminal.id)
    session = studio.mint.mint("ses")
    worker = Actor(kind="human", name="pat", session=session, principal=principal)
    here = replace(pat.unsigned.caller, actor=worker, origin=Origin(boot="b", process=terminal))
    core = Core(studio.ports, here)
    plan = core.plans.create(core.plans.read("# P\n- [ ] C\n  - review: yes\n"))
    (own,) = plan.ready
    started = core.claims.start(own)
    core.tasks.finish(own, started.claim.token, Report(outcome="done", summary="it works"))
    before = studio.image()
    for origin in (Origin(), Origin(boot="b", process=idle), Origin(boot="b", process=agent)):
        Core(studio.ports, replace(here, origin=origin)).people.take_along(pat.key)
        assert studio.image() == before

    def judge() -> object:
        signed = pat.does(pat.unsigned.reviews.proposed(own, YES), YES.reason).caller
        caller = replace(signed, origin=here.origin)
        return Core(studio.ports, caller).reviews.review(own, YES)

    studio.refuses(Forbidden, judge)
    core.people.take_along(pat.key)
    entry = studio.last()
    assert (entry.action, entry.facts) == ("key.used", {"key": pat.key, "succeeds": terminal.id})
    before = studio.image()
    core.people.take_along(pat.key)
    assert studio.image() == before
    studio.refuses(Forbidden, lambda: pat.judge(own, YES))
    studio.refuses(Forbidden, judge)


@pytest.mark.parametrize(
    "act",
    [
        lambda core: core.erasing.refuse(),
        lambda core: core.signing.refuse_opening(),
        lambda core: core.projects.adopt(("b" * 40,)),
    ],
)
def test_what_is_tried_out_is_refused_to_an_agent_and_lands_for_nobody(
    studio: Studio, act: Callable[[Core], object]
) -> None:
    """A person is asked to sign only what would be done then."""
    studio.refuses(Forbidden, lambda: studio.core("eve").try_out(act))
    before = studio.image()
    studio.core("ann", kind="human").try_out(act)
    assert studio.image() == before


def test_whoever_may_be_an_agent_hears_that_he_can_sign_once_a_key_is_in_force(
    studio: Studio, pat: Person
) -> None:
    hidden = Origin(boot="b", doubt="orphan")
    ada = known_connection("cn_agent_ada", boot="b", pid=7, started=7)
    context = Context(ports=studio.ports, caller=studio.core("ada").caller)
    with recording(context, "connection.opened") as change:
        change.put(ada)
    core = Core(studio.ports, replace(pat.unsigned.caller, origin=hidden))
    fault = studio.refuses(Forbidden, lambda: core.tokens.create(TokenRequest(name="x")))
    assert fault.hint.endswith("sign it.")


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Ann", "\u0410nn"),
        ("Ann", "\u0391nn"),
        ("Peter", "\u0420\u0435t\u0435r"),
        ("\u0421\u041e\u0420\u0410", "COPA"),
        ("Zo\u00eb", "Zo\u0451"),
    ],
)
def test_a_name_that_looks_like_another_persons_is_not_enrolled(name: str, other: str) -> None:
    """Whichever of the two comes first: where several people must sign, one would count as two."""
    for first, second in ((name, other), (other, name)):
        studio = Studio()
        one, two = (Person(studio=studio, name=owner) for owner in (first, second))
        one.enrol()
        with pytest.raises(Conflict, match="looks like") as refused:
            two.enrol(by=one)
        assert one.key in refused.value.message
        # The same name is the same person, and no other letter is one that it is not like.
        Person(studio=studio, name=first).enrol(by=one)
        Person(studio=studio, name="\u042f\u043d").enrol(by=one)
        Person(studio=studio, name=f"{first}e").enrol(by=one)
