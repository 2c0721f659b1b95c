"""The pages: of each what it reads, by which template it is shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from counterpoint.board.forms import read_number
from counterpoint.board.hunks import parse_diff
from counterpoint.board.reads import BoardReads, share_done
from counterpoint.board.remarks import fixes_of, place_remarks
from counterpoint.board.signing import SIGNABLE
from counterpoint.board.sittings import ReadChanges, Services
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Audit, Awaiting, Facets, State
from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.journal import Submission, Verdict
from counterpoint.core.model.lifecycles import Category
from counterpoint.core.model.sessions import Claim, SessionFilter
from counterpoint.core.model.work import Dependency, Gate, Item, Label, Project
from counterpoint.kernel.errors import CounterpointError, NotFound

SESSIONS: Final = 40
ENTRIES: Final = 40
CATEGORIES: Final[tuple[Category, ...]] = ("open", "active", "review", "done", "dropped")


@dataclass(frozen=True, slots=True)
class ToolScopes:
    """The tools that agents of each role can have, and those without which they cannot do what they are for."""

    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    critical: Mapping[Any, tuple[str, ...]] = field(default_factory=dict[Any, tuple[str, ...]])


@dataclass(slots=True)
class SiteFacts:
    """What all pages of a site share.

    address: where the site is. tools: what each role may call. audits: the last check of each ledger, by project, for it takes long.
    """

    address: str = ""
    tools: ToolScopes = ToolScopes()
    audits: dict[str, tuple[Audit, str]] = field(default_factory=dict[str, tuple[Audit, str]])
    guard: threading.Lock = field(default_factory=threading.Lock)


@dataclass(kw_only=True)
class Answer:
    """One request on its way to a page. subpath: what of the path is behind the page's name. form: what was posted to look at."""

    core: Core
    subpath: str
    query: Mapping[str, str]
    read_changes: ReadChanges
    facts: SiteFacts
    services: Services = field(default_factory=Services)
    form: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def reads(self) -> BoardReads:
        """The reads of the board, for the caller."""
        return self.core.use(BoardReads)

    @cached_property
    def state(self) -> State:
        """How the project stands."""
        return self.core.overview.state()

    @property
    def project(self) -> str:
        """The title of the project."""
        return self.state.project.heading

    @property
    def now(self) -> str:
        """The time of the ledger."""
        return self.state.now

    def number(self, name: str) -> int:
        """Return a number of the query; 0 for what is none."""
        return read_number(self.query.get(name, "")) or 0

    def item(self) -> Item:
        """Return the item that the path names; NotFound."""
        item = self.core.items.named(self.subpath) if self.subpath else None
        if item is None:
            raise NotFound(
                f"there is no item {self.subpath[:60]!r}",
                hint="The board shows those that there are: /board",
            )
        return item


@dataclass(frozen=True, slots=True)
class PageAddress:
    """Which page is asked for: its name, what of the path is behind that, and the query."""

    name: str
    subpath: str = ""
    query: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A template, and what reads its variables.

    tables: an entry that writes in any of these may change the page, beside those about items that it links to; None: any may.
    """

    template: str
    read: Callable[[Answer], dict[str, Any]]
    tables: frozenset[str] | None = None


def read_now(answer: Answer) -> dict[str, Any]:
    """Return who works on what, and what waits for whom."""
    core, state = answer.core, answer.state
    awaiting = core.awaiting.list()
    sessions = core.sessions.list(SessionFilter(status="active"), None, SESSIONS)
    holds: dict[str, list[str]] = {}
    for live in state.live:
        holds.setdefault(live.claim.session, []).append(live.item.id)
    phases = [(whole, *share_done(progress)) for whole, progress in answer.reads.phases()]
    done = sum(counts.get("done", 0) for counts in state.counts.values())
    return {
        "state": state,
        "done": done,
        "total": sum(sum(counts.values()) for counts in state.counts.values()),
        "reviews": [waiting for waiting in awaiting if waiting.step == "review"],
        "mends": [waiting for waiting in awaiting if waiting.step != "review"],
        "approvals": core.awaiting.approvals(),
        "lacking": core.permitted.lacking_now(),
        "abandoned": [live for live in state.live if live.is_abandoned(state.now)],
        "sessions": sorted(sessions, key=lambda view: -len(holds.get(view.session.id, ()))),
        "holds": holds,
        "phases": phases,
        "entries": core.audit.log(limit=ENTRIES // 2),
    }


def _queue(core: Core) -> list[Awaiting]:
    return [waiting for waiting in core.awaiting.list() if waiting.step == "review"]


def read_review(answer: Answer) -> dict[str, Any]:
    """Return the queue of reviews, and what one of them is of."""
    queue = _queue(answer.core)
    approvals = answer.core.awaiting.approvals()
    if not answer.subpath:
        return {"queue": queue, "approvals": approvals, "item": None}
    item = answer.item()
    ids = [waiting.item.id for waiting in queue] + [held_back.id for held_back in approvals]
    position = ids.index(item.id) + 1 if item.id in ids else 0
    return {
        "queue": queue,
        "approvals": approvals,
        "following": ids[position % len(ids)]
        if ids and ids[position % len(ids)] != item.id
        else "",
        **_read_whole(answer, item),
        **_read_diff(answer, item),
    }


def read_item(answer: Answer) -> dict[str, Any]:
    """Return an item with all that hangs on it, its history, and what is below it."""
    item = answer.item()
    children = answer.reads.cards(answer.core.overview.children(item.id, limit=100))
    return {
        **_read_whole(answer, item),
        "children": children,
        "entries": answer.core.audit.log(subject=item.id, limit=ENTRIES),
    }


def _read_whole(answer: Answer, item: Item) -> dict[str, Any]:
    facets = answer.core.overview.facets(item.id)
    (card,) = answer.reads.cards([item])
    return {
        "item": item,
        "facets": facets,
        "card": card,
        "parents": _parents(answer.core, item),
        "needed_by": answer.reads.needed(facets.needed_by),
        "attachments": answer.reads.attachments(item.id),
        "blockers": answer.core.overview.open_blockers(item.id),
        "seen": answer.state.ledger_size,
        "awaited": answer.core.awaiting.above(item),
        "signing_key": getattr(answer.services.find_key(answer.core), "id", ""),
        "signable": SIGNABLE,
        **_read_verdict(answer.core, item, facets),
    }


def _read_verdict(core: Core, item: Item, facets: Facets) -> dict[str, Any]:
    """Return what an approval would be of now, or why there can be none; and why whoever looks is no person."""
    try:
        act = core.reviews.proposed(item.id, Judgment(approves=True, reason="approved"))
    except CounterpointError as fault:
        subject, why_none = "", fault.message
    else:
        # Of a start nothing lies there yet: it is bound to the version of what is asked for.
        is_start = any(
            (gate.kind, gate.holds, gate.status) == ("review", "start", "closed")
            for gate in facets.gates
        )
        subject, why_none = "" if is_start else str(act.decision["subject"]), ""
    return {
        "subject": subject,
        "why_none": why_none,
        "why_no_person": core.identities.why_no_person(),
    }


def _parents(core: Core, item: Item) -> list[Item]:
    """Return what an item is in, from the root down."""
    parents: list[Item] = []
    while item.parent and (parent := core.overview.find(Item, item.parent)) is not None:
        parents.insert(0, item := parent)
    return parents


def _read_diff(answer: Answer, item: Item) -> dict[str, Any]:
    """Return what the work on an item, or on the tasks directly below it, changed in the code."""
    parts = [item] if item.is_workable else answer.core.overview.children(item.id, limit=20)
    diffs: list[dict[str, Any]] = []
    verdicts = answer.core.overview.rows(Verdict, item=item.id, limit=1, latest=True)
    fixes, judged_at = list[str](), verdicts[0].created_at if verdicts else ""
    for part in parts:
        if not part.is_workable:
            continue
        try:
            change = answer.read_changes(answer.core, part)
        except CounterpointError as fault:
            diffs.append({"item": part, "why": fault.message, "attachments": None})
            continue
        if change is not None:
            files, more = parse_diff(change.text)
            attachments = answer.reads.attachments(part.id)
            remarks = place_remarks(files, attachments.records)
            fixes += fixes_of(attachments.records, answer.core.caller.actor.name, judged_at)
            diffs.append(
                {
                    "item": part,
                    "why": "",
                    # Of the item itself the page shows them above.
                    "attachments": None if part.id == item.id else attachments,
                    "change": change,
                    "files": files,
                    "more": more,
                    "remarks": remarks,
                }
            )
    return {"diffs": diffs, "fixes": fixes}


def read_proof(answer: Answer) -> dict[str, Any]:
    """Return what is signed and witnessed, and what the last check found; with `check` in the query it is made now."""
    core, facts = answer.core, answer.facts
    if answer.query.get("check"):
        # However many ask, the ledger is read by one thread at a time.
        with facts.guard:
            known_audit = facts.audits.get(core.project)
            if known_audit is None or known_audit[0].size != answer.state.ledger_size:
                audit = core.audit.verify(extent="soon")
                facts.audits[core.project] = audit, answer.state.now
    audit, checked_at = facts.audits.get(core.project, (None, ""))
    return {
        "state": answer.state,
        "unsigned": core.signing.unsigned(),
        "signed": core.signing.last(),
        "audit": audit,
        "checked_at": checked_at,
        "entries": core.audit.log(limit=ENTRIES),
    }


WORK_TABLES: Final = frozenset(
    noun.table for noun in (Claim, Dependency, Gate, Item, Label, Project, Submission, Verdict)
)
PAGES: Final[Mapping[str, Page]] = {
    "": Page("now.html", read_now),
    "review": Page("review.html", read_review, WORK_TABLES),
    "items": Page("item.html", read_item, frozenset()),
}
"""Each page by the first part of its path."""
