"""A clock that is set back and ahead, by milliseconds or years, while agents work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from counterpoint.core.model.sessions import DEFAULT_LEASE_SECONDS as LEASE
from counterpoint.core.rules.access import capability_of
from counterpoint.kernel.clock import TOLERANCE_MS
from counterpoint.kernel.errors import AlreadyClaimed, NotReady
from fakes.studio import Studio

pytestmark = pytest.mark.faults

YEAR = 365 * 86400
MOST = LEASE + TOLERANCE_MS // 1000
JUMPS = st.sampled_from((0.001, 1, 59, 61, 600, LEASE, 86400, YEAR, 10 * YEAR))
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("jump"), JUMPS | JUMPS.map(lambda seconds: -seconds)),
        st.tuples(st.just("pass"), st.sampled_from((0.001, 1, 60, 900, 3600))),
        st.tuples(st.just("start"), st.sampled_from(("ada", "bob"))),
        st.tuples(st.just("note"), st.sampled_from(("ada", "bob"))),
    ),
    max_size=12,
)


def agent(studio, name):
    """Answer an agent that only brings its own secret."""
    return studio.core(name, session=f"ses_{name}", capability=capability_of("secret", name))


def note(core):
    """Write something down."""
    return core.journal.append(Note(kind="comment", body="so"))


def asking(studio, core, item):
    """Answer the token that somebody gets who asks every minute, for as long as a lease can last."""
    for _ in range(MOST // 60):
        try:
            return core.claims.start(item).claim.token
        except (AlreadyClaimed, NotReady):
            studio.clock.pass_by(seconds=60)
    return core.claims.start(item).claim.token


@given(MOVES)
def test_no_jump_of_a_clock_refuses_a_write_turns_the_ledger_back_or_holds_a_task_for_longer_than_a_lease(
    moves,
):
    """Whoever holds it at the end, one who asks every minute has it before a lease and the tolerance have passed."""
    studio = Studio()
    ada, bob, eve = (agent(studio, name) for name in ("ada", "bob", "eve"))
    item = ada.plans.create(Draft(kind="task", title="one")).root.id
    agents, tokens = {"ada": ada, "bob": bob}, [0]
    for move, by in moves:
        if move in {"jump", "pass"}:
            studio.clock.pass_by(seconds=by)
        elif move == "note":
            note(agents[by])
        else:
            try:
                tokens.append(agents[by].claims.start(item).claim.token)
            except (AlreadyClaimed, NotReady):
                assert agents[by].overview.state().live
    assert asking(studio, eve, item) > max(tokens)
    assert tokens == sorted(tokens)
    times = [entry.time for entry in eve.audit.log(limit=100)]
    assert times == sorted(times, reverse=True)
    assert eve.audit.verify().sound
    studio.close()


def test_a_clock_that_ran_ahead_once_is_told_and_keeps_nobody_out(studio, ada):
    """Entries get the time of the last one, and say what the clock says; the state says by how much, and since which entry."""
    note(ada)
    before = ada.overview.state()
    assert before.ahead is None
    studio.clock.pass_by(seconds=YEAR)
    ahead = note(ada).created_at
    studio.clock.pass_by(seconds=-YEAR)
    assert note(ada).created_at == ahead
    [entry] = ada.audit.log(limit=1)
    assert (entry.time, entry.facts["clock"]) == (ahead, studio.clock.now())
    told = ada.overview.state().ahead
    assert told is not None
    assert (told.seconds, told.since, told.after) == (
        YEAR, before.ledger_size, before.last_entry_at
    )  # fmt: skip


def test_what_was_stamped_by_a_clock_that_was_ahead_is_stamped_anew_by_its_holders_next_call(
    studio,
):
    """Until then others may take it up: nobody can tell how long it would have run."""
    ada, bob = agent(studio, "ada"), agent(studio, "bob")
    item = ada.plans.create(Draft(kind="task", title="one")).root.id
    studio.clock.pass_by(seconds=YEAR)
    token = ada.claims.start(item).claim.token
    ada.claims.keep()
    studio.clock.pass_by(seconds=-YEAR)
    ada.claims.keep()
    with pytest.raises((AlreadyClaimed, NotReady)):
        bob.claims.start(item)
    [held] = ada.overview.held()
    assert held.claim.token == token
    assert held.claim.ends(studio.clock.now()) == held.claim.leased_until
