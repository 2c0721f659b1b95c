"""Tokens: shown once, met again by their digest, revoked, and heard in a session."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Bearer, Principal, TokenRequest
from counterpoint.core.model.filters import Handover
from counterpoint.core.model.identity import Peer, Process
from counterpoint.core.rules import access
from counterpoint.core.rules.identity import name_of
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from fakes.studio import Studio

HERE = "127.0.0.1"
NOBODY = Peer((), "b")


def test_a_token_is_answered_once_and_never_kept(studio, person):
    """Its text is in no entry, no table and no text; only its digest is."""
    made = person.tokens.create(TokenRequest(name="ci"))
    assert re.fullmatch(r"cpt_[0-9a-f]{64}", made.secret)
    assert made.secret not in repr(made)
    with studio.view() as view:
        kept = [*view.entries(), *(text.body.encode() for _, text in view.texts())]
        assert not any(made.secret[4:].encode() in data for data in kept)
    assert made.secret not in repr(studio.image())
    assert person.tokens.list() == [made.token]
    assert made.token.sha256 == access.digest_of(made.secret)
    last = studio.last()
    assert (last.action, last.subject) == ("token.created", made.token.id)


def test_the_bearer_of_a_token_is_known_by_it(person):
    """And nobody by anything else."""
    made = person.tokens.create(TokenRequest(name="ci"))
    person.tokens.create(TokenRequest(name="other"))
    assert person.tokens.authenticate(made.secret, HERE) == made.token
    wrong = made.secret[:-1] + ("0" if made.secret[-1] != "0" else "1")
    for secret in (wrong, "", made.secret.upper(), made.token.sha256, made.token.id, "cpt_" * 20):
        assert person.tokens.authenticate(secret, HERE) is None


def test_an_expired_token_is_known_no_more(studio, person):
    """From the moment on that it names."""
    made = person.tokens.create(TokenRequest(name="ci", lasts_seconds=60))
    studio.clock.pass_by(seconds=59)
    assert person.tokens.authenticate(made.secret, HERE) == made.token
    studio.clock.pass_by(seconds=1)
    assert person.tokens.authenticate(made.secret, HERE) is None


@pytest.mark.parametrize("seconds", [30, 90])
def test_a_renewed_token_is_the_same_for_longer(studio, person, seconds):
    """Before its end and after; with its secret and its id, and without an end if none is asked for."""
    made = person.tokens.create(TokenRequest(name="ci", lasts_seconds=60))
    studio.clock.pass_by(seconds=seconds)
    renewed = person.tokens.renew("ci", lasts_seconds=60)
    assert (studio.last().action, studio.last().subject) == ("token.renewed", made.token.id)
    assert replace(renewed, expires_at=made.token.expires_at) == made.token
    studio.clock.pass_by(seconds=59)
    assert person.tokens.authenticate(made.secret, HERE) == renewed
    studio.clock.pass_by(seconds=1)
    assert person.tokens.authenticate(made.secret, HERE) is None
    assert person.tokens.renew(made.token.id, lasts_seconds=0).expires_at == ""
    studio.refuses(Conflict, lambda: person.tokens.renew("ci", lasts_seconds=0))
    person.tokens.revoke("ci")
    studio.refuses(Conflict, lambda: person.tokens.renew("ci", lasts_seconds=60))
    studio.refuses(NotFound, lambda: person.tokens.renew("none", lasts_seconds=60))


def test_no_agent_renews_a_credential(studio, person, ada):
    person.tokens.create(TokenRequest(name="ci", lasts_seconds=60))
    studio.refuses(Forbidden, lambda: ada.tokens.renew("ci", lasts_seconds=60))


def test_what_ends_within_a_week_is_told(studio, person):
    day = 86_400
    for name, days in (("soon", 6), ("sooner", 5), ("later", 8), ("never", 0)):
        person.tokens.create(TokenRequest(name=name, kind="agent", lasts_seconds=days * day))
    person.tokens.create(TokenRequest(name="gone", lasts_seconds=day))
    person.tokens.revoke("gone")
    assert [one.name for one in person.awaiting.renewals()] == ["sooner", "soon"]
    studio.clock.pass_by(seconds=7 * day)
    assert [one.name for one in person.awaiting.renewals()] == ["sooner", "soon", "later"]
    studio.clock.pass_by(seconds=7 * day)
    assert [one.name for one in person.awaiting.renewals()] == ["later"]


def test_a_revoked_token_is_known_no_more(studio, person):
    """By its name or its id; a second time there is nothing to revoke."""
    one = person.tokens.create(TokenRequest(name="one"))
    other = person.tokens.create(TokenRequest(name="other"))
    assert person.tokens.revoke("one").revoked_at
    assert person.tokens.revoke(other.token.id).revoked_at
    for made in (one, other):
        assert person.tokens.authenticate(made.secret, HERE) is None
    assert studio.last().action == "token.revoked"
    studio.refuses(Conflict, lambda: person.tokens.revoke("one"))
    studio.refuses(NotFound, lambda: person.tokens.revoke("none"))
    studio.refuses(NotFound, lambda: person.tokens.revoke("tok_none"))


def test_a_token_is_good_only_from_its_networks(person):
    """A stolen one is as good as a wrong one elsewhere."""
    made = person.tokens.create(TokenRequest(name="ci", addresses=("192.0.2.0/24",)))
    assert person.tokens.authenticate(made.secret, "192.0.2.9") == made.token
    assert person.tokens.authenticate(made.secret, HERE) is None


def test_a_token_of_another_project_is_not_known(studio, person):
    """Though both lie in one database."""
    made = person.tokens.create(TokenRequest(name="ci"))
    studio.ports = replace(studio.ports, project="foreign")
    foreign = studio.core("pat", kind="human")
    foreign.projects.open("Another")
    assert foreign.tokens.authenticate(made.secret, HERE) is None
    assert foreign.tokens.list() == []


def test_a_name_is_free_again_when_its_token_is_not_in_force(studio, person):
    """Two live tokens of one name would be mistaken for each other."""
    person.tokens.create(TokenRequest(name="ci", lasts_seconds=60))
    studio.refuses(Conflict, lambda: person.tokens.create(TokenRequest(name="ci")))
    studio.clock.pass_by(seconds=60)
    person.tokens.create(TokenRequest(name="ci"))
    studio.refuses(InvalidInput, lambda: person.tokens.revoke("ci"))
    studio.refuses(InvalidInput, lambda: person.tokens.create(TokenRequest(name="")))


def bearer(name="ci", capability="c1", session="", principal=""):
    """Answer who brings a key."""
    attested = Principal(strength="credential", id=principal) if principal else None
    return Bearer(name=name, capability=capability, session=session, principal=attested)


def test_calls_with_one_token_belong_to_one_session(person):
    """Whatever name they give: it is a label."""
    token = person.tokens.create(TokenRequest(name="ci")).token
    plain = person.tokens.identify(bearer(session=token.session))
    assert (plain.agent, plain.session, plain.seat) == ("ci", token.session, token.session)
    zoe = person.tokens.identify(bearer(session=token.session), agent="zoe")
    assert (zoe.agent, zoe.session) == ("zoe", token.session)


def test_a_connection_that_wrote_nothing_yet_keeps_the_id_it_was_given(studio, person):
    """Until somebody else has that; without one it gets one of its own, which nobody can guess."""
    first = person.tokens.identify(bearer())
    assert person.tokens.identify(bearer(), fresh=first.session) == first
    assert person.tokens.identify(bearer()).session != first.session
    studio.core("eve", session=first.session).memory.put("project", "n", 1)
    assert person.tokens.identify(bearer(), fresh=first.session).session != first.session


def test_after_a_session_has_ended_the_next_one_follows(studio, person):
    """Or its token would be of no use any more; the capability finds the last one again."""
    seen, fresh = [], ""
    for _ in range(3):
        found = person.tokens.identify(bearer(), fresh=fresh)
        agent = studio.core("ci", session=found.session, capability="c1", seat=found.seat)
        agent.memory.put("project", "n", len(seen))
        assert person.tokens.identify(bearer(), fresh=found.session) == found
        agent.sessions.hand_over(Handover(action="end", summary="bye"))
        seen.append(found.session)
        fresh = found.session
    assert len(set(seen)) == 3
    assert person.identities.recall("c1", "ses_fresh") == ("ses_fresh", seen[0])
    # What was given before, and was written in since, is no fresh one.
    session, seat = person.identities.recall("c1", seen[0])
    assert session not in {*seen, ""}
    assert seat == seen[0]
    for nobody in ("c2", ""):
        assert person.identities.recall(nobody, "ses_fresh") == ("ses_fresh", "ses_fresh")


def test_a_connection_is_known_again_by_its_capability(studio, person):
    """It goes on in the session that it was in, also in one that followed."""
    agent = studio.core("ci", capability="c1")
    agent.memory.put("project", "n", 1)
    began = agent.caller.actor.session
    assert person.identities.recall("c1") == (began, began)
    agent.sessions.hand_over(Handover(action="end", summary="bye"))
    later = studio.core("ci", session="ses_later", capability="c1", seat=began)
    later.memory.put("project", "n", 2)
    assert person.identities.recall("c1") == ("ses_later", began)


def test_a_session_is_lent_to_nobody_else(studio, person):
    """Its id stands in the ledger for all to read: it takes the principal, or the capability."""
    owner = studio.core("ada", capability="c9")
    owner.memory.put("project", "n", 1)
    session = owner.caller.actor.session
    shared = bearer(principal="cn_agent_ada")
    for asked in (bearer(), bearer(principal="tok_2"), bearer("ada", "c2"), shared):
        studio.refuses(
            Forbidden,
            lambda asked=asked: person.tokens.identify(asked, agent="ada", session=session),
        )
    assert person.tokens.identify(bearer(capability="c9"), session=session).session == session
    unknown = "ses_" + "7" * 26
    studio.refuses(NotFound, lambda: person.tokens.identify(bearer(), session=unknown))


@pytest.mark.parametrize("name", ["a b", "x" * 65])
def test_what_is_no_name_is_refused(studio, person, name):
    """Before anything is looked up."""
    studio.refuses(InvalidInput, lambda: person.tokens.identify(bearer(), agent=name))


def test_nobody_speaks_under_the_name_of_another_token(studio, person):
    """Names of tokens belong to their bearers."""
    person.tokens.create(TokenRequest(name="ops"))
    studio.refuses(Forbidden, lambda: person.tokens.identify(bearer(), agent="ops"))
    assert person.tokens.identify(bearer("ops"), agent="ops").agent == "ops"


def test_tokens_survive_a_rebuild_from_the_ledger(tmp_path):
    """The table is the fold of the entries, as every other."""
    opened = Studio(tmp_path / "store.db")
    person = opened.core("pat", kind="human")
    person.tokens.create(TokenRequest(name="ci", tools=("brief",), addresses=("::1",)))
    person.tokens.revoke("ci")
    opened.check()
    opened.close()


def agent_token(person, name="ada", **more):
    """Make a credential of an agent."""
    return person.tokens.create(TokenRequest(name=name, kind="agent", **more))


def test_a_credential_attests_its_bearer(studio, person):
    """By its id, with its scopes, and where no process is seen too; names of both kinds may be the same."""
    made, other = agent_token(person), agent_token(person, "eve", scopes=("maintain",))
    person.tokens.create(TokenRequest(name="ada"))
    found = studio.core("x").identities.attest(NOBODY, credential=made.secret)
    assert found is not None
    assert found.principal == Principal(strength="credential", id=made.token.id)
    assert made.token.id.startswith("agt_")
    assert (found.name, found.scopes, found.connection) == ("ada", {"read", "write"}, None)
    assert studio.core("x").identities.attest(NOBODY, credential=other.secret).scopes == {
        "read",
        "write",
        "maintain",
    }
    assert person.tokens.list("agent") == [made.token, other.token]
    assert [one.name for one in person.tokens.list()] == ["ada"]


def test_a_credential_that_is_not_in_force_is_refused(studio, person):
    """A revoked one, a wrong one, and a token of a caller over the network."""
    caller = person.tokens.create(TokenRequest(name="ci"))
    revoked = agent_token(person)
    person.tokens.revoke("ada", "agent")
    for secret in (caller.secret, revoked.secret, "cpt_" + "0" * 64, "x"):
        core = studio.core("x")
        fault = studio.refuses(
            Forbidden, lambda core=core, one=secret: core.identities.attest(NOBODY, credential=one)
        )
        assert "not in force" in fault.message
    studio.refuses(NotFound, lambda: person.tokens.revoke("ci", "agent"))


def test_an_ended_credential_is_refused_with_what_renews_it(studio, person):
    """Whoever brings it is the one that it is of: it is told; and as the same principal it goes on."""
    made = agent_token(person, "eve", lasts_seconds=60)
    studio.clock.pass_by(seconds=61)
    identities = studio.core("x").identities
    fault = studio.refuses(Forbidden, lambda: identities.attest(NOBODY, credential=made.secret))
    assert f"'eve' ended at {made.token.expires_at}" in fault.message
    assert "`counterpoint agent renew eve`" in fault.hint
    person.tokens.renew("eve", "agent", lasts_seconds=60)
    found = identities.attest(NOBODY, credential=made.secret)
    assert found.principal == Principal(strength="credential", id=made.token.id)


def test_a_credential_opens_nothing_over_the_network(person):
    """It is for this machine."""
    made = agent_token(person)
    assert person.tokens.authenticate(made.secret, HERE) is None


def test_an_agent_makes_no_credential(studio, person):
    """It would be two with it; who brings what was made by an agent above him is refused."""
    studio.refuses(Forbidden, lambda: agent_token(studio.core("ada")))
    agent = Process(
        pid=7, parent=0, uid=1, session=0, has_terminal=False, started=7, executable="/a"
    )
    peer = Peer((replace(agent, pid=9, parent=7, started=9), agent), "b")
    maker = name_of(agent, peer)
    actor = replace(person.caller.actor, principal=Principal(strength="connection", id=maker))
    made = agent_token(Core(studio.ports, replace(person.caller, actor=actor)))
    core = studio.core("x")
    assert core.identities.attest(peer, credential=made.secret) is not None
    studio.refuses(Forbidden, lambda: core.identities.attest(peer, {maker}, credential=made.secret))


def test_who_has_the_name_of_a_token_by_chance_is_heard_under_his_other_one(person):
    """A subject of OAuth has both; whose name is free keeps it."""
    person.tokens.create(TokenRequest(name="ops"))
    subject = replace(bearer("ops"), spare_name="oauth:ops")
    assert person.tokens.identify(subject).agent == "oauth:ops"
    assert person.tokens.identify(replace(subject, name="dev")).agent == "dev"


def test_behind_what_covers_the_processes_nobody_is_known_and_anybody_may_be(studio):
    """It stands for whoever cannot be seen there."""
    origin = studio.core("x").identities.attest(Peer((), "b", is_covered=True)).origin
    assert (origin.doubt, origin.process, origin.unseen.boot) == ("covered", None, "b")
    assert studio.core("x").identities.attest(Peer((), "b")).origin.unseen is None
