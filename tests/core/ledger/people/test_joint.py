"""Acts that several people sign: who proposes, signs and does them, and what is found of those that lack signatures."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from counterpoint.core.ledger.people.joint import MADE, SIGNED, SIGNERS, WITHDRAWN, Joint, person_of
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.operations.reads import Reads
from counterpoint.kernel.errors import Conflict, CounterpointError, Forbidden, NotFound
from fakes.people import Person
from fakes.story import VERIFIER, Entry, Story, signed_anew
from fakes.studio import Studio

STRICT = ProposedAct(action="policy.changed", decision={"policy": "person"})


class Town:
    """Three people with keys in a project where two of them must sign."""

    def __init__(self, threshold: int = 2) -> None:
        self.studio = Studio()
        self.pat, self.sam, self.kim = (
            Person(studio=self.studio, name=name) for name in ("pat", "sam", "kim")
        )
        self.pat.enrol()
        self.sam.enrol(by=self.pat)
        self.kim.enrol(by=self.pat)
        if threshold > 1:
            ask = self.pat.unsigned.joint_acts.proposed(threshold)
            self.pat.does(ask).joint_acts.require(threshold)

    def step(self, person: Person, act: ProposedAct) -> ProposedAct:
        """Let somebody sign an act, or its proposal; answer what he signed."""
        step = person.unsigned.joint_acts.next_step(act, person.key)
        if step.action in {MADE, SIGNED}:
            person.does(step).joint_acts.write(step)
        return step

    def strict(self, person: Person) -> ProposedAct:
        """Let somebody ask for persons as reviewers, as far as his signature goes."""
        step = self.step(person, STRICT)
        if step.action == STRICT.action:
            person.does(step).projects.ask_of_reviews("person")
        return step

    def refuses(
        self, call: Callable[[], object], fault: type[CounterpointError] = Forbidden
    ) -> str:
        """Check that something is refused and changes nothing; answer why."""
        return str(self.studio.refuses(fault, call).message)

    @property
    def reviews(self) -> str:
        """What is asked of reviews."""
        return self.pat.unsigned.items.project().reviews


class Signed(Story):
    """A ledger in which two of three people have changed the policy, to forge from."""

    def __init__(self) -> None:
        self.town = Town()
        self.studio, self.pat, self.sam = self.town.studio, self.town.pat, self.town.sam
        self.town.strict(self.pat)
        self.town.strict(self.sam)
        self._export()


class Lowered(Story):
    """A ledger in which two people have decided that one is enough."""

    def __init__(self) -> None:
        town = Town()
        self.studio, self.pat = town.studio, town.pat
        lower = town.pat.unsigned.joint_acts.proposed(1)
        town.step(town.pat, lower)
        town.sam.does(town.step(town.sam, lower)).joint_acts.require(1)
        self._export()


def test_the_small_verifier_says_where_fewer_people_were_asked_for(story: Signed) -> None:
    """As the report of a bundle does; nowhere where it was only raised."""
    lowered = Lowered()
    place = max(one["n"] for one in lowered.entries if one["a"] == SIGNERS)
    for ledger, said in (
        (lowered, f"Fewer signatures were asked for from entry {place} on."),
        (story, ""),
    ):
        bundle = b"".join(ledger.bundle(ledger.entries, ledger.texts))
        remark = VERIFIER["verify"](bundle, ledger.key.to_text())
        assert said in remark
        assert ("Fewer" in remark) == bool(said)


@pytest.fixture(scope="module")
def story() -> Signed:
    """Give such a ledger."""
    return Signed()


def test_the_last_of_those_who_must_sign_does_what_was_proposed() -> None:
    """Whoever comes first proposes it; nothing changes until enough have signed."""
    town = Town(threshold=3)
    assert town.strict(town.pat).action == MADE
    assert town.reviews == "attested"
    assert town.strict(town.kim).action == SIGNED
    assert town.reviews == "attested"
    (proposal,) = town.pat.unsigned.joint_acts.open()
    assert proposal.maker == "pat"
    assert list(proposal.signed) == ["pat", "kim"]
    done = town.strict(town.sam)
    assert done.decision == {"policy": "person", "proposal": proposal.id}
    assert town.reviews == "person"
    assert town.pat.unsigned.joint_acts.open() == []
    town.studio.check()


def test_every_act_on_policies_keys_and_epochs_takes_as_many() -> None:
    """One signature does none of them; two do each."""
    town = Town()
    eve = Person(studio=town.studio, name="eve")
    people = town.pat.unsigned.people
    enrolment = people.enrolment(eve.public_key, "eve", "ssh")
    revocation = people.revocation(people.get("kim"))
    opening = town.pat.unsigned.signing.proposed()
    lower = town.pat.unsigned.joint_acts.proposed(1)
    switch = town.pat.unsigned.use(Reads).proposed("on")
    acts: list[tuple[ProposedAct, Callable[[Any], object]]] = [
        (STRICT, lambda core: core.projects.ask_of_reviews("person")),
        (enrolment, lambda core: core.people.enrol(eve.public_key, enrolment)),
        (revocation, lambda core: core.people.revoke(town.kim.key)),
        (opening, lambda core: core.signing.open_epoch("restored")),
        (switch, lambda core: core.use(Reads).switch("on")),
        (lower, lambda core: core.joint_acts.require(1)),
    ]
    for act, does in acts:
        why = town.refuses(lambda act=act, does=does: does(town.pat.does(act)))
        assert "takes the signatures of 2 people" in why, act.action
        assert town.step(town.pat, act).action == MADE
        does(town.sam.does(town.step(town.sam, act)))
    assert town.pat.unsigned.joint_acts.state().threshold == 1
    town.studio.check()


def test_nobody_signs_twice_or_for_another() -> None:
    """Neither the same key, nor another key of the same owner, an agent, or a key that was revoked."""
    town = Town()
    other = Person(studio=town.studio, name="PAT")
    act = other.unsigned.people.enrolment(other.public_key, "PAT", "ssh")
    town.step(town.pat, act)
    town.sam.does(town.step(town.sam, act)).people.enrol(other.public_key, act)
    town.strict(town.pat)
    (proposal,) = town.pat.unsigned.joint_acts.open()
    for person in (town.pat, other):
        town.refuses(lambda person=person: town.strict(person), Conflict)
        last = ProposedAct(
            action=STRICT.action, decision={**STRICT.decision, "proposal": proposal.id}
        )
        why = town.refuses(
            lambda person=person, last=last: person.does(last).projects.ask_of_reviews("person")
        )
        assert "has those of 1" in why
        again = ProposedAct(
            action=SIGNED,
            decision={
                "proposal": proposal.id,
                "proposed": {"act": STRICT.action, "decision": dict(STRICT.decision)},
            },
        )
        town.refuses(lambda person=person, again=again: person.does(again).joint_acts.write(again))
    agent = town.studio.core("ada")
    town.refuses(lambda: agent.joint_acts.write(again))
    town.refuses(lambda: agent.joint_acts.require(1))
    ann = town.studio.core("ann", kind="human")
    town.refuses(lambda: ann.joint_acts.write(again))
    town.refuses(lambda: ann.joint_acts.require(1))
    revocation = town.pat.unsigned.people.revocation(town.pat.unsigned.people.get("kim"))
    town.step(town.pat, revocation)
    town.sam.does(town.step(town.sam, revocation)).people.revoke(town.kim.key)
    town.refuses(lambda: town.strict(town.kim))
    town.studio.check()


def test_a_key_is_signed_as_it_was_proposed() -> None:
    """Its owner alone knows how it is stored; whoever signs last finds its public half in the proposal."""
    town = Town()
    second = Person(studio=town.studio, name="pat")
    act = town.pat.unsigned.people.enrolment(second.public_key, "pat", "hardware")
    step = town.pat.unsigned.joint_acts.next_step(act, town.pat.key)
    town.pat.does(step).joint_acts.write(step, second.public_key)
    (proposal,) = town.sam.unsigned.joint_acts.open()
    assert proposal.public_key == second.public_key
    other = town.sam.unsigned.people.enrolment(second.public_key, "Pat", "ssh")
    signed = town.sam.unsigned.joint_acts.as_proposed(other)
    assert signed == act
    foreign = town.sam.unsigned.people.enrolment(second.public_key, "eve", "ssh")
    town.refuses(lambda: town.sam.unsigned.joint_acts.as_proposed(foreign), Conflict)
    key = town.sam.does(town.step(town.sam, signed)).people.enrol(proposal.public_key, signed)
    assert (key.owner, key.storage) == ("pat", "hardware")
    town.studio.check()


def test_another_key_beside_a_proposal_is_not_offered() -> None:
    """Nobody has signed the public half in a proposal: one whose digest is not the key that was proposed is as none."""
    for line in ("", "no key", Person(studio=Studio(), name="eve").public_key):
        town = Town()
        act = town.pat.unsigned.people.enrolment(
            Person(studio=town.studio).public_key, "pat", "ssh"
        )
        step = town.pat.unsigned.joint_acts.next_step(act, town.pat.key)
        town.pat.does(step).joint_acts.write(step, line)
        (proposal,) = town.sam.unsigned.joint_acts.open()
        assert proposal.public_key == ""


def test_two_who_propose_the_same_at_once_sign_each_others() -> None:
    """Neither hears that he has signed it before, and one act is done."""
    town = Town()
    steps = [
        (one, one.unsigned.joint_acts.next_step(STRICT, one.key)) for one in (town.pat, town.sam)
    ]
    for person, step in steps:
        person.does(step).joint_acts.write(step)
    first, _ = town.pat.unsigned.joint_acts.open()
    assert first.maker == "pat"
    done = town.strict(town.pat)
    assert (done.action, town.reviews) == (STRICT.action, "person")
    town.studio.check()


def test_a_signature_with_a_key_that_was_revoked_counts_no_more() -> None:
    """Its owner may sign again with another one."""
    town = Town()
    town.strict(town.kim)
    revocation = town.pat.unsigned.people.revocation(town.pat.unsigned.people.get("kim"))
    town.step(town.pat, revocation)
    town.sam.does(town.step(town.sam, revocation)).people.revoke(town.kim.key)
    assert town.strict(town.pat).action == SIGNED
    assert town.reviews == "attested"
    assert town.strict(town.sam).action == STRICT.action
    assert town.reviews == "person"


def test_a_proposal_ends_when_its_maker_or_time_says_so() -> None:
    """Who withdraws it signs that; after 14 days nobody does what it says."""
    town = Town()
    town.strict(town.pat)
    (proposal,) = town.pat.unsigned.joint_acts.open()
    step = town.sam.unsigned.joint_acts.withdrawal(proposal.id)
    town.refuses(lambda: town.sam.does(step).joint_acts.write(step))
    town.pat.does(step).joint_acts.write(step)
    assert step.action == WITHDRAWN
    assert town.pat.unsigned.joint_acts.open() == []
    town.refuses(lambda: town.pat.unsigned.joint_acts.withdrawal(proposal.id), NotFound)
    town.strict(town.pat)
    (late,) = town.pat.unsigned.joint_acts.open()
    town.studio.clock.pass_by(minutes=15 * 24 * 60)
    assert town.sam.unsigned.joint_acts.open() == []
    last = ProposedAct(action=STRICT.action, decision={**STRICT.decision, "proposal": late.id})
    why = town.refuses(lambda: town.sam.does(last).projects.ask_of_reviews("person"))
    assert "expired" in why
    assert town.strict(town.sam).action == MADE


def test_a_threshold_is_met_by_those_there_are() -> None:
    """No more than have keys, none without a signature, and no revocation leaves fewer."""
    town = Town(threshold=3)
    fresh = Town(threshold=1)
    for count in (0, 4):
        ask = fresh.pat.unsigned.joint_acts.proposed(count)
        why = fresh.refuses(
            lambda ask=ask, count=count: fresh.pat.does(ask).joint_acts.require(count)
        )
        assert f"asks for the signatures of {count} people, where 3 have keys" in why
    people = town.pat.unsigned.people
    revocation = people.revocation(people.get("kim"))
    town.step(town.pat, revocation)
    town.step(town.kim, revocation)
    step = town.step(town.sam, revocation)
    why = town.refuses(lambda: town.sam.does(step).people.revoke(town.kim.key))
    assert "leaves fewer people with keys than the 3 who must sign" in why


def test_who_has_lost_too_many_keys_recovers_one_by_an_epoch() -> None:
    """The one way out; from there on one signs for all, and every verification tells of it."""
    town = Town(threshold=3)
    town.strict(town.pat)
    new = Person(studio=town.studio, name="new")
    new.recover()
    state = new.unsigned.joint_acts.state()
    assert (state.threshold, state.proposals) == (1, {})
    new.does(STRICT).projects.ask_of_reviews("person")
    town.studio.check()
    (epoch,) = town.studio.system.audit.verify().epochs
    assert epoch.confirmed_by == ""
    (place,) = town.studio.system.audit.verify().fewer_signers
    assert town.studio.system.audit.entry(place).action == "key.recovered"


def changed_act(
    story: Signed, person: Person, decision: dict[str, Any], reviews: str = "person"
) -> list[Entry]:
    """Answer the entries with another act at the end of the proposal, signed by some person."""
    entries = deepcopy(story.entries)
    entry = entries[story.place("policy.changed")]
    entry["r"][0]["c"]["reviews"] = reviews
    entry["f"] = dict(decision)
    signed_anew(entry, person, decision=decision)
    return entries


def test_both_verifiers_find_an_act_that_too_few_have_signed(story: Signed) -> None:
    """By the proposer again, without a proposal, with a foreign one, and of another content; two of them are sound."""
    assert not story.is_found(story.entries)
    proposal = story.entries[story.place(MADE)]["f"]["proposal"]
    right = {"policy": "person", "proposal": proposal}
    assert not story.is_found(changed_act(story, story.sam, right))
    assert not story.is_found(changed_act(story, story.town.kim, right))
    for person, decision, reviews in (
        (story.pat, right, "person"),
        (story.sam, {"policy": "person"}, "person"),
        (story.sam, {**right, "proposal": "prp_other"}, "person"),
        (story.sam, {**right, "policy": "declared"}, "declared"),
    ):
        assert story.is_found(changed_act(story, person, decision, reviews)), decision


def test_both_verifiers_find_a_proposal_that_is_none(story: Signed) -> None:
    """One of nobody's, one that lasts for ever or was left out, and one that was done after its time."""
    made = story.place(MADE)
    entries = deepcopy(story.entries)
    decision = {**entries[made]["f"], "open_until": "2099-01-01T00:00:00.000Z"}
    entries[made]["f"] = decision
    signed_anew(entries[made], story.pat, decision=decision)
    assert story.is_found(entries)
    entries = deepcopy(story.entries)
    entries[made]["w"].pop("i")
    entries[made]["r"] = [one for one in entries[made]["r"] if one["t"] != "confirmations"]
    assert story.is_found(entries)
    entries = deepcopy(story.entries)
    for entry in entries[made + 1 :]:
        entry["t"] = "2098-01-01T00:00:00.000Z"
    assert story.is_found(entries)
    assert story.is_found([one for one in story.entries if one["n"] != made])


def test_both_verifiers_find_a_proposal_of_an_act_that_takes_one_person(story: Signed) -> None:
    """It is one that no command makes."""
    made = story.place(MADE)
    entries = deepcopy(story.entries[: made + 1])
    facts = entries[made]["f"]
    decision = {**facts, "proposed": {**facts["proposed"], "act": "item.approved"}}
    assert not story.is_found(entries)
    entries[made]["f"] = decision
    signed_anew(entries[made], story.pat, decision=decision)
    assert story.is_found(entries)


@pytest.mark.parametrize("name", ["Jose\u0301", "JOS\u00c9", "  Jos\u00e9 ", "\uff2aos\u00e9"])
def test_both_verifiers_count_names_that_look_the_same_as_one_person(name: str) -> None:
    """Composed or not, wide, in capitals or with blanks around: two need keys, and one has both."""
    studio = Studio()
    one, other = Person(studio=studio, name="Jos\u00e9"), Person(studio=studio, name=name)
    assert person_of(one.name) == person_of(other.name) == "jos\u00e9"
    one.enrol()
    other.enrol(by=one)
    ask = one.unsigned.joint_acts.proposed(2)
    with pytest.raises(Forbidden, match="where 1 have keys"):
        one.does(ask).joint_acts.require(2)
    joint: dict[str, Any] = {"threshold": 1, "owners": {}, "revoked": set(), "open": {}}
    for person in (one, other):
        entry = {"a": "key.enrolled", "f": {"key": person.key, "owner": person.name}}
        who = {"i": {"i": one.key, "k": "person"}}
        VERIFIER["check_several"]({**entry, "w": who, "r": [{"t": "keys"}]}, joint)
    assert set(joint["owners"].values()) == {"jos\u00e9"}


def test_both_verifiers_find_who_lowers_it_alone(story: Signed) -> None:
    """Signed by one of the two, and by nobody."""
    before = [one for one in story.entries if one["n"] < story.place(MADE)]
    lower = deepcopy(story.entries[story.place(SIGNERS)])
    lower["f"] |= {"threshold": 1}
    lower["t"] = before[-1]["t"]
    signed_anew(lower, story.pat, decision={"threshold": 1})
    assert not story.is_found(before)
    assert story.is_found([*before, lower])
    last = {name: lower[name] for name in ("v", "p", "t")}
    who = {"k": "human", "n": "pat"}
    unsigned = {**last, "a": SIGNERS, "w": who, "f": {"threshold": 1}}
    assert story.is_found([*before, unsigned])


def test_both_verifiers_find_a_whole_row_of_the_project_by_one(story: Signed) -> None:
    """One that leaves out what is asked of reviews says the default; a row that is taken away says nothing at all."""
    done = story.place("policy.changed")
    forged = deepcopy(story.entries[done])
    assert not story.is_found(story.entries[: done + 1])
    before = {name: story.entries[done][name] for name in ("p", "t", "v")}
    for row in ({"v": {"name": "demo"}}, {"v": None}):
        forged["r"][0] = {"t": "projects", "k": {}, **row}
        forged["f"] = {"policy": ""}
        signed_anew(forged, story.pat, decision={"policy": ""})
        assert story.is_found([*story.entries[: done + 1], {**forged, **before}]), row


def test_both_verifiers_find_who_switches_the_record_of_reads_alone(story: Signed) -> None:
    """Nobody does without a proposal, by the action for it or by another."""
    before = [one for one in story.entries if one["n"] < story.place(MADE)]
    last = {name: before[-1][name] for name in ("v", "p", "t")}
    row = {"t": "attributes", "k": {"item": "", "name": "reads"}, "v": None}
    who = {"k": "agent", "n": "eve"}
    other = {**row, "k": {"item": "", "name": "other"}}
    assert not story.is_found([*before, {**last, "a": "item.noted", "w": who, "r": [other]}])
    assert story.is_found([*before, {**last, "a": "item.noted", "w": who, "r": [row]}])
    assert story.is_found([*before, {**last, "a": "reads.switched", "w": who}])


def test_both_verifiers_find_what_an_agent_says_of_keys(story: Signed) -> None:
    """It writes no key, and would lower the number, make one person two, or take one away."""
    before = [one for one in story.entries if one["n"] < story.place(MADE)]
    last = {name: before[-1][name] for name in ("v", "p", "t")}
    agent = {"k": "agent", "n": "eve"}
    assert not story.is_found(
        [*before, {**last, "a": "comment.recorded", "w": agent, "f": {"by": "eve"}}]
    )
    for action, facts in (
        ("key.recovered", {"key": "SHA256:new", "owner": "pat"}),
        ("key.enrolled", {"key": story.sam.key, "owner": "somebody else"}),
        ("key.revoked", {"key": story.sam.key}),
    ):
        assert story.is_found([*before, {**last, "a": action, "w": agent, "f": facts}]), action


def test_a_reason_is_kept_and_the_same_number_again_writes_nothing() -> None:
    """Whether an act takes several now is told by its action; without a signature nobody asks for them."""
    town = Town(threshold=1)
    verbs = town.pat.unsigned.joint_acts
    assert not verbs.asks_several(SIGNERS)
    ask = verbs.proposed(2)
    assert town.pat.does(ask, "we are three").joint_acts.require(2, "we are three") == 2
    entry = town.studio.last()
    assert entry.action == SIGNERS
    assert entry.facts["reason"] == "we are three"
    assert verbs.asks_several(SIGNERS)
    assert not verbs.asks_several("item.approved")
    before = town.studio.image()
    assert verbs.require(2) == 2
    assert town.studio.image() == before
    ann = Studio().core("ann", kind="human")
    with pytest.raises(Forbidden, match="without a signature nobody can"):
        ann.joint_acts.require(2)


T1, T2, T9 = (f"2026-01-0{day}T00:00:00.000Z" for day in (1, 2, 9))
PROPOSED = {"act": "policy.changed", "decision": {"policy": "person"}}
OTHER = {"act": "item.approved", "decision": {"policy": "person"}}
OPEN = {"proposal": "prp_1", "proposed": PROPOSED, "open_until": T2}


@pytest.mark.parametrize(
    ("action", "facts", "time", "signer", "fault"),
    [
        (SIGNED, {"proposal": "prp_1", "proposed": PROPOSED}, T1, "s", ""),
        (SIGNED, {"proposal": "prp_1", "proposed": PROPOSED}, T1, "", "no person signed that"),
        (SIGNED, {"proposal": "prp_1", "proposed": PROPOSED}, T9, "s", "that expired at"),
        (SIGNED, {"proposal": "prp_1", "proposed": PROPOSED}, T1, "p", "has signed before"),
        (SIGNED, {"proposal": "prp_1", "proposed": {}}, T1, "s", "another proposal than was made"),
        (SIGNED, {"proposal": "prp_2", "proposed": PROPOSED}, T1, "s", "that is not open"),
        (SIGNED, {"proposal": 1, "proposed": PROPOSED}, T1, "s", "that is not open"),
        (WITHDRAWN, {"proposal": "prp_1"}, T1, "p", ""),
        (WITHDRAWN, {"proposal": "prp_1"}, T1, "s", "of somebody else"),
        (MADE, {**OPEN, "proposal": "prp_2"}, T1, "s", ""),
        (MADE, OPEN, T1, "s", "that there was before"),
        (MADE, {**OPEN, "proposal": ""}, T1, "s", "that there was before"),
        (MADE, {**OPEN, "proposal": "prp_2", "proposed": {}}, T1, "s", "of another form"),
        (MADE, {**OPEN, "proposal": "prp_2", "open_until": "soon"}, T1, "s", "lasts too long"),
        (MADE, {**OPEN, "proposal": "prp_2", "proposed": OTHER}, T1, "s", "takes one person"),
    ],
)
def test_each_entry_about_a_proposal_is_judged_by_those_before(
    action: str, facts: dict[str, Any], time: str, signer: str, fault: str
) -> None:
    """One that is at fault opens, signs and closes nothing."""
    joint = Joint()

    def read(number: int, action: str, facts: dict[str, Any], time: str, signer: str) -> list[str]:
        who = {"i": {"i": signer, "k": "person"}} if signer else {}
        rows = [{"t": "keys", "k": {}, "v": {}}] if action.startswith("key.") else []
        entry = {"n": number, "a": action, "t": time, "w": who, "f": facts, "r": rows}
        return list(joint.read(entry))

    assert read(1, "key.enrolled", {"key": "p", "owner": "pat"}, T1, "p") == []
    assert read(2, "key.enrolled", {"key": "s", "owner": "sam"}, T1, "p") == []
    assert read(3, MADE, OPEN, T1, "p") == []
    faults = read(4, action, facts, time, signer)
    assert [fault in problem for problem in faults] == ([True] if fault else [])
    signers = {name: list(proposal.signed) for name, proposal in joint.proposals.items()}
    if fault:
        assert signers == {"prp_1": ["pat"]}
    else:
        after = {
            SIGNED: {"prp_1": ["pat", "sam"]},
            WITHDRAWN: {},
            MADE: {"prp_1": ["pat"], "prp_2": ["sam"]},
        }
        assert signers == after[action]


def test_a_key_is_enrolled_as_it_was_proposed_and_as_nobody_elses() -> None:
    """How it is stored only its owner knows; a proposal of another program may name neither key nor owner."""
    town = Town()
    verbs = town.pat.unsigned.joint_acts
    eve = Person(studio=town.studio, name="eve")
    people = town.pat.unsigned.people
    proposed = people.enrolment(eve.public_key, "eve", "ssh")
    assert verbs.as_proposed(proposed) is proposed
    odd = ProposedAct(action=proposed.action, decision={"owner": "eve"})
    town.step(town.pat, odd)
    town.step(town.pat, proposed)
    town.strict(town.pat)
    stored_otherwise = people.enrolment(eve.public_key, " Eve", "passphrase")
    assert verbs.as_proposed(stored_otherwise).decision == proposed.decision
    with pytest.raises(Conflict, match="proposes this key as one of eve"):
        verbs.as_proposed(people.enrolment(eve.public_key, "mallory", "ssh"))
    assert [verbs.get(one.id).act for one in verbs.open()] == [
        *[proposed.action] * 2,
        STRICT.action,
    ]
    with pytest.raises(NotFound, match="no proposal 'prp_x' is open"):
        verbs.get("prp_x")
