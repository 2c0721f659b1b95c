"""Carries deep research on, one paid step at a time.

Takes the next step of a deep research.
Rule 1: an act is asked for while no transaction is open; what comes of it is a step that lands in one transaction with its use, so that what was paid for is
there, or was not paid for. Rule 2: a step lands if the study is still at work and still this process's; else only the use does. Rule 3: a study is
its process's as long as that lives; of one that ended whoever comes next takes it up. Rule 4: a search or a page that fails is a step; a model that fails ends the
going, and the study can be resumed. Rule 5: nothing is asked beyond what the study may take of time and money.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, cast

from counterpoint.core.model.models import Answer, Question
from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.model.web import Page, PageLimits, Search, SearchAnswer
from counterpoint.core.operations.models.asking import ModelVerbs
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.web import PageVerbs, SearchVerbs
from counterpoint.core.ports.models import Listen
from counterpoint.dialects.foundry.models.research import ResearchMode, ResearchStep, ResearchStudy
from counterpoint.dialects.foundry.research.asking import (
    TOKENS,
    StepDraft,
    add,
    list_steps,
    settle,
    side_by_side,
    user_message,
)
from counterpoint.dialects.foundry.research.board import Board
from counterpoint.dialects.foundry.research.rules import deep as prompts
from counterpoint.dialects.foundry.research.rules.deep import (
    EXCERPT,
    PHASES,
    Act,
    Bounds,
    Course,
    SubQuery,
    checked,
    course_of,
    findings_in,
    judgement_in,
    next_act,
    queries_in,
    with_sources,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import (
    CounterpointError,
    LedgerGone,
    NotFound,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreReplaced,
    StoreUnreachable,
    Unavailable,
)

_STORE: Final = (
    *(LedgerGone, StoreBusy, StoreCorrupt, StoreFull, StoreReadOnly, StoreReplaced),
    StoreUnreachable,
)
"""Refusals of the store, which say nothing of a study: it is tried again later."""
_SEARCHED: Final = 2_000
"""Characters of a search result's text that are stored."""
_LEAST: Final = 40
"""Characters that a page needs to be a source."""


class Stopped(Exception):
    """Raised where work on a study has to stop."""


@dataclass(frozen=True, slots=True)
class _Going:
    """One act of a study: what is known of it, how long it may take, and when it began."""

    row: ResearchStudy
    course: Course
    bounds: Bounds
    act: Act
    began: Timestamp

    @property
    def seconds(self) -> float:
        """Return the time limit of the step in seconds."""
        return max(
            1.0,
            min(
                self.bounds.act_seconds,
                self.bounds.seconds - going_ms(self.row, self.course) / 1000,
            ),
        )


class Advancing:
    """Verbs for workers on studies. over: returns whether to stop."""

    def __init__(self, context: Context, over: Callable[[], bool] = lambda: False) -> None:
        self._context = context
        self._over = over

    def waiting(self) -> list[tuple[str, str]]:
        """List the studies that nobody works on, with their callers."""
        with self._context.reading() as view:
            rows = view.select(ResearchStudy, kind="deep-research", status="active")
        return [(row.id, caller_of(row)) for row in rows if self._is_free(row)]

    def advance(self, name: str) -> bool:
        """Take the next step of a study; return whether another follows. Raises refusals of the store."""
        row = self._take(name)
        if row is None:
            return False
        with self._context.reading() as view:
            steps = list_steps(view, name)
        course, bounds = course_of(steps), bounds_of(row)
        act = next_act(course, bounds, row.rounds)
        try:
            if act.kind == "done":
                self._end(name, "completed", "")
                return False
            self._refuse_beyond(row, course, bounds)
            going = _Going(row, course, bounds, act, self._context.ports.clock.now())
            self._do(going)
        except _STORE:
            raise
        except Stopped:
            self._release(name)
            return False
        except CounterpointError as fault:
            self._end(name, "failed", fault.message)
            return False
        return True

    def _do(self, going: _Going) -> None:
        acts = {
            "brief": self._brief,
            "plan": self._plan,
            "search": self._search,
            "page": self._page,
            "findings": self._findings,
            "report": self._report,
            "judgement": self._judgement,
        }
        acts[going.act.kind](going)

    def release(self, name: str) -> None:
        """Release a study for other workers."""
        self._release(name)

    def _is_free(self, row: ResearchStudy) -> bool:
        host = self._context.ports.host
        if row.runner in {"", host.name}:
            return True
        return host.is_gone(row.runner, Timestamp(row.beat_at or row.updated_at))

    def _take(self, name: str) -> ResearchStudy | None:
        """Take a study for this process; None if it is not to be worked on here."""
        me = self._context.ports.host.name
        with self._context.reading() as view:
            row = view.find(ResearchStudy, name)
        if row is None or row.status != "active" or not self._is_free(row):
            return None
        if row.runner == me:
            return row
        with recording(self._context, "research.taken") as change:
            now = change.find(ResearchStudy, name)
            # Another process may have been faster.
            if now is None or now.status != "active" or not self._is_free(now):
                return None
            change.add_facts(study=name)
            return settle(change, now, runner=me, beat_at=change.now)

    def _release(self, name: str) -> None:
        with recording(self._context, "research.released") as change:
            row = change.find(ResearchStudy, name)
            if row is not None and row.runner == self._context.ports.host.name:
                settle(change, row, runner="")
                change.add_facts(study=name)

    def _end(self, name: str, status: str, fault: str) -> None:
        with recording(self._context, "research.ended") as change:
            row = self._find_own(change, name)
            if row is not None:
                phase = "completed" if status == "completed" else row.phase
                settle(change, row, status=status, phase=phase, fault=Prose(fault), runner="")
                change.add_facts(study=name, status=status)

    def _find_own(self, change: Change, name: str) -> ResearchStudy | None:
        """Return a study that a step may be stored in; None for one that was stopped, deleted or taken over."""
        row = change.find(ResearchStudy, name)
        is_mine = row is not None and row.runner == self._context.ports.host.name
        return row if row is not None and is_mine and row.status == "active" else None

    def _refuse_beyond(self, row: ResearchStudy, course: Course, bounds: Bounds) -> None:
        if going_ms(row, course) / 1000 >= bounds.seconds:
            raise Unavailable(
                f"{TIMED_OUT} of {bounds.seconds:.0f} s; what was found until then is kept"
            )

    def _listen(self, name: str) -> Callable[[str], None]:
        board, key = self._context.ports.remember(Board), (self._context.project, name)

        def listen(_piece: str) -> None:
            if self._over() or board.is_stopped(key):
                raise Stopped

        return listen

    def _store_step(
        self, change: Change, going: _Going, step: StepDraft, cost: int, **more: Any
    ) -> None:
        """Store a step, if its study is still this process's."""
        row = self._find_own(change, going.row.id)
        if row is None:
            return
        ms = max(0, elapsed_ms(going.began, change.clock))
        details = {**step.details, "cost": cost, "ms": ms}
        draft = StepDraft(
            kind=step.kind, text=step.text, name=step.name, answer=step.answer, details=details
        )
        after = course_of([*list_steps(change.writing, row.id), _as_step(draft)])
        phase = PHASES[next_act(after, going.bounds, row.rounds).kind]
        changes = {"phase": phase, "round": after.round, "beat_at": change.now, **more}
        add(change, row.id, draft, **changes)

    def _ask_model(
        self,
        going: _Going,
        text: str,
        system: str,
        parse: Callable[[Answer], tuple[str, Mapping[str, Json], Mapping[str, Any]]],
    ) -> None:
        """Ask the model of a study; parse: returns text and details of the step, and changes of the study."""
        row = going.row

        def landed(change: Change, answer: Answer) -> None:
            words, details, more = parse(answer)
            step = StepDraft(kind=going.act.kind, text=words, answer=answer, details=details)
            self._store_step(change, going, step, answer.cost_micros, **more)

        question = Question(
            messages=user_message(text),
            system=system,
            provider=row.provider,
            model=row.model,
            max_tokens=TOKENS,
            timeout=going.seconds,
            purpose="deep-research",
            item=row.item,
            caching="never",
            limit_micros=self._money_left(going.course),
        )
        ModelVerbs(self._context).ask(question, listen=self._listen(row.id), landed=landed)

    def _money_left(self, course: Course) -> int:
        return SearchVerbs(self._context).said().study_limit - course.cost

    def _brief(self, going: _Going) -> None:
        text = prompts.briefed(going.row.query, going.row.system)
        self._ask_model(
            going,
            text,
            prompts.BRIEF,
            lambda answer: (answer.text.strip() or going.row.query, {}, {}),
        )

    def _plan(self, going: _Going) -> None:
        most = going.bounds.queries

        def made(answer: Answer) -> tuple[str, Mapping[str, Json], Mapping[str, Any]]:
            # Whoever plans nothing that can be read has the question itself looked for.
            usual: list[Json] = [{"id": "q1", "query": " ".join(going.row.query.split())[:400]}]
            return "", {"queries": queries_in(answer.text, going.course, most) or usual}, {}

        self._ask_model(going, prompts.planned(going.course.brief, most), prompts.PLAN, made)

    def _search(self, going: _Going) -> None:
        query, row = cast("SubQuery", going.act.query), going.row

        def landed(change: Change, answer: SearchAnswer) -> None:
            results: list[Json] = [
                {
                    "url": source.url,
                    "title": source.title,
                    "text": source.text[:_SEARCHED],
                    "date": source.date,
                    "kind": source.kind,
                }
                for source in answer.results
            ]
            details: dict[str, Json] = {"provider": answer.searcher, "count": len(results)}
            step = StepDraft(
                kind="search", name=query.id, text=canonical.dump_any(results), details=details
            )
            self._store_step(change, going, step, answer.cost_micros)

        search = Search(
            query=query.query,
            # Some of them are known already, or cannot be read.
            most=min(50, going.bounds.sources + 3),
            searcher=str(load_object(row.settings).get("searcher") or ""),
            timeout=min(60.0, going.seconds),
            purpose="deep-research",
            item=row.item,
            limit_micros=self._money_left(going.course),
        )
        try:
            SearchVerbs(self._context).search(search, listen=self._listen(row.id), write=landed)
        except (Stopped, *_STORE):
            raise
        except CounterpointError as fault:
            if len(going.course.failed) + 1 >= len(going.course.queries):
                raise
            with recording(self._context, "research.asked") as change:
                failure: dict[str, Json] = {"fault": fault.message}
                self._store_step(
                    change, going, StepDraft(kind="search", name=query.id, details=failure), 0
                )

    def _page(self, going: _Going) -> None:
        """Fetch pages together, and store each as a step of its own, in the order of the search."""
        query = cast("SubQuery", going.act.query)
        fetched = self._fetch_pages(going)
        # Redacted sources have no numbers, and those of the others stay.
        taken = max((source.number for source in going.course.sources), default=0)
        for result in going.act.results:
            url, title = str(result["url"]), str(result["title"])
            text = str(result.get("text") or "")
            details: dict[str, Json] = {"url": url, "final_url": url, "fetched": False}
            page = fetched.get(url)
            if isinstance(page, CounterpointError):
                details["fault"] = page.message
            elif page is not None:
                title, text = page.title or title, page.text
                details |= {
                    "final_url": page.final_url,
                    "fetched": True,
                    "sha256": sha256(page.text.encode(errors="replace")).hexdigest(),
                }
            excerpt = text.strip()[:EXCERPT]
            is_source = len(excerpt) >= _LEAST
            taken += is_source
            details |= {"number": taken if is_source else 0, "title": title or url}
            words = excerpt if is_source else ""
            step = StepDraft(kind="page", name=query.id, text=words, details=details)
            with recording(self._context, "research.fetched") as change:
                self._store_step(change, going, step, 0)
            # The time of all pages is counted once.
            going = replace(going, began=self._context.ports.clock.now())

    def _fetch_pages(self, going: _Going) -> dict[str, Page | CounterpointError]:
        """Return the pages of a step by address, or why one was not fetched; none where nothing may be fetched."""
        pages, listen = PageVerbs(self._context), self._listen(going.row.id)
        if not going.bounds.follows or not pages.may_fetch():
            return {}
        usual, seconds_left = PageLimits(), going.seconds
        limits = PageLimits(
            seconds=min(usual.seconds, seconds_left), whole=min(usual.whole, seconds_left)
        )

        def fetch(url: str, heard: Listen) -> Page:
            def both(piece: str) -> None:
                heard(piece)
                listen(piece)

            return pages.fetch(url, both, limits)

        fetched: dict[str, Page | CounterpointError] = {}
        urls = [str(source["url"]) for source in going.act.results]
        for url, page in side_by_side(urls, fetch, going.bounds.together):
            if isinstance(page, _STORE):
                raise page
            fetched[url] = page
        return fetched

    def _findings(self, going: _Going) -> None:
        sources = going.act.sources
        numbers: list[Json] = [source.number for source in sources]
        self._ask_model(
            going,
            prompts.read(going.course.brief, sources),
            prompts.FINDINGS,
            lambda answer: ("", {**findings_in(answer.text, going.course), "read": numbers}, {}),
        )

    def _report(self, going: _Going) -> None:
        course = going.course
        if not course.sources:
            raise NotFound(
                "nothing was found that could be read, so that there is nothing to report"
            )

        def made(answer: Answer) -> tuple[str, Mapping[str, Json], Mapping[str, Any]]:
            citations = checked(answer.text, course.sources)
            whole = with_sources(citations, course.sources)
            details: dict[str, Json] = {
                "cited": list(citations.cited),
                "removed": list(citations.removed),
            }
            return whole, details, {"report": Prose(whole)}

        self._ask_model(going, prompts.reported(course), prompts.REPORT, made)

    def _judgement(self, going: _Going) -> None:
        course, most = going.course, going.bounds.queries
        self._ask_model(
            going,
            prompts.judged(course, going.row.report, most),
            prompts.JUDGEMENT,
            lambda answer: ("", judgement_in(answer.text, course, most), {}),
        )


TIMED_OUT: Final = "it took longer than its time"
"""How a fault begins that reports a timeout."""


def bounds_of(row: ResearchStudy) -> Bounds:
    """Return the limits that a study was begun with."""
    # Older studies without a limit have the usual one.
    said_, usual = load_object(row.settings), Bounds()
    return Bounds(
        queries=int(str(said_["queries"])),
        sources=int(str(said_["sources"])),
        follows=said_["follows"] is True,
        seconds=float(str(said_["seconds"])),
        together=int(str(said_.get("together", usual.together))),
        act_seconds=float(str(said_.get("act_seconds", usual.act_seconds))),
        mode=cast("ResearchMode", said_.get("mode", usual.mode)),
    )


def going_ms(row: ResearchStudy, course: Course) -> int:
    """Return the time spent on a study since it was begun or resumed last, in milliseconds."""
    return course.ms - int(str(load_object(row.state).get("since") or 0))


def caller_of(row: ResearchStudy) -> str:
    """Return the caller whose turns a study takes."""
    return str(load_object(row.settings).get("caller") or row.session or row.agent)


def _as_step(draft: StepDraft) -> ResearchStep:
    """Return a draft as a stored step, as far as a course needs it."""
    return ResearchStep(
        project="",
        study="",
        number=0,
        kind=draft.kind,
        name=draft.name,
        provider="",
        model="",
        text=Prose(draft.text),
        details=Prose(canonical.dump_any(dict(draft.details))),
        tokens=0,
        created_at=Timestamp(""),
    )
