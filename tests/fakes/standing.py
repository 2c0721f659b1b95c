"""The small reference of who may work, judge, loosen and hold, which random histories are held to.

Four sets for each item or session, and what may be, said by them alone; no rule of trust of the product is asked.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, Independence, Principal, Strength
from counterpoint.core.model.filters import Note
from counterpoint.core.model.identity import Connection, Doubt, Origin
from counterpoint.core.model.journal import Outcome, Submission
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.ports.host import OnlyHost
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import CounterpointError
from fakes.studio import PROJECT, ROOT, Studio

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
CAST: Final = 3
"""How many agents a history is of."""
GRACE: Final = 60
ORDER: Final[tuple[Independence, ...]] = ("declared", "attested", "person")
Reasons = Mapping[Any, bool]
"""Kinds of refusals, and whether there is a reason for each."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """Somebody who calls.

    process: what the kernel attests; empty: nothing. credential: what it brings, and so is. began: when its process
    did. left_at: when what takes up orphans got it; 0: never. is_person: whether it says to be one.
    """

    process: str = ""
    credential: str = ""
    name: str = "claude-code"
    began: int = 0
    left_at: int = 0
    is_person: bool = False
    doubt: Doubt | None = None
    scopes: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """As whom it works."""
        return self.credential or self.process or f"?{self.name}"


WINDOWS: Final[dict[str, Window]] = {
    "ada": Window(process="cn_ada", began=10),
    "second": Window(process="cn_ada", began=10),  # of the same client
    "bob": Window(process="cn_bob", began=20),
    "cyd": Window(process="cn_cyd", began=30, scopes=frozenset({"maintain"})),
    "dan": Window(process="cn_host", credential="agt_dan", began=40),
    "eve": Window(process="cn_host", credential="agt_eve", began=40),
    "host": Window(process="cn_host", began=40),
    "fay": Window(process="cn_fay", name="other", began=16, left_at=15),
    "gus": Window(name="gus"),
    "hal": Window(credential="agt_hal"),  # whose process nothing attests
    "pat": Window(process="cn_pat", name="pat", began=1, is_person=True),
    # These three say to be pat: ada's own shell, what some agent left behind, and what a server has started.
    "shell": Window(process="cn_ada", name="pat", began=10, is_person=True),
    "stray": Window(process="cn_stray", name="pat", began=60, left_at=50, is_person=True),
    "served": Window(name="pat", is_person=True, doubt="served"),
}
AGENTS: Final = tuple(name for name, one in WINDOWS.items() if not one.is_person)
PERSON, MAINTAINER = "pat", "cyd"
ENTITLED: Final = {PERSON, MAINTAINER}
NOBODY: Final = {"stray", "served"}
PROCESSES: Final = ("bob", "fay")
"""What is another process after it was started again; the others only connect again."""


@dataclass(slots=True, kw_only=True)
class Hall(OnlyHost):
    """A server that knows which connections have ended, and how long ago."""

    ended: dict[str, float] = field(default_factory=dict)

    def is_here(self, seat: str, within: float) -> bool:
        """Answer whether a connection is open."""
        del within
        return seat not in self.ended

    def absence(self, seat: str, behind: Collection[Connection] = ()) -> float | None:
        """Answer how long one has been gone."""
        return self.ended.get(seat)


def refusal_of(call: Callable[[], Any]) -> CounterpointError | None:
    """Answer how something was refused, if it was."""
    try:
        call()
    except CounterpointError as fault:
        return fault
    return None


class Reference(RuleBasedStateMachine):
    """Agents of all sorts, a person, and who says to be that person.

    The reference: who worked, hosted and loosened where; who came to have whose session; who was somebody else before;
    whose each session is; and what the project asks of judges.
    """

    folder: tempfile.TemporaryDirectory[str] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.studio = self.open()
        self.hall = Hall()
        self.studio.ports = replace(self.studio.ports, host=self.hall)
        self.windows, self.ever = dict(WINDOWS), [*WINDOWS.values()]
        self.seats = {name: self.connect(name) for name in WINDOWS}
        self.cast = {name: name for name in WINDOWS}
        self.gone: set[str] = set()
        self.worked: dict[str, set[str]] = defaultdict(set)
        self.hosted: dict[str, set[str]] = defaultdict(set)
        self.loosened: dict[str, set[str]] = defaultdict(set)
        self.taken: set[tuple[str, str, str]] = set()
        self.before: dict[str, str] = {}
        self.owner: dict[str, str] = {}
        self.policy: Independence = "attested"
        self.made = 0

    def open(self) -> Studio:
        return Studio()

    def teardown(self) -> None:
        self.studio.check()
        self.studio.close()
        if self.folder is not None:
            self.folder.cleanup()

    def connect(self, name: str, session: str = "", seat: str = "") -> Core:
        """A connection; what agents call themselves is nearly always the same."""
        one = self.windows[name]
        session = "" if one.is_person else session or self.studio.mint.mint("ses")
        strength: Strength = "credential" if one.credential else "connection"
        actor = Actor(
            kind="human" if one.is_person else "agent",
            name=one.name,
            session=session,
            principal=None if one.id.startswith("?") else Principal(strength=strength, id=one.id),
        )
        process = self.process(one) if one.process else None
        caller = Caller(
            actor=actor,
            root=ROOT,
            scopes=one.scopes,
            connection=process,
            capability="" if one.is_person else f"secret of {name}",
            seat=seat,
            origin=Origin(boot="b", process=process, doubt=one.doubt),
        )
        return Core(self.studio.ports, caller)

    def process(self, one: Window) -> Connection:
        return Connection(
            project=PROJECT,
            id=one.process,
            agent=one.name,
            client="",
            uid=1,
            pid=one.began,
            started=one.began,
            boot="b",
            namespace="",
            executable="/usr/bin/claude",
            held_since=one.left_at,
            unit="",
            ancestry=Prose(""),
            opened_at=self.studio.clock.now(),
        )

    def core(self, name: str) -> Core:
        """Somebody where he writes now; who was gone is back with his secret."""
        if name in self.gone:
            self.come_back(name)
        core = self.seats[name]
        if self.windows[name].is_person:
            return core
        core = core.in_session(core.sessions.own())
        self.owner[core.caller.actor.session] = name
        return core

    def come_back(self, name: str) -> None:
        """Start somebody again; a process is another one then, and it is he all the same."""
        self.gone.discard(name)
        former = self.windows[name]
        if name in PROCESSES:
            self.made += 1
            started = replace(former, process=f"cn_{name}{self.made}", began=100 + self.made)
            self.windows[name] = started
            self.before[started.id] = former.id
            self.ever.append(started)
            for names in self.loosened.values():
                names.update({started.id} if former.id in names else ())
        place = self.seats[name].identities.recall(f"secret of {name}")
        self.seats[name] = self.connect(name, *place)
        self.hall.ended.pop(place[1], None)
        self.core(name).journal.append(Note(kind="comment", body="back"))

    @initialize(agents=st.permutations(AGENTS))
    def plan(self, agents: list[str]) -> None:
        """Cast few, who meet more often; ada has written, so that her shell is known for hers."""
        cast = agents[:CAST]
        self.cast |= {name: cast[place % CAST] for place, name in enumerate(AGENTS)}
        for name in {"ada", *cast}:
            self.core(name).journal.append(Note(kind="comment", body="here"))
        core = self.core("ada")
        core.plans.create(core.plans.read(PLAN))

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

    def closed(self, item: str, **only: Any) -> set[tuple[str, str, str]]:
        found = self.all(Gate, item=item, status="closed", **only)
        return {(gate.item, gate.name, gate.kind) for gate in found}

    def claim_of(self, item: str) -> Claim | None:
        """The claim of an item that nobody has given back."""
        found = self.all(Claim, item=item, state="live")
        return found[0] if found else None

    def now(self) -> Timestamp:
        return self.studio.clock.now()

    # ── what the rules say, in words of sets ──

    def selves(self, who: str) -> list[str]:
        """Whom somebody is, and who he was before he was started again."""
        found = [self.windows[who].id]
        while found[-1] in self.before:
            found.append(self.before[found[-1]])
        return found

    def is_his(self, who: str, session: str) -> bool:
        """Whether somebody writes in a session: its own window, or another one of the same process."""
        (found,) = self.all(Session, id=session)
        one = self.windows[who]
        is_process = bool(one.process) and not one.credential
        return self.owner[session] == who or (is_process and found.principal == one.id)

    def was_his(self, who: str, session: str) -> bool:
        """Whether a session is his own, or that of a connection with his credential that has ended."""
        (found,) = self.all(Session, id=session)
        one = self.windows[who]
        is_same = found.principal == one.id and not one.id.startswith("?")
        return self.owner[session] == who or (is_same and found.seat in self.hall.ended)

    def may_have(self, who: str, session: str, until: Timestamp, *, is_named: bool) -> bool:
        """Whether somebody may have what is in a session, or by its name all of that session."""
        (found,) = self.all(Session, id=session)
        away = self.hall.ended.get(found.seat)
        return (
            who in ENTITLED
            or self.was_his(who, session)
            or (is_named and found.status == "paused")
            or (away is not None and away >= GRACE)
            or self.now() >= until
        )

    def strange(self, who: str) -> list[Claim]:
        """Live claims of others, which nothing that somebody does may end or take."""
        return [
            claim
            for claim in self.all(Claim, state="live")
            if claim.is_live(self.now())
            and not self.is_his(who, claim.session)
            and not self.may_have(who, claim.session, claim.leased_until, is_named=True)
        ]

    def is_held(self, core: Core, item: str) -> bool:
        """Whether somebody else is at an item, so that no word moves it, but for that of the person."""
        claim, caller = self.claim_of(item), core.caller.actor
        is_person = caller.principal is not None and caller.principal.id == WINDOWS[PERSON].id
        if claim is None or is_person:
            return False
        return claim.is_live(self.now()) and claim.session != caller.session

    def may_take(self, who: str, item: str) -> bool:
        one = self.windows[who]
        return not any({one.id, one.process} & self.loosened[here] for here in self.line(item))

    def may_loosen(self, who: str, item: str, *, opens: bool = False) -> bool:
        counts = self.policy == "person" and (opens or bool(self.worked[item]))
        is_entitled = who in ENTITLED or not self.worked[item]
        return is_entitled and self.may_judge(who, item, counts=counts)

    def may_judge(self, who: str, item: str, *, counts: bool) -> bool:
        """Whether somebody is surely another than who worked; counts: as surely as the project asks."""
        if who in NOBODY or self.has_part(who, item):
            return False
        if self.is_doubtful(who, item) and (
            self.policy != "declared" or self.shares_name(who, item)
        ):
            return False
        named = {self.windows[who].id, *self.worked[item]}
        sure = "declared" if any(one.startswith("?") for one in named) else "attested"
        return not counts or ORDER.index(sure) >= ORDER.index(self.policy)

    def counted(self, one: Window, item: str) -> set[str]:
        """Who worked on an item as far as it bears on somebody: without a credential he may be any that he hosted."""
        worked = self.worked[item]
        return worked if one.credential else worked | self.hosted[item]

    def has_part(self, who: str, item: str) -> bool:
        """Who worked on it, or took the session in which somebody did; a whole has no session of its own."""
        one = self.windows[who]
        worked = self.counted(one, item)
        marks = {
            mark.session
            for noun in (Claim, Outcome, Submission)
            for mark in self.all(noun, item=item)
        }
        (found,) = self.all(Item, id=item)
        selves = self.selves(who)
        taken = [(session, giver) for taker, session, giver in self.taken if taker in selves]
        return bool(worked & {one.process, *selves}) or any(
            session in marks or (not found.is_workable and giver in worked)
            for session, giver in taken
        )

    def is_doubtful(self, who: str, item: str) -> bool:
        """Whether nothing tells somebody from one of those who worked: a name, or what somebody may have left."""
        one = self.windows[who]
        worked = self.counted(one, item)
        if any(other.startswith("?") != one.id.startswith("?") for other in worked):
            return True
        known = [other for other in self.ever if other.process in worked and not other.is_person]
        if one.credential and not one.process and known:
            return True
        return any(
            bool(a.left_at) and b.began <= a.left_at
            for other in known
            if one.process
            for a, b in ((one, other), (other, one))
        )

    def shares_name(self, who: str, item: str) -> bool:
        """Whether one of those who worked calls himself the same."""
        names = {
            one.name
            for one in self.ever
            if one.id in self.worked[item] and not (one.is_person or one.credential)
        }
        return self.windows[who].name in names

    def works(self, who: str, item: str) -> None:
        one = self.windows[who]
        for here in self.line(item):
            self.worked[here].add(one.id)
            if one.credential:
                self.hosted[here].update({one.process} - {""})

    def loosens(self, who: str, item: str) -> None:
        if who != PERSON:
            self.loosened[item].add(self.windows[who].id)

    def takes(self, who: str, session: str) -> None:
        """Somebody comes to have what was done in a session."""
        (found,) = self.all(Session, id=session)
        mine = self.windows[who].id
        if who != PERSON and found.principal != mine:
            self.taken.add((mine, session, found.principal))

    def attempt(self, who: str, call: Any, reasons: Reasons) -> bool:
        """Do something: it is done unless there is a reason not to, and refused for one of these."""
        wanted = {fault for fault, holds in reasons.items() if holds}
        before, strange = self.size(), self.strange(who)
        fault = refusal_of(call)
        assert type(fault) in (wanted or {type(None)}), (fault, wanted)
        if fault is not None:
            assert self.size() == before
            return False
        for claim in strange:
            assert self.claim_of(claim.item) == claim, "a live claim of somebody else is as it was"
        return True

    def size(self) -> int:
        with self.studio.view() as view:
            return view.head().size
