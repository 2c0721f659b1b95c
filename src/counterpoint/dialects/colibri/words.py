"""The words of strict tasks: arguments, and how the core's nouns are shown.

core                              here
init … done, cancelled            INIT … DONE, CANCELLED
the alias `uuid` of an item       id, task_id
attributes project_id, priority   fields of those names; the priority is free text
a session opened with an intent   an audit session
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.core.model.answers import Continuation, ItemView
from counterpoint.core.model.journal import Transition
from counterpoint.core.model.proofs import Seal, Thinking
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.sessions import Session
from counterpoint.dialects import arguments
from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.colibri.envelope import PHRASES
from counterpoint.dialects.colibri.nouns import Action, NextMove
from counterpoint.dialects.colibri.rules.skills import Skill, SkippedFile
from counterpoint.dialects.continuing import list_resumable_work, next_call, present_left
from counterpoint.dialects.paging import PAGE, clip, size_of
from counterpoint.dialects.rewording import Rewording
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, IllegalMove

UUID: Final = "uuid"
"""The scope of the names that tasks are known by here."""

_NULLABLE = WithJsonSchema({"type": ["string", "null"]})

Status = Literal["INIT", "GATHER", "ANALYZE", "PLAN", "APPLY", "VERIFY", "DONE", "CANCELLED"]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
ThoughtWord = Literal["plan", "analysis", "decision", "reflection"]

_STATES: Final = {status.lower(): status for status in STATUSES}


def _one_name(text: str) -> str:
    """Return an id that can be told from every other as it is shown; ValueError."""
    if text != text.strip():
        raise ValueError("must not begin or end with a blank")
    if any(unicodedata.category(letter) in _UNSEEN for letter in text):
        raise ValueError("must have no characters that are not seen")
    return text


def _no_blank(text: str) -> str:
    """Return an id of the caller's own for a session; ValueError for one with blanks."""
    if any(letter.isspace() for letter in text):
        raise ValueError("must have no blanks")
    return _one_name(text)


class _Absent(str):
    """An argument that was not given, which is another thing than null."""

    __slots__ = ()


ABSENT: Final = _Absent()
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})

Id = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_name), TEXT]
AnyId = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_name), TEXT]
OwnId = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_no_blank), TEXT]
Filter = Annotated[str, Field(min_length=1, max_length=200), TEXT]
"""An id that a list is narrowed by; without one it is not."""
Title = Annotated[str, Field(min_length=1, max_length=256), TEXT]
Body = Annotated[str | None, Field(max_length=8_000), _NULLABLE]
Word = Annotated[str | None, Field(max_length=200), _NULLABLE]
Reason = arguments.Line
Content = arguments.Said
Limit = Annotated[int, Field(ge=1, le=200, description="How many, at most 200")]
Cursor = Annotated[arguments.Cursor, Field(description="`next_cursor` of the page before")]
LIMIT: Final = 50
WHOLE: Final = PAGE - 300
"""What a task may take that is answered alone."""
_ENTRY: Final = 2_000
_CONTENT: Final = 4_000
_REASON: Final = 6_000
"""What the reason of the last move of a task may take: one of the longest that are taken, unless nearly all of it is escaped."""


class Patch(TypedDict, total=False):
    """What is to be different about a task."""

    title: Annotated[Title, Field(description="Short name")]
    status: Annotated[Status, Field(description="Next state")]
    project_id: Annotated[Word, Field(description="Your grouping")]
    description: Annotated[Body, Field(description="What to do")]
    priority: Annotated[Word, Field(description="Free text")]
    assignee: Annotated[Word, Field(description="Who does it")]
    reason: Annotated[Reason, Field(description="Why; CANCELLED needs it")]
    deleted: Annotated[bool, Field(description="True hides the task, false shows it again")]


def parse_status(word: Status) -> str:
    """Return the core's name of a state."""
    return word.lower()


def present_status(state: str) -> str:
    """Return a state in this dialect."""
    return state.upper()


def id_of(task: ItemView) -> str:
    """Return what a task is known by here."""
    return task.names.get(UUID, task.item.id)


def reword(refusal: CounterpointError, task: ItemView, goal: Status | None) -> CounterpointError:
    """Return a refusal of a change with the states in the words of this dialect."""
    prefix = task.item.id.rpartition("-")[0]
    reworded = Rewording(prefix=prefix, names={}, states=_STATES).refusal(refusal)
    facts: dict[str, Json] = {**reworded.facts, "task_id": id_of(task)}
    if isinstance(refusal, IllegalMove):
        facts |= {"from": facts.get("state"), "to": goal}
    reworded.facts = facts
    return reworded


def present_task(task: ItemView, max_bytes: int = 8_000) -> dict[str, Json]:
    """Return a task; a description that takes more than its room, or makes it too long, is cut."""
    item = task.item
    parts: dict[str, Json] = {
        "id": id_of(task),
        "project_id": task.attributes.get("project_id"),
        "title": item.title,
        "description": None,
        "status": present_status(item.status),
        "priority": task.attributes.get("priority"),
        "assignee": item.assignee or None,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "deleted_at": task.attributes.get("deleted_at"),
        "native_id": item.id,
        "attempt": task.attempt,
        "version": item.version,
    }
    return parts | {"description": clip(item.body, min(max_bytes, WHOLE - size_of(parts))) or None}


def present_listed(task: ItemView) -> dict[str, Json]:
    """Return a task as a list shows it."""
    return present_task(task, _ENTRY)


def present_transition(move: Transition) -> dict[str, Json]:
    """Return one move of a task."""
    return {
        "from": present_status(move.origin),
        "to": present_status(move.goal),
        "reason": clip(move.reason, _REASON) or None,
        "actor": move.agent,
        "session_id": move.session or None,
        "attempt": move.attempt,
        "at": move.at,
    }


def present_next(next_move: NextMove) -> dict[str, Json]:
    """Return what can be done about a task."""
    readiness = next_move.readiness
    return {
        **present_listed(next_move.task),
        "next_statuses": [present_status(state) for state in next_move.moves],
        "ready": readiness.may_go_on,
        "reasons": list(readiness.reasons),
        "held_by": readiness.held_by or None,
    }


def present_thought(thinking: Thinking, task: str) -> dict[str, Json]:
    """Return a thought; a long text is cut, its digest is of the whole."""
    thought, body = thinking.thought, thinking.record.body
    content = clip(body, _CONTENT)
    parts: dict[str, Json] = {
        "id": thought.record,
        "type": thought.type,
        "task_id": task,
        "agent_id": thought.agent,
        "content": content,
        "timestamp": thought.created_at,
        "prev_hash": thought.previous,
        "hash": thought.hash,
        "session_id": thought.session or None,
        "sequence": thought.sequence,
        "content_commitment": thought.content,
    }
    return parts if content == body else {**parts, "content_cut": True}


def present_session(session: Session) -> dict[str, Json]:
    """Return a session; one that was not opened with an intent has none."""
    details = load_object(session.details)
    return {
        "session_id": session.id,
        "intent": clip(str(details.get("intent", "")), _ENTRY) or None,
        "task_id": details.get("task_id") or None,
        "started_at": session.started_at,
    }


def list_open_sessions(call: Call) -> dict[str, Json]:
    """Return the audit sessions that the caller has open, to stand first."""

    def describe(continuation: Continuation) -> Iterator[dict[str, Json]]:
        if continuation.session.purpose == "audit":
            yield {
                **present_session(continuation.session),
                "left": present_left(continuation.left),
                "next_call": next_call("thought_record_list", session_id=continuation.session.id),
            }

    return list_resumable_work(call, "sessions", describe, PHRASES)


def present_seal(seal: Seal) -> dict[str, Json]:
    """Return the sealed tree of a session."""
    return {
        "session_id": seal.session,
        "root": seal.root,
        "record_count": seal.size,
        "finalized_at": seal.sealed_at,
        "checkpoint": seal.checkpoint,
    }


def present_skill(skill: Skill) -> dict[str, Json]:
    """Return a skill without its text."""
    return {
        "name": skill.name,
        "description": clip(skill.description, _ENTRY),
        "version": skill.version or None,
        "entrypoint": skill.entrypoint or None,
        "capabilities": list(skill.capabilities),
        "greek_letter": skill.letter or None,
        "source_path": skill.source,
        "sha256": skill.digest,
        "loaded_at": skill.loaded_at,
    }


def present_skipped(file: SkippedFile) -> dict[str, Json]:
    """Return a file that could not be read as a skill, and why."""
    return {
        "source_path": file.source,
        "faults": [clip(str(fault), 300) for fault in file.faults[:10]],
    }


def present_action(entered: Action, ended: Action | None) -> dict[str, Json]:
    """Return a call by both of its rows."""
    return {
        "sequence_no": entered.number,
        "tool": entered.tool,
        "correlation_id": entered.call,
        "outcome": ended.outcome if ended else "running",
        "code": (ended.code if ended else "") or None,
        "args_digest": entered.arguments or None,
        "result_digest": (ended.answer if ended else "") or None,
        "agent": entered.agent,
        "client": entered.client or None,
        "session_id": entered.session or None,
        "host": entered.host,
        "entered_at": entered.at,
        "exited_at": ended.at if ended else None,
        "duration_ms": ended.duration if ended else None,
    }


def kept_attributes(project_id: str | None, priority: str | None) -> Mapping[str, Json]:
    """Return the fields of a task that the core only keeps."""
    attributes = {"project_id": project_id, "priority": priority}
    return {name: value for name, value in attributes.items() if value is not None}


def native_id(call: Call, name: str) -> str:
    """Return the id of the item that a name means; the name itself if it means none."""
    item = call.core.items.find(name)
    return item.id if item else name
