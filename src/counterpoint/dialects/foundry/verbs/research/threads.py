"""Threads of messages with a model: gone on with, listed, told and deleted."""

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
from counterpoint.dialects.foundry.verbs.research.asking import TOKENS, Asked, ask, chosen
from counterpoint.dialects.foundry.verbs.research.keeping import (
    StepDraft,
    StudyDraft,
    add,
    added,
    alone,
    begin,
    steps_of,
    study_of,
)
from counterpoint.kernel.errors import CounterpointError

_HISTORY = 200_000
"""How many characters of a thread go along with a message: the newest messages."""


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
        """Say something in a thread; return it with what the model answered.

        What is said stays also if the model fails: the refusal has the thread as `thread_id`. Raises NotFound, NoProvider and what asking raises.
        """
        found = self._found(draft.thread)
        provider = chosen(self._context, draft.provider or (found.provider if found else "")).name
        row, steps = self._told(draft, found, provider)
        is_same = found is not None and provider == found.provider
        asked = Asked(
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
            answer = ask(self._context, asked, watch)
        except CounterpointError as fault:
            fault.facts = {**fault.facts, "thread_id": row.id}
            raise
        step = StepDraft(kind="assistant", answer=answer)
        return added(
            self._context, row.id, step, provider=provider, model=draft.model or row.model
        ), answer

    def _found(self, name: str) -> ResearchStudy | None:
        if not name:
            return None
        with self._context.reading() as view:
            return study_of(view, name, "chat")

    def _told(
        self, draft: ChatDraft, found: ResearchStudy | None, provider: str
    ) -> tuple[ResearchStudy, list[ResearchStep]]:
        """Write down what is said, for good; return the thread with all that was."""
        with recording(alone(self._context), "research.asked", draft.item) as change:
            change.open_session()
            row = found or begin(
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
            before = steps_of(change.writing, row.id)
            # Said before, and never answered: a call that is repeated does not say it twice.
            if not (before and before[-1].kind == "user" and before[-1].text == draft.prompt):
                changes = {"system": draft.system} if draft.system and found else {}
                row = add(change, row.id, StepDraft(kind="user", text=draft.prompt), **changes)
            return row, steps_of(change.writing, row.id)

    def list(self, status: str = "", kind: StudyKind = "chat") -> list[ResearchStudy]:
        """Return the studies of a kind, the newest first. status: of those alone; empty for all."""
        with self._context.reading() as view:
            rows = view.select(ResearchStudy, kind=kind, order="created_at desc,id desc")
        return [row for row in rows if status in {"", row.status}]

    def get(self, name: str) -> tuple[ResearchStudy, list[ResearchStep]]:
        """Return a study of any kind with what was said in it; NotFound."""
        with self._context.reading() as view:
            row = study_of(view, name)
            return row, steps_of(view, row.id)

    def delete(self, name: str, *kinds: StudyKind) -> None:
        """Let go of a study with all that was said in it; NotFound."""
        with recording(self._context, "research.deleted") as change:
            change.open_session()
            row = study_of(change.writing, name, *kinds)
            for step in steps_of(change.writing, row.id):
                change.drop(step)
            change.drop(row)
            change.add_facts(study=row.id, steps=row.steps)


def messages_of(steps: Sequence[ResearchStep]) -> tuple[Message, ...]:
    """Return the newest messages of a thread that fit, the first a user's, no two of one role after each other."""
    room, found = _HISTORY, list[Message]()
    for step in reversed([one for one in steps if one.kind in {"user", "assistant"}]):
        room -= len(step.text)
        if room < 0 and found:
            break
        role: Role = "user" if step.kind == "user" else "assistant"
        if found and found[-1].role == role:
            found[-1] = Message(role=role, text=f"{step.text}\n\n{found[-1].text}")
        else:
            found.append(Message(role=role, text=step.text))
    if found[-1].role == "assistant":
        found.pop()
    return tuple(reversed(found))
