"""Who works, judges and loosens, held to sets of who did what: random histories on both kinds of store."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.filters import Edit, Handover, Judgment, Report
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.journal import Outcome, Submission
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.recording.context import Caller
from counterpoint.kernel.errors import CounterpointError, Forbidden
from fakes.studio import ROOT, Studio

pytestmark = pytest.mark.no_cover

PLAN = """# Plan
- [ ] Free
- [ ] Checked
  - verify: false
## Phase
- review: yes
- [ ] Plain
- [ ] Gated
  - verify: true
  - review: yes
- [ ] Held
  - approval: yes
"""
AGENTS = ("ada", "bob", "cyd")
MAINTAINER = "cyd"
PERSON = "pat"
agents = st.sampled_from(AGENTS)
anybody = st.sampled_from((*AGENTS, PERSON))
numbers = st.integers(0, 99)
flags = st.booleans()


class Trust(RuleBasedStateMachine):
    """Three agents of one name, of whom one maintains, and a person.

    The reference: two sets for each item, and who took which session from whom.
    """

    folder: tempfile.TemporaryDirectory[str] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.studio = self.open()
        self.cores = {name: self.connect(name) for name in (*AGENTS, PERSON)}
        self.worked: dict[str, set[str]] = defaultdict(set)
        self.loosened: dict[str, set[str]] = defaultdict(set)
        self.taken: set[tuple[str, str, str]] = set()

    def open(self) -> Studio:
        return Studio()

    def teardown(self) -> None:
        self.studio.check()
        self.studio.close()
        if self.folder is not None:
            self.folder.cleanup()

    def connect(self, name: str) -> Core:
        """A fresh session of a principal; what agents call themselves is always the same."""
        kind = "human" if name == PERSON else "agent"
        actor = Actor(
            kind=kind,
            name=name if kind == "human" else "claude-code",
            session="" if kind == "human" else self.studio.mint.mint("ses"),
            principal=Principal(strength="connection", id=name),
        )
        scopes = frozenset({"maintain"} if name == MAINTAINER else ())
        return Core(self.studio.ports, Caller(actor=actor, root=ROOT, scopes=scopes))

    @initialize(who=agents)
    def plan(self, who: str) -> None:
        self.cores[who].plans.create(self.cores[who].plans.read(PLAN))

    # ── what there is ──

    def all(self, noun: Any, **only: Any) -> list[Any]:
        with self.studio.view() as view:
            return view.select(noun, **only)

    def item(self, number: int, *, workable: bool = True) -> Item:
        found = [one for one in self.all(Item) if one.is_workable or not workable]
        return found[number % len(found)]

    def line(self, item: str) -> list[str]:
        """An item and all above it."""
        above = {one.id: one.parent for one in self.all(Item)}
        found: list[str] = []
        while item:
            found.append(item)
            item = above[item]
        return found

    def closed(self, item: str, **only: Any) -> set[tuple[str, str]]:
        return {
            (gate.item, gate.name) for gate in self.all(Gate, item=item, status="closed", **only)
        }

    # ── what the rules say, in words of sets ──

    def may_take(self, who: str, item: str) -> bool:
        return not any(who in self.loosened[one] for one in self.line(item))

    def may_loosen(self, who: str, item: str) -> bool:
        is_entitled = who in {PERSON, MAINTAINER}
        return not self.has_part(who, item) and (is_entitled or not self.worked[item])

    def has_part(self, who: str, item: str) -> bool:
        """Who worked on it, or took the session in which somebody did; a whole has no session of its own."""
        marks = {
            one.session
            for noun in (Claim, Outcome, Submission)
            for one in self.all(noun, item=item)
        }
        (found,) = self.all(Item, id=item)
        taken = [(session, giver) for taker, session, giver in self.taken if taker == who]
        return who in self.worked[item] or any(
            session in marks or (not found.is_workable and giver in self.worked[item])
            for session, giver in taken
        )

    def works(self, who: str, item: str) -> None:
        for one in self.line(item):
            self.worked[one].add(who)

    def loosens(self, who: str, item: str) -> None:
        if who != PERSON:
            self.loosened[item].add(who)

    def attempt(self, call: Any, *, may: bool) -> bool:
        """Do something; Forbidden if and only if the sets say so, as far as nothing else refuses it."""
        before = self.size()
        try:
            call()
        except Forbidden:
            assert not may
        except CounterpointError:
            pass
        else:
            assert may
            return True
        assert self.size() == before
        return False

    def size(self) -> int:
        with self.studio.view() as view:
            return view.head().size

    # ── what anybody does ──

    @rule(who=agents, number=numbers)
    def claim(self, who: str, number: int) -> None:
        item = self.item(number).id
        session = self.cores[who].caller.actor.session
        others = [one for one in self.all(Claim, item=item, state="live") if one.session != session]
        if others and who == MAINTAINER:
            return
        if self.attempt(lambda: self.cores[who].claims.start(item), may=self.may_take(who, item)):
            self.works(who, item)

    @rule(number=numbers, outcome=st.sampled_from(["done", "partial", "failed", "skipped"]))
    def finish(self, number: int, outcome: Any) -> None:
        live = self.all(Claim, state="live")
        if not live:
            return
        claim = live[number % len(live)]
        who = next(
            (n for n, c in self.cores.items() if c.caller.actor.session == claim.session), ""
        )
        if who:
            report = Report(outcome=outcome, summary="so")
            tasks = self.cores[who].tasks
            self.attempt(lambda: tasks.finish(claim.item, claim.token, report), may=True)

    @rule(giver=agents, taker=agents)
    def hand_over(self, giver: str, taker: str) -> None:
        session = self.cores[giver].caller.actor.session
        held = [one.item for one in self.all(Claim, state="live", session=session)]
        if not held or taker == giver:
            return
        self.cores[giver].sessions.hand_over(Handover(action="pause", summary="for another"))
        self.cores[giver] = self.connect(giver)
        heir = self.connect(taker)
        asked = Handover(action="continue", session=session)
        may = all(self.may_take(taker, item) for item in held)
        if self.attempt(lambda: heir.sessions.hand_over(asked), may=may):
            self.cores[taker] = heir
            self.taken.add((taker, session, giver))
            for item in held:
                self.works(taker, item)

    @rule(number=numbers)
    def free(self, number: int) -> None:
        item = self.item(number).id
        self.attempt(lambda: self.cores[PERSON].claims.release(item), may=True)

    @rule(who=anybody, number=numbers, status=st.sampled_from(["open", "active", "review", "done"]))
    def word(self, who: str, number: int, status: str) -> None:
        item = self.item(number)
        is_begun = item.category == "open" and status in {"active", "review", "done"}
        is_judged = item.category == "review" and status == "done"
        may = not is_begun or self.may_take(who, item.id)
        if is_judged and not self.all(Gate, item=item.id, kind="review", status=("met", "waived")):
            may = not self.has_part(who, item.id)
        edit = Edit(status=status)
        done = self.attempt(lambda: self.cores[who].items.edit(item.id, edit), may=may)
        if (
            done
            and item.status != status
            and item.category in {"open", "active"}
            and status != "open"
        ):
            self.works(who, item.id)

    @rule(who=anybody, number=numbers)
    def skip(self, who: str, number: int) -> None:
        item = self.item(number)
        if item.status == "skipped":
            return
        gates = self.closed(item.id, holds="finish")
        may = not gates or self.may_loosen(who, item.id)
        edit = Edit(status="skipped")
        if self.attempt(lambda: self.cores[who].items.edit(item.id, edit), may=may):
            if gates:
                self.loosens(who, item.id)
            self.works(who, item.id)

    @rule(who=anybody, number=numbers, drops=flags)
    def loosen(self, who: str, number: int, drops: bool) -> None:
        item = self.item(number, workable=False).id
        gates = self.all(Gate, item=item, kind="check") if drops else self.all(Gate, item=item)
        if gates:
            edit = Edit(checks=()) if drops else Edit(waive=(gates[0].name,), reason="so")
            may = self.may_loosen(who, item)
            if self.attempt(lambda: self.cores[who].items.edit(item, edit), may=may):
                self.loosens(who, item)

    @rule(who=anybody, number=numbers, approves=flags)
    def judge(self, who: str, number: int, approves: bool) -> None:
        self.say(who, self.item(number, workable=False).id, approves=approves)

    @rule(who=anybody)
    def let_begin(self, who: str) -> None:
        for gate in self.all(Gate, kind="review", holds="start", status="closed"):
            self.say(who, gate.item, approves=True)

    def say(self, who: str, item: str, *, approves: bool) -> None:
        starts = self.closed(item, kind="review", holds="start")
        judgment = Judgment(approves=approves, reason="so")
        may = not self.has_part(who, item)
        done = self.attempt(lambda: self.cores[who].reviews.review(item, judgment), may=may)
        if done and approves and starts:
            self.loosens(who, item)

    @rule(who=anybody, number=numbers, where=numbers)
    def move(self, who: str, number: int, where: int) -> None:
        item = self.item(number)
        places = [one.id for one in self.all(Item) if not one.is_workable]
        parent = places[where % len(places)]
        left = {gate for one in self.line(item.parent) for gate in self.closed(one)}
        left -= {gate for one in self.line(parent) for gate in self.closed(one)}
        may = not left or self.may_loosen(who, item.id)
        edit = Edit(parent=parent)
        before = set(self.line(item.parent))
        if self.attempt(lambda: self.cores[who].items.edit(item.id, edit), may=may):
            if left:
                self.loosens(who, item.id)
            for one in set(self.worked[item.id]):
                self.works(one, item.id)
            for one in before - set(self.line(item.id)):
                self.loosened[item.id] |= self.loosened[one]

    # ── what always holds ──

    @invariant()
    def parts_are_those_of_the_reference(self) -> None:
        found: dict[str, set[tuple[str, str]]] = {"worked": set(), "loosened": set()}
        for part in self.all(Contribution):
            found[part.how].add((part.item, part.principal))
        for how, sets in (("worked", self.worked), ("loosened", self.loosened)):
            assert found[how] == {(item, who) for item, names in sets.items() for who in names}


class TrustOnDisk(Trust):
    """The same in a file."""

    def open(self) -> Studio:
        self.folder = tempfile.TemporaryDirectory()
        return Studio(Path(self.folder.name) / "ledger.db")


def bounded(examples: int) -> settings:
    """Answer bounds that keep it short."""
    return settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
        phases=(Phase.explicit, Phase.generate),
    )


Trust.TestCase.settings = bounded(25)
TrustOnDisk.TestCase.settings = bounded(8)
test_nobody_judges_or_loosens_his_own_work = Trust.TestCase
test_nobody_judges_or_loosens_his_own_work_on_disk = TrustOnDisk.TestCase
