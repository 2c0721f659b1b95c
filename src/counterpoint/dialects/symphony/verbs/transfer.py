"""Transfer an issue to another project, with everything that was written for it.

A move has three steps, and each can be repeated: (1) in the other project, in one transaction: the issue
with a number of its own, the former id as another name, its labels, values, gates and records, and the parts
that anybody has in it; (2) the files
of `docs/tickets/<name>/` copied below the new name; (3) here, in one transaction: the issue is
cancelled and says where it goes on. Whoever moves it again after an interruption finds what is done
already and goes on from there; after the last step the answer is the same again.

Sub-tasks do not go along: an issue with open ones stays. Nor do edges: what waited for it is let go, and
is told why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from counterpoint.core.model.identity import Connection, Contribution
from counterpoint.core.model.journal import Record, RecordKind
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Alias, Gate, Item, Project
from counterpoint.core.operations.claims import refuse_taken
from counterpoint.core.operations.closing.ending import let_go
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.readiness import refuse_open_children
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.contributions import list_relaxations, relax
from counterpoint.core.operations.recording.facets import (
    attribute_object,
    attributes_of,
    labels_of,
    names_of,
    set_attributes,
)
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import move
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.callers import suffices
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.dialects.symphony.nouns import TransferredIssue
from counterpoint.dialects.symphony.rules import issues as meaning
from counterpoint.dialects.symphony.rules.contracts import artifact_place
from counterpoint.dialects.symphony.verbs import queries
from counterpoint.dialects.symphony.verbs.policies import policy_of
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    Conflict,
    IllegalMove,
    InvalidInput,
    NotFound,
)

FOLDER: Final = "docs/tickets"
"""Where the texts of an issue lie, each in a folder of the issue's name."""
_KINDS: Final[tuple[RecordKind, ...]] = ("finding", "learning", "comment", "decision")
_RECORDS: Final = 500
_FILES: Final = 500
_FILE_LIMIT: Final = 5_000_000
_STAY: Final = frozenset({queries.MOVED_TO, "revision"})
"""Values of an issue that say something of its place here."""


class Transfer(Verbs):
    """Verbs for moving issues between projects."""

    def move(self, name: str, target: str, reason: str) -> TransferredIssue:
        """Move an issue to another project; the same move again answers as before.

        Raises NotFound, InvalidInput for the same project, IllegalMove if it is closed, Conflict without
        a label that allows it, GateClosed with open sub-tasks, AlreadyClaimed if another is at it.
        """
        destination = self._open_destination(target)
        with self._context.reading() as view:
            item = queries.find_issue(view, name)
            labels = labels_of(view, item.id)
            self._refuse(view, item, labels, target)
        self._refuse_looser(item, destination)
        moved = self._make(destination, item, labels, reason)
        artifacts = self._copy(spoken_of(item.id), spoken_of(moved.id))
        waited = self._close_original(item, moved, reason)
        warnings = (f"{', '.join(waited)} do not wait for it any more",) if waited else ()
        with destination.reading() as view:
            after = labels_of(view, moved.id)
        return TransferredIssue(
            item=moved, origin=item.id, labels=after, artifacts=artifacts, warnings=warnings
        )

    def _open_destination(self, target: str) -> Context:
        """Return a context of the same caller in another project, with a transaction of its own."""
        ports = self._context.ports
        if target == ports.project:
            raise InvalidInput(f"the issue is in {target} already", hint="Name another project.")
        projects = [row.project for row in ports.store.projects()]
        if target not in projects:
            raise NotFound(
                f"there is no project {target[:80]!r}", hint=f"There are: {', '.join(projects)}."
            )
        return Context(
            ports=replace(ports, project=target), caller=replace(self._context.caller, item="")
        )

    def _refuse(self, view: Reading, item: Item, labels: tuple[str, ...], target: str) -> None:
        goes = attribute_object(view, item.id, queries.MOVED_TO)
        if goes.get("project") == target:
            return
        if item.is_closed:
            where = f" and goes on as {goes['item']} in {goes['project']}" if goes else ""
            raise IllegalMove(
                f"{item.id} is {item.status}{where}", hint="Only open work is moved.", **goes
            )
        if not meaning.may_move(labels):
            raise Conflict(
                f"{item.id} has no label that lets it be moved",
                hint=f"It needs a phase:* label, or one of {', '.join(sorted(meaning.MOVABLE))}.",
            )
        refuse_open_children(view, item)
        holders = Holders(view, self._context)
        other = holders.other(view.find(Claim, item.id))
        if other is not None:
            refuse_taken(other, departure=holders.departure(other))

    def _refuse_looser(self, item: Item, destination: Context) -> None:
        """Refuse callers who may not relax requirements, if the destination asks less of reviews."""
        with self._context.reading() as view, destination.reading() as other:
            own_project, other_project = view.find(Project), other.find(Project)
        if (
            own_project
            and other_project
            and not item.is_closed
            and not suffices(other_project.reviews, own_project.reviews)
        ):
            with recording(self._context, "issue.sought", item.id) as change:
                change.open_session()
                relax(change, item.id, "move to where less is asked of", instead=Act.CONFIGURE)

    def _make(self, destination: Context, item: Item, labels: tuple[str, ...], reason: str) -> Item:
        """Return the issue in the other project, made unless it is there."""
        with self._context.reading() as view:
            attributes = {n: v for n, v in attributes_of(view, item.id).items() if n not in _STAY}
            names = names_of(view, item.id)
            records = [
                record
                for kind in _KINDS
                for record in queries.records(view, item.id, kind, 0, _RECORDS)
            ]
            trust = _Trust.of(view, item.id)
        with transaction(destination):
            with recording(destination, "issue.sought") as change:
                alias = change.find(Alias, queries.IDENTIFIER, item.id)
                if alias is not None:
                    return change.get(Item, alias.item)
                phases = policy_of(change.writing).phases
                change.get(Project)
            moved = Plans(destination).create(self._draft(item, labels, phases)).root
            with recording(destination, "issue.arrived", moved.id) as change:
                change.open_session()
                before, after = (
                    f"{FOLDER}/{spoken_of(item.id)}/",
                    f"{FOLDER}/{spoken_of(moved.id)}/",
                )
                set_attributes(change, moved, _rename_paths(attributes, before, after))
                trust.put(change, moved)
                former = names.get(queries.IDENTIFIER)
                change.add_facts(origin=item.id, project=item.project, before=former or "")
            self._copy_records(destination, moved, records)
            origin = f"{spoken_of(item.id)} of {item.project}"
            _comment(destination, moved, f"Moved here from {origin}: {reason}")
            return moved

    def _draft(self, item: Item, labels: tuple[str, ...], phases: tuple[str, ...]) -> Draft:
        origin = spoken_of(item.id)
        return Draft(
            kind="issue",
            title=item.title,
            body=item.body,
            needs=(),
            labels=meaning.after_move(
                labels, origin, phases, self._phases_with_artifact(origin, phases)
            ),
            priority=item.priority,
            status="open",
            aliases=((queries.IDENTIFIER, item.id),),
        )

    def _phases_with_artifact(self, identifier: str, phases: tuple[str, ...]) -> list[str]:
        """Return the phases that have their artifact already."""
        ports, root = self._context.ports, self._context.caller.root
        existing = set(ports.evidence.below(root, f"{FOLDER}/{identifier}", _FILES))
        known_phases = ports.get(ContractDirectory).phases()
        return [
            phase
            for phase in phases
            if phase in known_phases
            and artifact_place(ports.get(ContractDirectory).contract(phase), identifier) in existing
        ]

    def _copy_records(self, destination: Context, moved: Item, records: list[Record]) -> None:
        """Copy the records about the issue to the other project, with their origin."""
        journal = Journal(destination)
        for record in sorted(records, key=lambda row: row.number):
            with recording(destination, f"{record.kind}.retold", moved.id) as change:
                note = Note(
                    kind=record.kind,
                    item=moved.id,
                    title=record.title,
                    body=record.body,
                    tags=record.tags,
                    details={
                        "author": f"agent:{record.agent}",
                        **load_object(record.details),
                        "retold": {"record": record.id, "at": record.created_at},
                    },
                )
                drafted = journal.draft(change, note, change.open_session(), record.files)
                change.put(replace(drafted, status=record.status))

    def _copy(self, origin: str, name: str) -> tuple[str, ...]:
        """Copy the files of an issue below its new name; a file that is there stays as it is."""
        evidence, root = self._context.ports.evidence, self._context.caller.root
        before, after = f"{FOLDER}/{origin}/", f"{FOLDER}/{name}/"
        existing = set(evidence.below(root, after.rstrip("/"), _FILES))
        copied: list[str] = []
        for path in evidence.below(root, before.rstrip("/"), _FILES):
            target = after + path.removeprefix(before)
            if target not in existing:
                content = evidence.load(root, path, _FILE_LIMIT)
                evidence.save(root, target, content.replace(before.encode(), after.encode()))
            copied.append(target)
        return tuple(copied)

    def _close_original(self, item: Item, moved: Item, reason: str) -> list[str]:
        """Cancel the original issue, unless it is closed, with a note of its new place; return the items that waited for it."""
        with transaction(self._context):
            with recording(self._context, "issue.moved", item.id) as change:
                change.open_session()
                stored = change.get(Item, item.id)
                if stored.is_closed:
                    return []
                moved_to: dict[str, Json] = {"project": moved.project, "item": moved.id}
                set_attributes(change, stored, {queries.MOVED_TO: moved_to})
                move(change, stored, "cancelled")
                where = f"it goes on as {spoken_of(moved.id)} of {moved.project}"
                waited = let_go(change, stored, where)
                change.add_facts(**moved_to, let_go=list(waited))
            _comment(
                self._context,
                item,
                f"Moved to {spoken_of(moved.id)} of {moved.project}: {reason}",
            )
            return waited


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trust:
    """Who worked on an issue, and what is asked of it: that goes wherever it goes."""

    parts: list[Contribution]
    connections: list[Connection]
    gates: list[Gate]

    @classmethod
    def of(cls, view: Reading, item: str) -> _Trust:
        """Return the contributions, connections and gates of an issue."""
        parts, stored = view.select(Contribution, item=item), view.find(Item, item)
        above = stored.parent if stored is not None else ""
        behind = tuple(part.principal for part in parts)
        return cls(
            parts=[*parts, *(replace(part, item=item) for part in list_relaxations(view, above))],
            connections=view.select(Connection, id=behind) if behind else [],
            gates=view.select(Gate, item=item),
        )

    def put(self, change: Change, moved: Item) -> None:
        """Store them for the issue in the other project; evidence that met a gate is not copied."""
        target = {"project": moved.project, "item": moved.id}
        for connection in self.connections:
            if change.find(Connection, connection.id) is None:
                change.put(replace(connection, project=moved.project))
        for part in self.parts:
            change.put(replace(part, **target))
        for gate in self.gates:
            # Who waived it did so there; where a person is asked for, one says so again.
            stays = gate.status == "waived" and change.get(Project).reviews != "person"
            anew = gate if stays else replace(gate, status="closed", proof="")
            sure = "" if anew.independence == "person" else anew.independence
            change.put(replace(anew, **target, updated_at=change.now, independence=sure))
            if anew.holds == "start" and anew.status == "closed":
                shift(change, change.get(Item, moved.id), 1)


def _comment(context: Context, item: Item, text: str) -> None:
    Journal(context).append(Note(kind="comment", item=item.id, body=text))


def _rename_paths(values: dict[str, Json], before: str, after: str) -> dict[str, Json]:
    """Return values with the paths in them renamed."""
    return {
        name: canonical.load(canonical.dump_any(value).replace(before, after))
        for name, value in values.items()
    }
