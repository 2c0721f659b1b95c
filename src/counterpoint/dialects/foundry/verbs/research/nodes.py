"""Research nodes of specs: researched as they say, and closed with what was found.

What was found is kept with the node, and so stands in the file of its spec. A node whose `blocking_mode` is hard stops what waits for it
until it is completed (verbs/tasks/edges.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.core.operations.closing.standing import refuse_other
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.dialects.foundry.nouns.research import (
    FINDINGS,
    HISTORY,
    QUERY,
    RESEARCH,
    RESEARCH_TYPE,
    SESSION_ID,
    Finding,
    ResearchStudy,
    StudyKind,
)
from counterpoint.dialects.foundry.nouns.tasks import BLOCKING_MODE
from counterpoint.dialects.foundry.rules.research.answers import list_of
from counterpoint.dialects.foundry.rules.standing import status_of
from counterpoint.dialects.foundry.rules.working.keeping import newest, refuse_large
from counterpoint.dialects.foundry.verbs.queries import Nodes, spec_named
from counterpoint.dialects.foundry.verbs.research.keeping import alone
from counterpoint.dialects.foundry.verbs.tasks.moving import Moving, type_in
from counterpoint.kernel.canonical import Json, dump_any, object_of
from counterpoint.kernel.errors import InvalidInput

_HISTORY: Final = 20
KINDS: Final[Mapping[str, StudyKind]] = {
    "chat": "chat",
    "consensus": "consensus",
    "thinkdeep": "thinkdeep",
    "ideate": "ideate",
    "deep-research": "deep-research",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchNode:
    """A research node. session: the study that was begun for it last; empty before. findings: empty before any were recorded."""

    spec: str
    id: str
    item: str
    title: str
    status: str
    kind: StudyKind
    mode: str
    session: str
    query: str
    findings: Mapping[str, Json]
    history: tuple[Json, ...]


class Researching:
    """Verbs for research nodes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def get(self, spec: str, node: str) -> ResearchNode:
        """Return a research node; NotFound, InvalidInput for a node that is none."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            return _node(known, _named(known, node))

    def start(self, spec: str, node: str) -> None:
        """Take a node up for the caller, for good; NotFound, NotReady, AlreadyClaimed, Conflict for what has ended."""
        Moving(alone(self._context)).start(spec, node)

    def note(self, spec: str, node: str, study: str, kind: StudyKind) -> ResearchNode:
        """Write down which study was begun for a node; return that."""
        with recording(self._context, "research.noted") as change:
            item = self._open(change, spec, node)
            told: dict[str, Json] = {"action": "execute", "workflow": kind, "session_id": study}
            _keep(change, item, told, {SESSION_ID: study})
            known = Nodes(change.writing, spec_named(change.writing, spec))
            return _node(known, change.get(Item, item.id))

    def record(
        self, spec: str, node: str, result: Finding, findings: Mapping[str, Json], session: str
    ) -> ResearchNode:
        """Write down what was found, and let the node stand so; return it. NotFound, InvalidInput, Conflict, NotReady, AlreadyClaimed."""
        told = {name: value for name, value in findings.items() if value}
        refuse_large(dump_any(told), "finding")
        with joined(self._context):
            with recording(self._context, "research.recorded") as change:
                item = self._open(change, spec, node)
                entry: dict[str, Json] = {
                    "action": "record",
                    "result": result,
                    "session_id": session or None,
                }
                kept: dict[str, Json] = {FINDINGS: told} if len(told) > 1 else {}
                if session and change.find(ResearchStudy, session) is not None:
                    kept[SESSION_ID] = session
                _keep(change, item, entry, kept)
            self._move(spec, node, result, str(told.get("summary", "")))
            return self.get(spec, node)

    def _move(self, spec: str, node: str, result: Finding, note: str) -> None:
        moving = Moving(self._context)
        if result == "completed":
            moving.complete(spec, node, note or "The research is completed.", is_counted=False)
        elif result == "blocked":
            moving.block(spec, node, note or "The research is blocked.")
        else:
            moving.reopen(spec, node, note)

    def _open(self, change: Change, spec: str, node: str) -> Item:
        change.open_session()
        known = Nodes(change.writing, spec_named(change.writing, spec))
        item = change.get(Item, _named(known, node).id)
        change.subject = item.id
        refuse_other(change, item)
        return item


def _named(known: Nodes, name: str) -> Item:
    item = known.named(name)
    if type_in(known.view, item) != RESEARCH:
        raise InvalidInput(
            f"{name} is no research node",
            hint='`task action="add"` with `task_type` research makes one.',
        )
    return item


def _keep(change: Change, item: Item, entry: Mapping[str, Json], more: Mapping[str, Json]) -> None:
    before = list_of(attributes_of(change.writing, item.id).get(HISTORY))
    history = newest([*before, {"timestamp": str(change.now), **entry}], _HISTORY)
    set_attributes(change, item, {HISTORY: history, **more})


def _node(known: Nodes, item: Item) -> ResearchNode:
    kept = attributes_of(known.view, item.id)
    is_blocked = known.view.exists(Record, item=item.id, kind="blocker", status="open")
    return ResearchNode(
        spec=known.spec,
        id=known.id(item.id),
        item=item.id,
        title=item.title,
        status=status_of(item.category, is_blocked=is_blocked),
        kind=KINDS.get(str(kept.get(RESEARCH_TYPE)), "consensus"),
        mode=str(kept.get(BLOCKING_MODE) or "soft"),
        session=str(kept.get(SESSION_ID) or ""),
        query=str(kept.get(QUERY) or ""),
        findings=object_of(kept.get(FINDINGS)),
        history=tuple(list_of(kept.get(HISTORY))),
    )
