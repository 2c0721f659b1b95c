"""Research nodes of specs: researched with their own settings, and closed with findings.

Findings are stored with the node, and so are part of the file of its spec. A node whose `blocking_mode` is hard stops its dependents
until it is completed (tasks/editing.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.core.operations.closing.part_status import refuse_other
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.dialects.foundry.models.research import (
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
from counterpoint.dialects.foundry.models.tasks import BLOCKING_MODE
from counterpoint.dialects.foundry.nodes.queries import Nodes, get_spec
from counterpoint.dialects.foundry.nodes.rules.progress import status_of
from counterpoint.dialects.foundry.research.asking import alone
from counterpoint.dialects.foundry.research.rules.answers import list_of
from counterpoint.dialects.foundry.tasks.moving import Moving, type_in
from counterpoint.dialects.foundry.tasks.rules import newest, refuse_large
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


class Researching(Verbs):
    """Verbs for research nodes."""

    def get(self, spec: str, node: str) -> ResearchNode:
        """Return a research node; NotFound, InvalidInput for a node that is none."""
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            return _node(nodes, _get_research_item(nodes, node))

    def start(self, spec: str, node: str) -> None:
        """Start a node for the caller, in a transaction of its own; NotFound, NotReady, AlreadyClaimed, Conflict for one that has ended."""
        Moving(alone(self._context)).start(spec, node)

    def note(self, spec: str, node: str, study: str, kind: StudyKind) -> ResearchNode:
        """Record which study was begun for a node; return the node."""
        with recording(self._context, "research.noted") as change:
            item = self._open_node(change, spec, node)
            entry: dict[str, Json] = {"action": "execute", "workflow": kind, "session_id": study}
            _store_history(change, item, entry, {SESSION_ID: study})
            nodes = Nodes(change.writing, get_spec(change.writing, spec))
            return _node(nodes, change.get(Item, item.id))

    def record(
        self, spec: str, node: str, result: Finding, findings: Mapping[str, Json], session: str
    ) -> ResearchNode:
        """Store findings, and set the node's status; return it. NotFound, InvalidInput, Conflict, NotReady, AlreadyClaimed."""
        nonempty = {name: value for name, value in findings.items() if value}
        refuse_large(dump_any(nonempty), "finding")
        with transaction(self._context):
            with recording(self._context, "research.recorded") as change:
                item = self._open_node(change, spec, node)
                entry: dict[str, Json] = {
                    "action": "record",
                    "result": result,
                    "session_id": session or None,
                }
                attributes: dict[str, Json] = {FINDINGS: nonempty} if len(nonempty) > 1 else {}
                if session and change.find(ResearchStudy, session) is not None:
                    attributes[SESSION_ID] = session
                _store_history(change, item, entry, attributes)
            self._move(spec, node, result, str(nonempty.get("summary", "")))
            return self.get(spec, node)

    def _move(self, spec: str, node: str, result: Finding, note: str) -> None:
        moving = Moving(self._context)
        if result == "completed":
            moving.complete(spec, node, note or "The research is completed.", is_counted=False)
        elif result == "blocked":
            moving.block(spec, node, note or "The research is blocked.")
        else:
            moving.reopen(spec, node, note)

    def _open_node(self, change: Change, spec: str, node: str) -> Item:
        change.open_session()
        nodes = Nodes(change.writing, get_spec(change.writing, spec))
        item = change.get(Item, _get_research_item(nodes, node).id)
        change.subject = item.id
        refuse_other(change, item)
        return item


def _get_research_item(nodes: Nodes, name: str) -> Item:
    item = nodes.get(name)
    if type_in(nodes.view, item) != RESEARCH:
        raise InvalidInput(
            f"{name} is no research node",
            hint='`task action="add"` with `task_type` research makes one.',
        )
    return item


def _store_history(
    change: Change, item: Item, entry: Mapping[str, Json], more: Mapping[str, Json]
) -> None:
    before = list_of(attributes_of(change.writing, item.id).get(HISTORY))
    history = newest([*before, {"timestamp": str(change.now), **entry}], _HISTORY)
    set_attributes(change, item, {HISTORY: history, **more})


def _node(nodes: Nodes, item: Item) -> ResearchNode:
    attributes = attributes_of(nodes.view, item.id)
    is_blocked = nodes.view.exists(Record, item=item.id, kind="blocker", status="open")
    return ResearchNode(
        spec=nodes.spec,
        id=nodes.id(item.id),
        item=item.id,
        title=item.title,
        status=status_of(item.category, is_blocked=is_blocked),
        kind=KINDS.get(str(attributes.get(RESEARCH_TYPE)), "consensus"),
        mode=str(attributes.get(BLOCKING_MODE) or "soft"),
        session=str(attributes.get(SESSION_ID) or ""),
        query=str(attributes.get(QUERY) or ""),
        findings=object_of(attributes.get(FINDINGS)),
        history=tuple(list_of(attributes.get(HISTORY))),
    )
