"""Asks models and the web, and keeps what they answered.

Stores studies and their steps: begun, added to, found and deleted.
Rule 1: what is to stay whatever becomes of a call lands in a transaction of its own, before a model is asked. Rule 2: a study is read
again in the transaction that adds to it, so that two calls that go on with one add to each other.

Asks several at once, and yields each answer as it comes.
Callers may cancel: then whoever waits for a turn is not asked, and whoever is asked learns of it at the next piece.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, TypeVar

from counterpoint.core.model.models import Answer, Message, Provider, Question, Role
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.web import Page
from counterpoint.core.operations.models.asking import ModelVerbs
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.web import PageVerbs
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.models.providers import ProviderOrder, first_of, provider_away
from counterpoint.dialects.foundry.models.research import (
    PREFIXES,
    ResearchStep,
    ResearchStudy,
    StudyKind,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, MalformedDocument, NotFound, Unavailable

_NO: Final = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The variables `FOUNDRY_<NAME>_AVAILABLE_OVERRIDE` of a connection."""

    environ: Mapping[str, str] = field(repr=False)

    def of(self, provider: str) -> str:
        """Return why a provider is turned off; empty if it is not. A variable cannot make a provider available."""
        name = f"FOUNDRY_{provider.upper().replace('-', '_')}_AVAILABLE_OVERRIDE"
        setting = self.environ.get(name, "").strip().lower()
        return f"the variable {name} turns it off" if setting in _NO else ""


class Askable(Verbs):
    """Verbs for the available providers."""

    def list_providers(self) -> ProviderOrder:
        """Return all providers, and the available ones in order; MalformedDocument."""
        providers = ModelVerbs(self._context).standing()
        overrides = self._context.ports.get(Overrides)

        def apply_override(provider: Provider) -> Provider:
            return replace(provider, reason=provider.reason or overrides.of(provider.name))

        first = tuple(
            provider for provider in map(apply_override, providers.first) if provider.is_available
        )
        return ProviderOrder(every=tuple(map(apply_override, providers.every)), first=first)

    def find(self) -> ProviderOrder | None:
        """Return the same; None where the configuration cannot be parsed."""
        try:
            return self.list_providers()
        except MalformedDocument:
            return None


TOKENS = 8_000
"""The default limit of tokens of an answer."""
SECONDS = 360.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """A question of research. provider: as `choose_provider` returns it."""

    messages: tuple[Message, ...]
    provider: str
    purpose: str
    system: str = ""
    model: str = ""
    temperature: float | None = None
    max_tokens: int = TOKENS
    seconds: float = SECONDS
    item: str = ""


def user_message(text: str) -> tuple[Message, ...]:
    """Return a question of one text as messages."""
    return (Message(role="user", text=text),)


def choose_provider(context: Context, name: str = "") -> Provider:
    """Return the named provider, else the first available one; NoProvider, NotFound, ProviderAway."""
    standing = Askable(context).list_providers()
    if not name:
        return first_of(standing)
    provider = standing.named(name)
    if not provider.is_available:
        raise provider_away(provider)
    return provider


def ask(
    context: Context,
    question_draft: ModelQuestion,
    watch: Watch | None = None,
    listen: Listen | None = None,
) -> Answer:
    """Ask a model; raises what `ModelVerbs.ask` does."""
    question = Question(
        messages=question_draft.messages,
        system=question_draft.system,
        provider=question_draft.provider,
        model=question_draft.model,
        max_tokens=question_draft.max_tokens,
        temperature=question_draft.temperature,
        timeout=question_draft.seconds,
        purpose=question_draft.purpose,
        item=question_draft.item,
    )
    return ModelVerbs(context).ask(question, watch, listen)


_TITLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyDraft:
    """What a study is begun with."""

    kind: StudyKind
    query: str
    title: str = ""
    system: str = ""
    status: str = "active"
    phase: str = ""
    provider: str = ""
    model: str = ""
    rounds: int = 0
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    item: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDraft:
    """What is added to a study. answer: of a model; its text is that of the step unless another is given."""

    kind: str
    text: str = ""
    name: str = ""
    answer: Answer | None = None
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])


def alone(context: Context) -> Context:
    """Return the context of the same call without its transaction: what is written in it stays if the call fails."""
    return replace(context, unit=None)


def begin(change: Change, draft: StudyDraft) -> ResearchStudy:
    """Store and return a study without steps."""
    session = change.open_session()
    # The form that foundry's clients know, drawn like every id.
    drawn = sha256(change.context.ports.mint.mint("study").encode()).hexdigest()[:12]
    title = draft.title or (draft.query.strip().splitlines() or [""])[0][:_TITLE]
    study = ResearchStudy(
        project=change.context.project,
        id=f"{PREFIXES[draft.kind]}-{drawn}",
        kind=draft.kind,
        title=Prose(title),
        query=Prose(draft.query),
        system=Prose(draft.system),
        status=draft.status,
        phase=draft.phase,
        provider=draft.provider,
        model=draft.model,
        round=0,
        rounds=draft.rounds,
        steps=0,
        tokens=0,
        settings=Prose(canonical.dump_any(dict(draft.settings))),
        state=Prose("{}"),
        report=Prose(""),
        fault=Prose(""),
        item=draft.item,
        runner="",
        beat_at="",
        session=session,
        agent=change.context.caller.actor.name,
        version=1,
        created_at=change.now,
        updated_at=change.now,
    )
    change.put(study)
    change.add_facts(study=study.id, kind=study.kind)
    return study


def begin_alone(context: Context, draft: StudyDraft) -> ResearchStudy:
    """Store a study in a transaction of its own; return it."""
    with recording(alone(context), "research.begun", draft.item) as change:
        return begin(change, draft)


def add(change: Change, study: str, step: StepDraft, **changes: Any) -> ResearchStudy:
    """Store the next step of a study with other changes of it; return the study. NotFound."""
    row = change.find(ResearchStudy, study)
    if row is None:
        raise unknown(study)
    answer = step.answer
    tokens = tokens_of(answer)
    change.put(
        ResearchStep(
            project=row.project,
            study=row.id,
            number=row.steps + 1,
            kind=step.kind,
            name=step.name,
            provider=answer.provider if answer else "",
            model=answer.model if answer else "",
            text=Prose(step.text or (answer.text if answer else "")),
            details=Prose(canonical.dump_any(dict(step.details))),
            tokens=tokens,
            created_at=change.now,
        )
    )
    change.add_facts(study=row.id, step=step.kind)
    return settle(change, row, steps=row.steps + 1, tokens=row.tokens + tokens, **changes)


def settle(change: Change, row: ResearchStudy, **changes: Any) -> ResearchStudy:
    """Store changes of a study; return it."""
    after = replace(row, **changes, version=row.version + 1, updated_at=change.now)
    change.put(after)
    return after


def add_step(
    context: Context, study: str, step: StepDraft, *, stays: bool = False, **changes: Any
) -> ResearchStudy:
    """Store the next step of a study in this call; return the study. stays: also if the call fails."""
    where = alone(context) if stays else context
    with recording(where, "research.answered" if step.answer else "research.asked") as change:
        change.open_session()
        return add(change, study, step, **changes)


def record_failure(context: Context, study: str, fault: CounterpointError) -> None:
    """Record that a study failed, and name the study in the refusal."""
    with recording(alone(context), "research.failed") as change:
        change.open_session()
        row = change.find(ResearchStudy, study)
        if row is not None:
            settle(change, row, status="failed", fault=Prose(fault.message))
            change.add_facts(study=study)


def get_study(view: Reading, name: str, *kinds: StudyKind) -> ResearchStudy:
    """Return the study of an id, of one of some kinds; NotFound."""
    study = view.find(ResearchStudy, name)
    if study is None or (kinds and study.kind not in kinds):
        raise unknown(name)
    return study


def list_steps(view: Reading, study: str) -> list[ResearchStep]:
    """Return the steps of a study, oldest first."""
    return view.select(ResearchStep, study=study, order="number")


def tokens_of(answer: Answer | None) -> int:
    """Count the tokens of a question and its answer; none for one from the cache."""
    return 0 if answer is None or answer.is_kept else answer.tokens.input + answer.tokens.output


def unknown(name: str) -> NotFound:
    """Return the refusal for a study that does not exist."""
    return NotFound(
        f"there is no research {name[:80]!r} in this project",
        hint='Look with `research action="thread-list"`; every other id stands in the answer that began it.',
    )


T = TypeVar("T")

_LOOK: Final = 0.5
"""Seconds between reports of how many have answered."""


def side_by_side(
    names: Sequence[str],
    ask: Callable[[str, Listen], T],
    most: int,
    watch: Watch | None = None,
) -> Iterator[tuple[str, T | CounterpointError]]:
    """Yield each answer or refusal as it comes; what `watch` raises ends all of it.

    ask: called in a thread of its own, with a function to call with each piece. most: how many at once.
    """
    gone = threading.Event()

    def listen(_piece: str) -> None:
        if gone.is_set():
            raise Unavailable("whoever asked is gone")

    with ThreadPoolExecutor(max_workers=max(1, min(most, len(names)))) as pool:
        waiting: dict[Future[T], str] = {pool.submit(ask, name, listen): name for name in names}
        every = len(waiting)
        try:
            while waiting:
                done, _ = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in done:
                    name = waiting.pop(future)
                    try:
                        yield name, future.result()
                    except CounterpointError as fault:
                        yield name, fault
                if watch is not None:
                    watch(f"{every - len(waiting)} of {every} have answered")
        finally:
            gone.set() if waiting else None
            for future in waiting:
                future.cancel()


_AT_ONCE: Final = 4


class Extracting:
    """Verbs for pages."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def extract(self, urls: Sequence[str]) -> list[tuple[str, Page | CounterpointError]]:
        """Return each page, or why it was not fetched, in the order of the addresses; what `watch` raises ends it."""
        names = list(dict.fromkeys(urls))
        pages = dict(side_by_side(names, self._page, _AT_ONCE, self._watch))
        return [(name, pages[name]) for name in names]

    def _page(self, url: str, listen: Listen) -> Page:
        return PageVerbs(alone(self._context)).fetch(url, listen)


_HISTORY = 200_000
"""Characters of a thread's newest messages that are sent with the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDraft:
    """A message to a model. thread: the one to go on with; empty for another one."""

    prompt: str
    thread: str = ""
    title: str = ""
    system: str = ""
    provider: str = ""
    model: str = ""
    temperature: float | None = None
    max_tokens: int = TOKENS
    item: str = ""


class Threads(Verbs):
    """Verbs for threads."""

    def chat(self, draft: ChatDraft, watch: Watch | None = None) -> tuple[ResearchStudy, Answer]:
        """Send a message in a thread; return it with the answer.

        The message stays also if the model fails: the refusal has the thread as `thread_id`. Raises NotFound, NoProvider and what asking raises.
        """
        thread = self._find_thread(draft.thread)
        provider = choose_provider(
            self._context, draft.provider or (thread.provider if thread else "")
        ).name
        row, steps = self._store_message(draft, thread, provider)
        is_same = thread is not None and provider == thread.provider
        question = ModelQuestion(
            messages=messages_of(steps),
            system=row.system,
            provider=provider,
            model=draft.model or (row.model if is_same else ""),
            temperature=draft.temperature,
            max_tokens=draft.max_tokens,
            purpose="research-chat",
            item=draft.item,
        )
        try:
            answer = ask(self._context, question, watch)
        except CounterpointError as fault:
            fault.facts = {**fault.facts, "thread_id": row.id}
            raise
        step = StepDraft(kind="assistant", answer=answer)
        return add_step(
            self._context, row.id, step, provider=provider, model=draft.model or row.model
        ), answer

    def _find_thread(self, name: str) -> ResearchStudy | None:
        if not name:
            return None
        with self._context.reading() as view:
            return get_study(view, name, "chat")

    def _store_message(
        self, draft: ChatDraft, thread: ResearchStudy | None, provider: str
    ) -> tuple[ResearchStudy, list[ResearchStep]]:
        """Store a message, for good; return the thread with all its steps."""
        with recording(alone(self._context), "research.asked", draft.item) as change:
            change.open_session()
            row = thread or begin(
                change,
                StudyDraft(
                    kind="chat",
                    query=draft.prompt,
                    title=draft.title,
                    system=draft.system,
                    provider=provider,
                    model=draft.model,
                    item=draft.item,
                ),
            )
            before = list_steps(change.writing, row.id)
            # A message that was stored and never answered is not stored twice by a repeated call.
            if not (before and before[-1].kind == "user" and before[-1].text == draft.prompt):
                changes = {"system": draft.system} if draft.system and thread else {}
                row = add(change, row.id, StepDraft(kind="user", text=draft.prompt), **changes)
            return row, list_steps(change.writing, row.id)

    def list(self, status: str = "", kind: StudyKind = "chat") -> list[ResearchStudy]:
        """List the studies of a kind, the newest first. status: only those with it; empty for all."""
        with self._context.reading() as view:
            rows = view.select(ResearchStudy, kind=kind, order="created_at desc,id desc")
        return [row for row in rows if status in {"", row.status}]

    def get(self, name: str) -> tuple[ResearchStudy, list[ResearchStep]]:
        """Return a study of any kind with its steps; NotFound."""
        with self._context.reading() as view:
            row = get_study(view, name)
            return row, list_steps(view, row.id)

    def delete(self, name: str, *kinds: StudyKind) -> None:
        """Delete a study with all its steps; NotFound."""
        with recording(self._context, "research.deleted") as change:
            change.open_session()
            row = get_study(change.writing, name, *kinds)
            for step in list_steps(change.writing, row.id):
                change.drop(step)
            change.drop(row)
            change.add_facts(study=row.id, steps=row.steps)


def messages_of(steps: Sequence[ResearchStep]) -> tuple[Message, ...]:
    """Return the newest messages of a thread that fit, the first a user's, and roles alternating."""
    chars_left, messages = _HISTORY, list[Message]()
    for step in reversed([step for step in steps if step.kind in {"user", "assistant"}]):
        chars_left -= len(step.text)
        if chars_left < 0 and messages:
            break
        role: Role = "user" if step.kind == "user" else "assistant"
        if messages and messages[-1].role == role:
            messages[-1] = Message(role=role, text=f"{step.text}\n\n{messages[-1].text}")
        else:
            messages.append(Message(role=role, text=step.text))
    if messages[-1].role == "assistant":
        messages.pop()
    return tuple(reversed(messages))
