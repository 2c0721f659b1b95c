"""Who stands behind a caller, what is kept of that, and whose part in work stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import known_connection
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, ActorKind, Principal, TokenRequest
from counterpoint.core.model.filters import Edit, Handover, Judgment, Note, Report
from counterpoint.core.model.identity import Connection, Contribution, Peer, Process
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.rules.identity import connection_id, connection_of
from counterpoint.kernel.errors import Forbidden
from fakes.studio import ROOT, Studio

YES = Judgment(approves=True, reason="so")
PLAN = "# Plan\n## One\n- review: yes\n- [ ] A\n## Two\n- review: yes\n- [ ] C\n"


def process(pid: int, parent: int, program: str) -> Process:
    """Answer a process; the higher its number, the later it began."""
    return Process(
        pid=pid,
        parent=parent,
        uid=1,
        session=0,
        has_terminal=False,
        started=pid,
        executable=f"/usr/bin/{program}",
    )


INIT, AGENT = process(1, 0, "systemd"), process(7, 1, "claude")
RELAY = process(9, 7, "python3")
PEER = Peer(lineage=(RELAY, AGENT, INIT), boot="b")
BEHIND = connection_id(AGENT, "b")


def connect(
    studio: Studio,
    peer: Peer,
    name: str = "ada",
    kind: ActorKind = "agent",
    *,
    credential: str = "",
) -> Core:
    """Answer the core of a caller whom the kernel attests, or what he brings."""
    session = studio.mint.mint("ses") if kind == "agent" else ""
    caller = Caller(actor=Actor(kind=kind, name=name, session=session), root=ROOT)
    found = Core(studio.ports, caller).identities.attest(peer, credential=credential)
    assert found is not None
    known = replace(caller.actor, principal=found.principal)
    return Core(
        studio.ports, replace(caller, actor=known, connection=found.connection, origin=found.origin)
    )


def connections(studio: Studio) -> list[Connection]:
    """Answer what is kept."""
    with studio.view() as view:
        return view.select(Connection)


@pytest.fixture
def ids(ada: Core) -> dict[str, str]:
    """Answer the ids of a plan by their titles."""
    ada.plans.create(ada.plans.read(PLAN))
    return {
        title: f"demo-{number}" for number, title in enumerate(("Plan", "One", "Two", "A", "C"), 1)
    }


def test_who_is_connected_is_asked_once_for_each_act_of_a_person(
    studio: Studio, ids: dict[str, str]
) -> None:
    asked: list[int] = []

    def connected() -> list[Connection]:
        asked.append(1)
        return [known_connection("cn_other", boot="elsewhere")]

    studio.ports = replace(studio.ports, connected=connected)
    person = connect(
        studio, Peer((process(19, 17, "sh"), process(17, 1, "tmux"), INIT), "b"), kind="human"
    )
    person.items.edit(ids["One"], Edit(waive=("review",), reason="small"))
    assert len(asked) == 1
    agent = connection_of(
        PEER,
        Principal(strength="connection", id=BEHIND),
        project="",
        agent="",
        client="",
        now=studio.clock.now(),
    )
    studio.ports = replace(studio.ports, connected=lambda: [agent])
    shell = connect(
        studio,
        Peer((process(29, 21, "python3"), process(21, 7, "make"), AGENT, INIT), "b"),
        kind="human",
    )
    fault = studio.refuses(
        Forbidden, lambda: shell.tokens.create(TokenRequest(name="x", kind="agent"))
    )
    assert "an agent has started this command, under the name ada" in str(fault)
    studio.ports = replace(studio.ports, connected=connected)
    connect(studio, PEER).journal.append(Note(kind="comment", body="so"))
    assert len(asked) == 1


def test_who_stands_behind_an_agent_is_kept_with_its_first_write(studio: Studio) -> None:
    """Once; and it stands in each entry. To connect and to read leaves no trace."""
    core = connect(studio, PEER)
    core.feed.last()
    assert connections(studio) == []
    core.journal.append(Note(kind="comment", body="one"))
    core.journal.append(Note(kind="comment", body="two"))
    connect(studio, PEER, "eve").journal.append(Note(kind="comment", body="in another session"))
    (kept,) = connections(studio)
    assert (kept.id, kept.pid, kept.agent) == (BEHIND, 7, "ada")
    assert studio.last().actor.principal == Principal(strength="connection", id=BEHIND)
    studio.check()


def test_what_a_known_agent_starts_is_that_agent(studio: Studio) -> None:
    """Known from its first write on; until then what is below it is itself."""
    inner = process(20, 7, "python3")
    peer = Peer(lineage=(process(21, 20, "python3"), inner, AGENT, INIT), boot="b")
    assert connect(studio, peer).caller.actor.principal == Principal(
        strength="connection", id=connection_id(inner, "b")
    )
    connect(studio, PEER).journal.append(Note(kind="comment", body="one"))
    second = connect(studio, peer, "eve")
    assert second.caller.actor.principal == Principal(strength="connection", id=BEHIND)
    assert second.caller.connection is not None
    assert second.caller.connection.agent == "ada"


def test_a_persons_command_makes_no_agent_of_what_is_above_it(studio: Studio) -> None:
    """An editor starts people's commands and agents alike."""
    core = connect(studio, PEER, "pat", kind="human")
    core.journal.append(Note(kind="comment", body="one"))
    assert connections(studio) == []
    assert studio.last().actor.principal == Principal(strength="connection", id=BEHIND)


@pytest.mark.parametrize("lineage", [(), (RELAY, INIT)])
def test_nobody_is_attested_without_an_agent(studio: Studio, lineage: tuple[Process, ...]) -> None:
    """The kernel says nothing, or what connects was left by whoever had started it."""
    found = studio.core("ada").identities.attest(Peer(lineage, "b"))
    assert found.principal is None
    assert (found.origin.boot, found.origin.doubt) == ("b", "orphan" if lineage else "unseen")


def test_a_part_in_work_is_one_in_all_above_it_and_stays(
    studio: Studio, ada: Core, bob: Core, ids: dict[str, str]
) -> None:
    """Also when the claim has gone to somebody else: neither of both judges."""
    ada.claims.start(ids["A"])
    ada.sessions.hand_over(Handover(action="pause", summary="for bob"))
    bob.sessions.hand_over(
        Handover(action="continue", session=ada.caller.actor.session, summary="")
    )
    bob.tasks.finish(ids["A"], 2, Report(outcome="done", summary="done"))
    with studio.view() as view:
        parts = {(one.item, one.principal) for one in view.select(Contribution)}
    assert parts == {
        (ids[item], f"cn_agent_{who}") for item in ("A", "One", "Plan") for who in ("ada", "bob")
    }
    for worker in (studio.core("ada"), studio.core("bob")):
        studio.refuses(Forbidden, lambda core=worker: core.reviews.review(ids["One"], YES))
    assert studio.core("cyd").reviews.review(ids["One"], YES).verdict.decision == "approve"


def test_whoever_has_the_same_name_may_judge(
    studio: Studio, ada: Core, ids: dict[str, str]
) -> None:
    """Two windows of one client are two principals; one without a principal is nobody."""
    ada.claims.start(ids["A"])
    ada.tasks.finish(ids["A"], 1, Report(outcome="done", summary="done"))
    window = studio.core("ada")
    other = Principal(strength="connection", id="cn_other")
    actor = replace(window.caller.actor, principal=None)
    nobody = Core(studio.ports, replace(window.caller, actor=actor))
    fault = studio.refuses(Forbidden, lambda: nobody.reviews.review(ids["One"], YES))
    assert "Counterpoint cannot tell ada from whoever worked on" in fault.message
    judge = Core(studio.ports, replace(window.caller, actor=replace(actor, principal=other)))
    assert judge.reviews.review(ids["One"], YES).verdict.agent == "ada"


@pytest.mark.parametrize("title", ["A", "One"])
def test_a_name_that_only_shares_its_launcher_hears_that_and_not_that_it_worked(
    studio: Studio, ids: dict[str, str], title: str
) -> None:
    """With the command that tells the two apart from then on; the one who worked hears that it did."""
    worker, other = connect(studio, PEER, "ben"), connect(studio, PEER, "rae")
    worker.claims.start(ids["A"])
    worker.tasks.finish(ids["A"], 1, Report(outcome="done", summary="done"))
    own = studio.refuses(Forbidden, lambda: worker.reviews.review(ids[title], YES))
    assert own.message.startswith(f"ben worked on {ids[title]}")
    assert "agent create" not in own.hint
    fault = studio.refuses(Forbidden, lambda: other.reviews.review(ids[title], YES))
    assert fault.message.startswith(
        f"what started rae also started ben, which worked on {ids[title]}"
    )
    assert "`counterpoint agent create rae`" in fault.hint


def test_work_that_goes_elsewhere_takes_its_parts_along(
    studio: Studio, ada: Core, person: Core, ids: dict[str, str]
) -> None:
    """Who worked on it does not judge what it is below now."""
    ada.claims.start(ids["A"])
    ada.tasks.finish(ids["A"], 1, Report(outcome="done", summary="done"))
    person.items.edit(ids["A"], Edit(parent=ids["Two"]))
    studio.refuses(Forbidden, lambda: ada.reviews.review(ids["Two"], YES))


def test_beside_the_bearer_of_a_credential_stands_the_process_that_hosts_him(
    studio: Studio, person: Core, ids: dict[str, str]
) -> None:
    """In all above, for each process that he works from, and wherever the work goes."""
    secret = person.tokens.create(TokenRequest(name="bob", kind="agent")).secret
    other = Peer(lineage=(process(19, 17, "python3"), process(17, 1, "claude"), INIT), boot="b")
    for peer, item in ((PEER, "A"), (other, "A")):
        core = connect(studio, peer, "bob", credential=secret)
        token = core.claims.start(ids[item]).claim.token
        if peer is PEER:
            core.tasks.finish(ids[item], token, Report(outcome="partial", summary="later"))
    person.items.edit(ids["A"], Edit(parent=ids["Two"]))
    with studio.view() as view:
        hosts = view.select(Contribution, how="hosted")
    hosted, elsewhere = BEHIND, connection_id(other.lineage[1], "b")
    assert {(one.item, one.principal) for one in hosts if one.item in ids.values()} == {
        (ids[item], host) for item in ("A", "One", "Two", "Plan") for host in (hosted, elsewhere)
    }
    assert {one.id for one in connections(studio)} >= {hosted, elsewhere}


def test_a_credential_does_not_do_what_its_process_has_loosened_without_it(
    studio: Studio, person: Core, ids: dict[str, str]
) -> None:
    """What one process does under two principals is one agent's."""
    secret = person.tokens.create(TokenRequest(name="bob", kind="agent")).secret
    plain = connect(studio, PEER)
    plain.items.edit(ids["One"], Edit(waive=("review",), reason="small"))
    core = connect(studio, PEER, "bob", credential=secret)
    studio.refuses(Forbidden, lambda: core.claims.start(ids["A"]))


def test_a_process_that_hosted_somebody_has_a_part_of_its_own_in_what_it_takes_up(
    studio: Studio, person: Core, ids: dict[str, str]
) -> None:
    """So no credential that it hosts judges what it had in hand without one."""
    bob, eve = (
        person.tokens.create(TokenRequest(name=name, kind="agent")).secret
        for name in ("bob", "eve")
    )
    hosted = connect(studio, PEER, "bob", credential=bob)
    hosted.claims.start(ids["A"])
    hosted.tasks.finish(ids["A"], 1, Report(outcome="partial", summary="half"))
    connect(studio, PEER).claims.start(ids["A"])
    person.claims.release(ids["A"])
    hosted.claims.start(ids["A"])
    hosted.tasks.finish(ids["A"], 3, Report(outcome="done", summary="so"))
    judge = connect(studio, PEER, "eve", credential=eve)
    studio.refuses(Forbidden, lambda: judge.reviews.review(ids["One"], YES))
