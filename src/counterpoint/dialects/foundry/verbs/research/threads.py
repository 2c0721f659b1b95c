"""Threads of messages with a model: continued, listed, shown and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from counterpoint.core.model.models.asking import Answer, Message, Role
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.foundry.nouns.research import (
    ResearchStep,
    ResearchStudy,
    StudyKind,
)
from counterpoint.dialects.foundry.verbs.research.asking import (
    TOKENS,
    ModelQuestion,
    ask,
    choose_provider,
)
from counterpoint.dialects.foundry.verbs.research.keeping import (
    StepDraft,
    StudyDraft,
    add,
    add_step,
    alone,
    begin,
    get_study,
    list_steps,
)
from counterpoint.kernel.errors import CounterpointError

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


class Threads:
    """Verbs for threads."""

    def __init__(self, context: Context) -> None:
        self._context = context

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
