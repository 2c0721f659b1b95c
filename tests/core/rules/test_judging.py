"""Who may judge whose work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import known_connection
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.rows import Prose
from counterpoint.core.rules.claims import Dependence, dependence, principal_id_of

ADA = Actor(
    kind="agent", name="ada", session="ses_a", principal=Principal(strength="connection", id="cn_a")
)
NOBODY = Actor(kind="agent", name="ada", session="ses_b")
PERSON = Actor(kind="human", name="pat", principal=Principal(strength="person", id="pat"))
CONNECTION = known_connection("cn_a", "p", agent="ada", held_since=10)


def worked(principal: str) -> Contribution:
    """Answer a part of a principal in the work."""
    return Contribution(project="p", item="p-1", principal=principal, how="worked")


@pytest.mark.parametrize(
    ("actor", "parts", "sessions", "expected"),
    [
        (ADA, ["cn_a"], (), "own"),
        (ADA, ["cn_b"], (), None),
        (ADA, ["?ada"], (), "unattested"),
        (ADA, ["cn_b", "?eve"], (), "unattested"),
        (PERSON, ["cn_b", "?eve"], (), None),
        (ADA, [], (), None),
        (ADA, ["cn_b"], ("ses_a",), "own"),
        (ADA, ["cn_b"], ("ses_x",), None),
        (NOBODY, ["?ada"], (), "own"),
        (NOBODY, ["?eve"], (), None),
        (NOBODY, ["cn_a"], (), "unattested"),
        (replace(NOBODY, session=""), ["?eve"], ("",), None),
    ],
)
def test_nobody_judges_own_work_whatever_his_name(
    actor: Actor, parts: list[str], sessions: tuple[str, ...], expected: Dependence | None
) -> None:
    """A principal is asked for, a name only where nothing attests one."""
    assert dependence(actor, map(worked, parts), sessions) == expected


def test_whoever_only_loosened_a_gate_did_not_work() -> None:
    """What follows from that is another rule."""
    assert dependence(ADA, [replace(worked("cn_a"), how="loosened")], ()) is None


def test_a_process_that_the_worker_may_have_left_behind_judges_nothing() -> None:
    other = replace(CONNECTION, id="cn_b", started=9, held_since=0)
    assert dependence(ADA, [worked("cn_b")], (), CONNECTION, [other]) == "orphan"
    assert dependence(ADA, [worked("cn_b")], (), CONNECTION, [replace(other, started=11)]) is None


def test_what_the_worker_has_started_is_the_worker() -> None:
    above = '[{"executable":"/b","pid":20,"started":5,"terminal":false}]'
    worker = replace(CONNECTION, id="cn_b", pid=20, started=5, held_since=0)
    inner = replace(CONNECTION, ancestry=Prose(above), held_since=0)
    assert dependence(ADA, [worked("cn_b")], (), inner, [worker]) == "own"
    outer = replace(ADA, principal=Principal(strength="connection", id="cn_b"))
    assert dependence(outer, [worked("cn_a")], (), worker, [inner]) == "own"
    person = replace(outer, kind="human")
    assert dependence(person, [worked("cn_a")], (), worker, [inner]) is None
    stranger = replace(worker, pid=21)
    assert dependence(ADA, [worked("cn_b")], (), inner, [stranger]) is None


def test_two_credentials_tell_apart_what_one_process_hosts() -> None:
    """Without one the process may be any of those that it has hosted; with one it is still who worked without."""
    bob = replace(ADA, principal=Principal(strength="credential", id="agt_b"))
    hosted = [worked("agt_x"), replace(worked("cn_a"), how="hosted")]
    assert dependence(bob, hosted, (), CONNECTION, [CONNECTION]) is None
    assert dependence(ADA, hosted, (), CONNECTION, [CONNECTION]) == "own"
    assert dependence(bob, [worked("cn_a")], (), CONNECTION, [CONNECTION]) == "own"
    assert dependence(bob, [worked("agt_b")], ()) == "own"
    left = replace(CONNECTION, id="cn_l", pid=30, started=30)
    eve = replace(ADA, principal=Principal(strength="connection", id="cn_l"))
    assert dependence(eve, hosted, (), left, [CONNECTION]) == "orphan"


def test_a_credential_does_not_stand_for_a_process_that_hides() -> None:
    """Where nothing attests its process it judges what credentials did, names of another boot, and no process of this one."""
    bob = replace(ADA, principal=Principal(strength="credential", id="agt_b"))
    worker = replace(CONNECTION, id="cn_b")
    here, parts = worker.boot, [worked("cn_b")]
    assert dependence(bob, parts, (), None, [worker], boot=here) == "unattested"
    assert dependence(bob, parts, (), None, [worker], boot="next") is None
    assert dependence(ADA, parts, (), None, [worker], boot=here) is None
    hosted = [worked("agt_x"), replace(worked("cn_b"), how="hosted")]
    assert dependence(bob, hosted, (), None, [worker], boot=here) is None


def test_a_name_is_told_apart_from_every_principal() -> None:
    """No name that anybody gives himself is the id of one."""
    assert principal_id_of(ADA) == "cn_a"
    assert principal_id_of(replace(NOBODY, name="cn_a")) == "?cn_a"
