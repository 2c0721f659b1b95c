"""A random walk over all verbs that never leaves what the rules promise."""

from __future__ import annotations

import os
from graphlib import TopologicalSorter
from itertools import product

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import (
    Check,
    Edit,
    Handover,
    Judgment,
    Note,
    ReadyFilter,
    Report,
)
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Area, Dependency, Gate, Item
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.areas import covers
from counterpoint.kernel.errors import CounterpointError
from fakes.studio import Studio

pytestmark = pytest.mark.no_cover

AREAS = ("a", "a/b", "b", "*/c", "**/d")
PATHS = ["/".join(parts) for n in (1, 2, 3) for parts in product("abcd", repeat=n)]
COVERED = {area: {path for path in PATHS if covers(area, path)} for area in AREAS}

flags = st.booleans()
numbers = st.integers(0, 999)
areas = st.lists(st.sampled_from(AREAS), max_size=1).map(tuple)
tasks = st.builds(
    lambda title, found, gates, done, below: Draft(
        kind="task",
        title=title,
        areas=found,
        review=gates == 1,
        checks=(("check",),) if gates == 2 else (),
        done=done and not below,
        children=tuple(Draft(kind="task", title="below") for _ in range(below)),
    ),
    st.sampled_from(["t1", "t2"]),
    areas,
    st.integers(0, 4),
    st.integers(0, 4).map(lambda n: n == 4),
    st.integers(0, 4).map(lambda n: n // 4),
)
phases = st.builds(
    lambda children, review: Draft(
        kind="phase", title="phase", children=tuple(children), review=review
    ),
    st.lists(tasks, max_size=3),
    st.integers(0, 4).map(lambda n: n == 4),
)
plans = st.lists(phases | tasks, min_size=1, max_size=3).map(
    lambda parts: Draft(kind="plan", title="plan", children=tuple(parts))
)


class Walk(RuleBasedStateMachine):
    """Three agents and a person do whatever comes to mind."""

    def __init__(self) -> None:
        super().__init__()
        self.studio = Studio()
        self.cores = [self.studio.core(name) for name in ("ada", "bob", "eve")]
        self.refusals: list[str] = []
        self.person = self.studio.core("pat", kind="human")

    def teardown(self) -> None:
        self.studio.close()

    def attempt(self, call):
        """Do something; a refusal leaves nothing behind."""
        before = self.studio.image()
        try:
            return call()
        except CounterpointError as refusal:
            self.refusals.append(refusal.kind)
        assert self.studio.image() == before
        assert set(self.refusals) <= {"conflict", "invalid", "forbidden", "gate", "not_found"}
        return None

    def items(self) -> list[Item]:
        with self.studio.view() as view:
            return view.select(Item, order="number")

    def pick(self, number: int) -> str:
        found = self.items()
        return found[number % len(found)].id

    def someone(self, number: int):
        return self.cores[number % 3]

    @rule(draft=plans)
    def plan(self, draft):
        if len(self.items()) < 30:
            self.attempt(lambda: self.cores[0].plans.create(draft))

    @precondition(lambda self: self.items())
    @rule(draft=tasks | phases, where=numbers)
    def extend(self, draft, where):
        if len(self.items()) < 30:
            self.attempt(lambda: self.cores[0].plans.create(draft, self.pick(where)))

    @precondition(lambda self: self.items())
    @rule(one=numbers, other=numbers, remove=flags)
    def depend(self, one, other, remove):
        needs = (self.pick(other),)
        edit = Edit(remove_needs=needs) if remove else Edit(add_needs=needs)
        self.attempt(lambda: self.person.items.edit(self.pick(one), edit))

    @precondition(lambda self: self.items())
    @rule(one=numbers, other=numbers, place=st.none() | st.integers(0, 3), top=numbers)
    def reparent(self, one, other, place, top):
        edit = Edit(parent="" if top % 7 == 0 else self.pick(other), position=place)
        self.attempt(lambda: self.person.items.edit(self.pick(one), edit))

    @precondition(lambda self: self.items())
    @rule(
        one=numbers,
        who=numbers,
        status=st.sampled_from(["open", "active", "skipped", "cancelled", "done", "failed"]),
    )
    def move(self, one, who, status):
        item = self.cores[0].items.get(self.pick(one))
        if item.is_workable or status in {"skipped", "cancelled"}:
            self.attempt(lambda: self.someone(who).items.edit(item.id, Edit(status=status)))

    @precondition(lambda self: self.items())
    @rule(one=numbers, who=numbers, following=flags)
    def start(self, one, who, following):
        core = self.someone(who)
        if following:
            self.attempt(lambda: core.claims.take_next(ReadyFilter(), 20))
        else:
            self.attempt(lambda: core.claims.start(self.pick(one), 20))

    @precondition(lambda self: any(core.overview.held() for core in self.cores))
    @rule(
        who=numbers,
        which=numbers,
        outcome=st.sampled_from(["done", "done", "done", "partial", "failed", "skipped"]),
    )
    def finish(self, who, which, outcome):
        core = self.someone(who)
        held = core.overview.held()
        if held:
            claim = held[which % len(held)].claim
            report = Report(outcome=outcome, summary=f"number {which}")
            self.attempt(lambda: core.tasks.finish(claim.item, claim.token, report))

    @precondition(lambda self: self.items())
    @rule(one=numbers)
    def block(self, one):
        note = Note(kind="blocker", body="in the way", item=self.pick(one))
        self.attempt(lambda: self.person.journal.append(note))

    @rule(which=numbers)
    def resolve(self, which):
        with self.studio.view() as view:
            found = view.select(Record)
        if found:
            record = found[which % len(found)].id
            self.attempt(lambda: self.person.journal.resolve(record, "away"))

    @precondition(lambda self: self.items())
    @rule(one=numbers, who=numbers, passes=flags)
    def verify(self, one, who, passes):
        self.studio.tree.exits["check"] = int(not passes)
        self.attempt(lambda: self.someone(who).gates.verify(Check(item=self.pick(one))))

    @precondition(lambda self: self.items())
    @rule(one=numbers, approves=flags, who=numbers)
    def review(self, one, approves, who):
        item = self.cores[0].items.get(self.pick(one))
        if approves or item.is_workable:
            judgment = Judgment(approves=approves, reason="so")
            self.attempt(lambda: self.someone(who).reviews.review(item.id, judgment))

    @precondition(lambda self: self.items())
    @rule(one=numbers, which=numbers, waive=flags)
    def regate(self, one, which, waive):
        edit = Edit(waive=(("review", "check-1")[which % 2],), reason="so")
        if not waive:
            edit = Edit(checks=(("check",), ("another",))[: which % 3])
        self.attempt(lambda: self.person.items.edit(self.pick(one), edit))

    @precondition(lambda self: self.items())
    @rule(one=numbers, closed=flags)
    def hold_start(self, one, closed):
        """Put or move a gate that holds the start, as a dialect would."""
        item, context = self.pick(one), self.studio.context(self.person)
        with recording(context, "gate.moved", item) as change:
            found = change.get(Item, item)
            old = change.find(Gate, item, "first")
            status = "closed" if closed else "met"
            if old is None:
                change.put(
                    Gate(
                        project=found.project, item=item, name="first", kind="check",
                        holds="start", argv=("check",), status=status, proof="",
                        reason=Prose(""), updated_at=change.now,
                    )
                )  # fmt: skip
                shift(change, found, int(closed))
            elif old.status not in (status, "waived"):
                change.put(old.moved(status, change.now))
                shift(change, found, 1 if closed else -1)

    @rule(
        who=numbers, other=numbers, action=st.sampled_from(["pause", "resume", "continue", "end"])
    )
    def hand_over(self, who, other, action):
        core = self.someone(who)
        session = self.someone(other).caller.actor.session if action == "continue" else ""
        self.attempt(lambda: core.sessions.hand_over(Handover(action=action, session=session)))
        place = who % 3
        if action == "end":
            self.cores[place] = self.studio.core(core.caller.actor.name)

    @rule(minutes=st.sampled_from([1, 5, 25]))
    def pass_time(self, minutes):
        self.studio.clock.pass_by(minutes=minutes)

    @invariant()
    def counters_fold_and_chain_hold(self):
        self.studio.check()

    @invariant()
    def an_order_of_work_exists(self):
        with self.studio.view() as view:
            waits = {}
            for item in view.select(Item):
                waits.setdefault((item.id, "end"), set()).add((item.id, "begin"))
                if item.parent:
                    waits.setdefault((item.parent, "end"), set()).add((item.id, "end"))
                    waits.setdefault((item.id, "begin"), set()).add((item.parent, "begin"))
            for edge in view.select(Dependency):
                waits.setdefault((edge.item, "begin"), set()).add((edge.needs, "end"))
        TopologicalSorter(waits).prepare()

    @invariant()
    def what_is_offered_is_what_is_ready(self):
        now = self.studio.clock.now()
        with self.studio.view() as view:
            items = {item.id: item for item in view.select(Item)}
            claims = {claim.item: claim for claim in view.select(Claim)}
            blocked = {
                edge.item
                for edge in view.select(Dependency)
                if items[edge.needs].category != "done"
            }
            blocked |= {gate.item for gate in view.select(Gate, holds="start", status="closed")}
            blocked |= {record.item for record in view.select(Record, status="open")}
            covered: dict[str, set[str]] = {}
            for area in view.select(Area):
                covered.setdefault(area.item, set()).update(COVERED[area.pattern])
        assert all(items[i].category == "active" for i, c in claims.items() if c.state == "live")
        parents = {item.parent for item in items.values() if not item.is_closed}
        live = {
            i: c.session for i, c in claims.items() if c.state == "live" and now < c.leased_until
        }

        def is_free(item: Item) -> bool:
            return item.id not in blocked and (not item.parent or is_free(items[item.parent]))

        for core in self.cores:
            session = core.caller.actor.session
            busy = {i: covered.get(i, set()) for i, owner in live.items() if owner != session}
            expected = {
                item.id
                for item in items.values()
                if item.kind in {"task", "issue"}
                and item.category in {"open", "active"}
                and item.id not in live
                and item.id not in parents
                and is_free(item)
                and all(
                    i == item.id or not covered.get(item.id, set()) & b for i, b in busy.items()
                )
            }
            offers = [offer.item for offer in core.ready.offers(ReadyFilter(), 100)]
            assert {item.id for item in offers} == expected
            assert offers == sorted(offers, key=lambda item: (item.priority, item.number))
            own = {i for i, owner in live.items() if owner == session}
            judged = {i for i, item in items.items() if core.ready.judge(item).is_ready}
            assert judged - own == expected

    @invariant()
    def parts_close_exactly_when_they_should(self):
        with self.studio.view() as view:
            items = view.select(Item)
            held = {gate.item for gate in view.select(Gate, holds="finish", status="closed")}
        for part in items:
            below = [item for item in items if item.parent == part.id]
            if part.is_closed:
                assert all(item.is_closed for item in below)
            elif not part.is_workable:
                is_over = all(item.is_closed and item.status != "failed" for item in below)
                is_done = any(item.category == "done" for item in below)
                assert not (is_over and is_done and part.id not in held)
            if part.category == "open" and not part.is_workable:
                assert all(item.category != "active" for item in below)


Walk.TestCase.settings = settings(
    max_examples=30 if os.environ.get("COUNTERPOINT_LONG") == "1" else 6,
    stateful_step_count=30,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
# The long form takes a minute on a quiet machine.
test_no_walk_over_the_verbs_breaks_a_promise = pytest.mark.timeout(600)(Walk.TestCase)
