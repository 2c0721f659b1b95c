"""Who works, judges, loosens and holds, held to sets of who did what: random histories on both kinds of store."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from counterpoint.core.model.access import Independence, TokenRequest
from counterpoint.core.model.filters import Edit, Handover, Judgment, Report
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Gate, Item
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    ClaimLost,
    Conflict,
    Forbidden,
    GateClosed,
    IllegalMove,
    InvalidInput,
    NotReady,
)
from fakes.standing import AGENTS, ENTITLED, GRACE, ORDER, PERSON, WINDOWS, Reference
from fakes.studio import Studio

IS_LONG = os.environ.get("COUNTERPOINT_LONG") == "1"
pytestmark = [pytest.mark.no_cover, *([pytest.mark.timeout(1800)] if IS_LONG else [])]

agents = st.sampled_from(AGENTS)
workers = st.sampled_from((*AGENTS, PERSON))
anybody = st.sampled_from(tuple(WINDOWS))
numbers = st.integers(0, 99)
flags = st.booleans()


class Trust(Reference):
    """What everybody does, and why it is refused."""

    # ── who holds what ──

    @rule(who=agents, number=numbers)
    def claim(self, who: str, number: int) -> None:
        who = self.cast[who]
        core, item = self.core(who), self.item(number)
        session, claim = core.caller.actor.session, self.claim_of(item.id)
        is_live = claim is not None and claim.is_live(self.now())
        is_other = claim is not None and claim.session != session
        is_ready = item.category in {"open", "active"} and not item.blockers
        reasons = {
            NotReady: not is_live and not is_ready,
            AlreadyClaimed: claim is not None
            and is_other
            and not self.may_have(who, claim.session, claim.leased_until, is_named=False),
            Forbidden: not self.may_take(who, item.id),
        }
        if self.attempt(who, lambda: core.claims.start(item.id), reasons):
            self.works(who, item.id)
            if claim is not None and is_other:
                self.takes(who, claim.session)

    @rule(
        who=agents,
        number=numbers,
        is_own=flags,
        outcome=st.sampled_from(["done", "partial", "failed", "skipped"]),
    )
    def finish(self, who: str, number: int, is_own: bool, outcome: Any) -> None:
        who = self.cast[who]
        live = self.all(Claim, state="live")
        if not live:
            return
        claim = live[number % len(live)]
        who = self.owner[claim.session] if is_own else who
        core = self.core(who)
        gates = self.closed(claim.item, holds="finish")
        asked = {"done": {"check", "artifact"}, "skipped": {"check", "artifact", "review"}}
        reasons = {
            ClaimLost: claim.session != core.caller.actor.session,
            GateClosed: any(kind in asked.get(outcome, ()) for _, _, kind in gates),
        }
        report = Report(outcome=outcome, summary="so")
        if self.attempt(who, lambda: core.tasks.finish(claim.item, claim.token, report), reasons):
            self.works(who, claim.item)

    @rule(who=agents, is_end=flags)
    def hand_over(self, who: str, is_end: bool) -> None:
        who = self.cast[who]
        core = self.core(who)
        handover = Handover(action="end" if is_end else "pause", summary="for another")
        self.attempt(who, lambda: core.sessions.hand_over(handover), {})

    @rule(who=agents, number=numbers)
    def carry_on(self, who: str, number: int) -> None:
        who = self.cast[who]
        core, found = self.core(who), self.held_session(number)
        if found is None:
            return
        held = self.all(Claim, state="live", session=found.id)
        until = max(claim.leased_until for claim in held)
        own = self.all(Session, id=core.caller.actor.session)
        may = self.may_have(who, found.id, until, is_named=True)
        reasons = {
            InvalidInput: bool(own) and own[0].id == found.id,
            Conflict: bool(own) and own[0].continues not in {"", found.id},
            AlreadyClaimed: not may,
            Forbidden: not all(self.may_take(who, claim.item) for claim in held),
        }
        asked = Handover(action="continue", session=found.id)
        if self.attempt(who, lambda: core.sessions.hand_over(asked), reasons):
            self.takes(who, found.id)
            for claim in held:
                self.works(who, claim.item)

    def held_session(self, number: int) -> Session | None:
        found = sorted({claim.session for claim in self.all(Claim, state="live")})
        return self.all(Session, id=found[number % len(found)])[0] if found else None

    @rule(who=workers, number=numbers)
    def abandon(self, who: str, number: int) -> None:
        who = self.cast[who]
        core, found = self.core(who), self.held_session(number)
        if found is not None:
            until = max(one.leased_until for one in self.all(Claim, state="live", session=found.id))
            is_his = self.is_his(who, found.id) or self.was_his(who, found.id)
            reasons = {
                Forbidden: not (is_his or self.may_have(who, found.id, until, is_named=True)),
                # Who may take up what another left may not throw it away.
                AlreadyClaimed: not is_his and who not in ENTITLED and self.now() < until,
            }
            self.attempt(who, lambda: core.sessions.abandon(found.id, "lost"), reasons)

    @rule(who=agents, seconds=st.sampled_from([0, GRACE - 1, GRACE]))
    def leave(self, who: str, seconds: int) -> None:
        who = self.cast[who]
        self.gone.add(who)
        self.hall.ended[self.seats[who].caller.own_seat] = seconds

    @rule(minutes=st.sampled_from([10, 31]))
    def wait(self, minutes: int) -> None:
        self.studio.clock.pass_by(minutes=minutes)
        for seat in self.hall.ended:
            self.hall.ended[seat] += minutes * 60

    @rule(who=anybody, number=numbers)
    def free(self, who: str, number: int) -> None:
        who = self.cast[who]
        core, item = self.core(who), self.item(number).id
        reasons = {Forbidden: who not in ENTITLED, Conflict: self.claim_of(item) is None}
        self.attempt(who, lambda: core.claims.release(item), reasons)

    # ── what anybody does ──

    @rule(who=workers, number=numbers, status=st.sampled_from(["open", "active", "review", "done"]))
    def word(self, who: str, number: int, status: str) -> None:
        who = self.cast[who]
        self.say_state(who, self.item(number), status)

    @rule(who=anybody, number=numbers)
    def reopen(self, who: str, number: int) -> None:
        who = self.cast[who]
        self.say_state(who, self.item(number), "open")

    def say_state(self, who: str, item: Item, status: str) -> None:
        if item.status == status:
            return
        core, way = self.core(who), (item.category, status)
        is_judged = self.all(
            Gate, item=item.id, kind="review", status=("met", "waived"), holds="finish"
        )
        is_judging = way == ("review", "done") and not is_judged
        reasons = {
            IllegalMove: not item.states.allows(item.status, status),
            AlreadyClaimed: self.is_held(core, item.id),
            GateClosed: status == "done" and bool(self.closed(item.id, holds="finish")),
            Forbidden: (way == ("open", "active") and not self.may_take(who, item.id))
            or (is_judging and not self.may_judge(who, item.id, counts=True)),
        }
        edit = Edit(status=status)
        done = self.attempt(who, lambda: core.items.edit(item.id, edit), reasons)
        if done and item.category in {"open", "active"} and status != "open":
            self.works(who, item.id)

    @rule(who=workers, number=numbers)
    def skip(self, who: str, number: int) -> None:
        who = self.cast[who]
        core, item = self.core(who), self.item(number)
        if item.status == "skipped":
            return
        gates = self.closed(item.id, holds="finish")
        reasons = {
            IllegalMove: not item.states.allows(item.status, "skipped"),
            AlreadyClaimed: self.is_held(core, item.id),
            Forbidden: bool(gates) and not self.may_loosen(who, item.id),
            GateClosed: self.policy == "person" and any(kind == "review" for *_, kind in gates),
        }
        edit = Edit(status="skipped")
        if self.attempt(who, lambda: core.items.edit(item.id, edit), reasons):
            if gates:
                self.loosens(who, item.id)
            self.works(who, item.id)

    @rule(who=anybody, number=numbers, drops=flags)
    def loosen(self, who: str, number: int, drops: bool) -> None:
        who = self.cast[who]
        core, item = self.core(who), self.item(number, workable=False).id
        gates = self.all(Gate, item=item, kind="check") if drops else self.all(Gate, item=item)
        if gates:
            edit = Edit(checks=()) if drops else Edit(waive=(gates[0].name,), reason="so")
            reasons = {
                Forbidden: not self.may_loosen(who, item, opens=not drops),
                IllegalMove: not drops and gates[0].status == "met",
            }
            if self.attempt(who, lambda: core.items.edit(item, edit), reasons):
                self.loosens(who, item)

    @rule(who=anybody, number=numbers, approves=flags)
    def judge(self, who: str, number: int, approves: bool) -> None:
        who = self.cast[who]
        self.say(who, self.item(number, workable=False), approves=approves)

    @rule(who=anybody)
    def let_begin(self, who: str) -> None:
        who = self.cast[who]
        for gate in self.all(Gate, kind="review", holds="start", status="closed"):
            self.say(who, self.all(Item, id=gate.item)[0], approves=True)

    def say(self, who: str, item: Item, *, approves: bool) -> None:
        core = self.core(who)
        starts = self.closed(item.id, kind="review", holds="start")
        reviews = self.all(Gate, item=item.id, kind="review", holds="finish")
        is_open_below = any(not one.is_closed for one in self.all(Item, parent=item.id))
        is_early = is_open_below or (item.is_workable and item.category != "review")
        waits = any(gate.status == "closed" for gate in reviews)
        reasons = {
            Forbidden: not self.may_judge(who, item.id, counts=approves),
            NotReady: item.category == "open" and not (starts or self.worked[item.id]),
            Conflict: approves and (item.is_closed or (not starts and waits and is_early)),
        }
        judgment = Judgment(approves=approves, reason="so")
        done = self.attempt(who, lambda: core.reviews.review(item.id, judgment), reasons)
        if done and approves and starts:
            self.loosens(who, item.id)

    @rule(who=workers, number=numbers, where=numbers)
    def move(self, who: str, number: int, where: int) -> None:
        who = self.cast[who]
        core, item = self.core(who), self.item(number)
        places = [one for one in self.all(Item) if not one.is_workable]
        parent = places[where % len(places)]
        left = {gate for one in self.line(item.parent) for gate in self.closed(one)}
        left -= {gate for one in self.line(parent.id) for gate in self.closed(one)}
        reasons = {
            Forbidden: bool(left) and not self.may_loosen(who, item.id),
            Conflict: parent.id != item.parent and parent.is_closed and not item.is_closed,
        }
        before = set(self.line(item.parent))
        if self.attempt(who, lambda: core.items.edit(item.id, Edit(parent=parent.id)), reasons):
            if left:
                self.loosens(who, item.id)
            for here in self.line(item.id):
                self.worked[here] |= self.worked[item.id]
                self.hosted[here] |= self.hosted[item.id]
            for one in before - set(self.line(item.id)):
                self.loosened[item.id] |= self.loosened[one]

    # ── what people decide ──

    @rule(who=st.just(PERSON) | anybody, policy=st.sampled_from((*ORDER, "declared")))
    def ask(self, who: str, policy: Independence) -> None:
        who = self.cast[who]
        core = self.core(who)
        may = who == PERSON and self.policy != "person"
        reasons = {Forbidden: policy != self.policy and not may}
        if self.attempt(who, lambda: core.projects.ask_of_reviews(policy), reasons):
            self.policy = policy

    @rule(who=anybody)
    def make_credential(self, who: str) -> None:
        who = self.cast[who]
        core = self.core(who)
        self.made += 1
        request = TokenRequest(name=f"agent{self.made}", kind="agent")
        self.attempt(who, lambda: core.tokens.create(request), {Forbidden: who != PERSON})

    # ── what always holds ──

    @invariant()
    def parts_are_those_of_the_reference(self) -> None:
        found: dict[str, set[tuple[str, str]]] = {
            "worked": set(),
            "loosened": set(),
            "hosted": set(),
        }
        # Of a session it is said too through which processes it was written in.
        for part in self.all(Contribution):
            if not part.item.startswith("ses_"):
                found[part.how].add((part.item, part.principal))
        for how, known in found.items():
            sets: dict[str, set[str]] = getattr(self, how)
            assert known == {(item, who) for item, names in sets.items() for who in names}


class TrustOnDisk(Trust):
    """The same in a file."""

    def open(self) -> Studio:
        self.folder = tempfile.TemporaryDirectory()
        return Studio(Path(self.folder.name) / "ledger.db")


def bounded(examples: int) -> settings:
    """Answer bounds that keep it short, but for the long form."""
    return settings(
        max_examples=examples * (40 if IS_LONG else 1),
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
        phases=(Phase.explicit, Phase.generate),
    )


Trust.TestCase.settings = bounded(25)
TrustOnDisk.TestCase.settings = bounded(8)
test_nobody_judges_or_loosens_his_own_work = Trust.TestCase
test_nobody_judges_or_loosens_his_own_work_on_disk = TrustOnDisk.TestCase
