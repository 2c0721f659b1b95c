"""Makes, reads, heads and moves specs.

Moves of specs between folders: activated, completed, archived and restored.
Rules: (1) which folder a spec is in follows from its root and its labels; one that is pending stays so until it is activated,
whatever is begun in it.
(2) Work in a spec that leaves the folder `active` is released first: nobody works in a spec that waits, and what others
hold is not taken from them. (3) Completing a spec by force skips its unfinished items, and resolves their blockers.
(4) An archived spec is parked where it is not closed: no dialect offers anything of it, so that no run may be at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from posixpath import normpath, relpath
from typing import Final

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import ROOT_KINDS, WORKABLE, Alias, Attribute, Item, Kind, Label
from counterpoint.core.operations.closing.part_status import (
    open_blockers,
    refuse_other,
    unblock,
    walk,
)
from counterpoint.core.operations.gates import refuse_stale_word
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import (
    labels_of,
    relabel,
    set_attributes,
    value_of,
)
from counterpoint.core.operations.recording.moves import bump_version, follow, give_back, move
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.foundry.journal.operations import journal_of
from counterpoint.dialects.foundry.models.runs import SpecSession
from counterpoint.dialects.foundry.models.specs import (
    MISSION,
    PENDING,
    REVISIONS,
    SPEC,
    Folder,
    MovedSpec,
    PhaseItself,
    PhaseLine,
    SpecDraft,
    SpecLine,
    SpecList,
    Tally,
)
from counterpoint.dialects.foundry.nodes.queries import (
    Nodes,
    all_nodes,
    chunks,
    get_spec,
    spec_id,
    spec_renamed,
)
from counterpoint.dialects.foundry.nodes.rules.progress import (
    document_of,
    folder_of,
    rolled_up,
    status_of,
)
from counterpoint.dialects.foundry.nodes.rules.shape import (
    CATEGORIES,
    LABELS,
    STATES,
    TEMPLATES,
    is_finished,
    natural_key,
    refuse_awaiting,
    refuse_move,
    refuse_unfinished,
    spec_id_start,
)
from counterpoint.dialects.foundry.nodes.writing import perform
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.specs.rules.authoring import (
    DESCRIPTION,
    PATHS,
    TITLE,
    extended,
    numbered,
    refuse_frontmatter,
    revised,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, PathOutside

_STATUSES: Final[Mapping[Folder, str]] = {
    "pending": "pending",
    "active": "in_progress",
    "completed": "completed",
    "archived": "archived",
}
LISTED: Final[tuple[Kind, ...]] = tuple(kind for kind in ROOT_KINDS if kind not in WORKABLE)
"""Kinds of roots that are listed as specs: a single task or issue is found by its id only."""


class Specs(Verbs):
    """Verbs for whole specs."""

    def create(
        self, draft: SpecDraft, *, dry_run: bool = False
    ) -> tuple[SpecLine, dict[str, Json]]:
        """Make a spec; return it and its document.

        Raises InvalidInput for an unknown template or category, PathOutside, and NotFound for a plan or a review that is no
        file of the project.
        """
        if draft.template not in TEMPLATES:
            names = ", ".join(TEMPLATES)
            raise InvalidInput(f"there is no template {draft.template!r}; there is: {names}")
        if draft.category and draft.category not in CATEGORIES:
            names = ", ".join(CATEGORIES)
            raise InvalidInput(f"there is no category {draft.category!r}; use one of: {names}")
        attributes: dict[str, Json] = {
            MISSION: draft.mission,
            "template": draft.template,
            "category": draft.category,
            "plan_path": self.plan_file(draft.plan_path),
            "plan_review_path": self.plan_file(draft.plan_review_path),
        }
        attributes = {name: value for name, value in attributes.items() if value}
        return perform(
            self._context,
            lambda context: _create_spec(context, draft.name, attributes),
            dry_run=dry_run,
        )

    def plan_file(self, path: str) -> str:
        """Return the path of a file relative to the folder of specs; NotFound, PathOutside.

        path: relative to that folder, to the project's root if it begins with `specs/`, or absolute.
        """
        evidence, places = self._context.ports.evidence, self._context.ports.get(SpecsPlaces)
        folder = places.specs.relative_to(places.home).as_posix()
        # Normalized, so that a path that leaves the folder of specs and comes back into the project works too.
        inside = path if path.startswith("/") else normpath(f"{folder}/{path}")
        if path.startswith(f"{folder}/"):
            inside = path
        outside: PathOutside | None = None
        for tree in dict.fromkeys((places.home, places.tree)):
            try:
                evidence.digest(tree, inside)
            except NotFound:
                continue
            except PathOutside as fault:
                outside = fault
                continue
            return relpath(evidence.contain(tree, inside), folder)
        raise outside or NotFound(
            f"there is no file {path!r} in the project",
            hint=f"Write it first; a path is taken from the folder `{folder}`.",
        )

    def within(self, path: str | None) -> Path:
        """Return a folder of the project, the worktree without a path; PathOutside."""
        places = self._context.ports.get(SpecsPlaces)
        return places.within(path) if path else places.tree

    def folder(self) -> Path:
        """Return the folder of specs, whether or not it exists; PathOutside."""
        return self._context.ports.get(SpecsPlaces).specs

    def find(self, name: str, *, counted: bool = False) -> SpecLine | None:
        """Find the spec of an id; None. counted: with its progress."""
        with self._context.reading() as view:
            try:
                root = get_spec(view, name)
            except NotFound:
                return None
            return line_of_spec(view, root, counted=counted)

    def get(self, name: str) -> SpecLine:
        """Get the spec of an id with its progress; NotFound."""
        with self._context.reading() as view:
            return line_of_spec(view, get_spec(view, name), counted=True)

    def list(
        self, folder: str = "", after: str = "", limit: int = 100, *, counted: bool = True
    ) -> list[SpecLine]:
        """List the specs in a folder, or all, by id, after an id; an unknown folder has none."""
        with self._context.reading() as view:
            folders = sorted(_list_folders(view), key=lambda folder: natural_key(folder[0]))
            chosen = [
                (name, item)
                for name, item, where in folders
                if folder in {"", where} and (not after or natural_key(name) > natural_key(after))
            ][:limit]
            roots = {
                root.id: root
                for some in chunks([item for _, item in chosen])
                for root in view.select(Item, id=some)
            }
            return [line_of_spec(view, roots[item], counted=counted) for _, item in chosen]

    def folders(self) -> dict[Folder, int]:
        """Count the specs in each folder."""
        counts: dict[Folder, int] = {"pending": 0, "active": 0, "completed": 0, "archived": 0}
        with self._context.reading() as view:
            for _, _, folder in _list_folders(view):
                counts[folder] += 1
        return counts

    def task_defaults(self, name: str) -> dict[str, Json]:
        """Return the defaults of a spec's tasks; NotFound."""
        with self._context.reading() as view:
            attribute = view.find(Attribute, get_spec(view, name).id, "category")
            return {"task_category": value_of(attribute)} if attribute else {}

    def document(self, name: str) -> dict[str, Json]:
        """Return the whole document of a spec, with its journal; NotFound."""
        with self._context.reading() as view:
            return whole(view, get_spec(view, name))


def whole(view: Reading, root: Item) -> dict[str, Json]:
    """Return the document of a spec, with its journal."""
    nodes = Nodes(view, root)
    document = document_of(nodes.spec, all_nodes(nodes), journal_of(nodes))
    document["last_updated"] = _last_change(nodes, document)
    if folder_of(root.category, labels_of(view, root.id)) == "archived":
        document["status"] = "archived"
    return document


def _last_change(nodes: Nodes, document: Mapping[str, Json]) -> Timestamp:
    """Return when anything changed that a document says; removed, written and resolved items count too."""
    items = dict(nodes.view.cells(Item, ("id", "updated_at"), root=nodes.root.id))
    moments = [document["last_updated"], *items.values()]
    moments += [entry["timestamp"] for entry in document["journal"]]
    for item, moment in nodes.view.cells(Record, ("item", "resolved_at"), kind="blocker"):
        if item in items and moment:
            moments.append(moment)
    return max(moments)


def line_of_spec(view: Reading, root: Item, *, counted: bool) -> SpecLine:
    """Return a spec as a line of a list; counted: with its progress."""
    nodes = Nodes(view, root)
    folder = folder_of(root.category, labels_of(view, root.id))
    if not counted:
        return SpecLine(root=root, spec=nodes.spec, folder=folder)
    tallies = nodes.tallies()
    lines = phase_lines(nodes, tallies.get)
    now = next((line for line in lines if line.status == "in_progress"), None)
    now = now or next((line for line in lines if line.status == "pending"), None)
    tally = tallies.get(root.id, Tally())
    blocked = folder in {"pending", "active"} and _is_blocked(view, root)
    return SpecLine(
        root=root,
        spec=nodes.spec,
        folder=folder,
        tally=tally,
        current=now,
        status="blocked" if blocked else _STATUSES[folder],
        awaiting=nodes.awaiting() if is_finished(tally) else (),
    )


def phase_lines(nodes: Nodes, tally_of: Callable[[str], Tally | None]) -> list[PhaseLine]:
    """Return the phases of a spec in order, each with its progress."""
    return [line_of_phase(phase, tally_of(phase.item) or Tally()) for phase in phases_of(nodes)]


def phases_of(nodes: Nodes) -> list[PhaseItself]:
    """Return the phases of a spec in order, without their progress."""
    below = nodes.children((nodes.root.id,)).get(nodes.root.id, ())
    return phases_themselves(nodes, [item for item in below if item.kind == "phase"])


def phases_themselves(nodes: Nodes, phases: Sequence[Item]) -> list[PhaseItself]:
    """Return some phases of a spec, without their progress."""
    names = nodes.ids(item.id for item in phases)
    blocked = _list_blocked(nodes.view, [item.id for item in phases])
    gated = nodes.gated(item.id for item in phases if not item.is_closed)
    return [
        PhaseItself(
            item=item.id,
            id=names[item.id],
            title=item.title,
            status=status_of(item.category, is_blocked=item.id in blocked),
            is_gated=item.id in gated,
        )
        for item in phases
    ]


def line_of_phase(phase: PhaseItself, tally: Tally) -> PhaseLine:
    """Return a phase as a line of a list, with its progress."""
    status = phase.status
    if tally.total:
        status = rolled_up(status, tally, is_begun=False, is_gated=phase.is_gated)
    return PhaseLine(id=phase.id, title=phase.title, status=status, tally=tally)


def _is_blocked(view: Reading, root: Item) -> bool:
    """Return whether anything in a spec is blocked, or failed."""
    if view.exists(Item, root=root.id, status="failed"):
        return True
    # Few in any project.
    blocked_ids = {name for (name,) in view.cells(Record, ("item",), kind="blocker", status="open")}
    return any(
        view.exists(Item, root=root.id, id=some, category=UNCLOSED)
        for some in chunks(sorted(blocked_ids))
    )


def _list_blocked(view: Reading, items: Sequence[str]) -> set[str]:
    """Return the items that have an open blocker."""
    return {
        name
        for some in chunks(items)
        for (name,) in view.cells(Record, ("item",), item=some, kind="blocker", status="open")
    }


def _list_folders(view: Reading) -> list[tuple[str, str, Folder]]:
    """Return every listed spec by its id, that of its root, and its folder."""
    roots = view.cells(Item, ("id", "category"), parent="", kind=LISTED)
    names = {item: name for name, item in view.cells(Alias, ("name", "item"), scope=SPEC)}
    labels: dict[str, list[str]] = {}
    for item, label in view.cells(Label, ("item", "name"), name=tuple(LABELS.values())):
        labels.setdefault(item, []).append(label)
    return [
        (names.get(item, item), item, folder_of(category, labels.get(item, ())))
        for item, category in roots
    ]


def _create_spec(
    context: Context, name: str, attributes: dict[str, Json]
) -> tuple[SpecLine, dict[str, Json]]:
    # Opened here so that nobody takes the number before the spec is made.
    with recording(context, "spec.named") as change:
        # Nothing of a secret comes into an id.
        chosen = free_spec_id(change.writing, mask(name, context.ports.secrets), change.now[:10])
    draft = Draft(
        kind="spec",
        title=name,
        lifecycle="declared",
        labels=(PENDING,),
        aliases=((SPEC, chosen),),
        attributes=attributes,
    )
    root = Plans(context).create(draft).root
    with context.reading() as view:
        return line_of_spec(view, root, counted=False), whole(view, root)


def free_spec_id(view: Reading, name: str, day: str) -> str:
    """Return the first id of a name on a day that no spec has, or ever had."""
    start = spec_id_start(name, day)
    names = (f"{start}{number:03}" for number in count(1))
    return next(
        name
        for name in names
        if view.find(Alias, SPEC, name) is None and not spec_renamed(view, name)
    )


_Changed = tuple[list[Json], dict[str, Json]]
"""A list after a change, and the details of the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutValue:
    """A value of a spec's head, with the one before it."""

    spec: str
    value: Json
    before: Json


class Frontmatter(Verbs):
    """Verbs for the title, the metadata and the lists of a spec."""

    def put(self, spec: str, key: str, value: Json, *, dry_run: bool = False) -> PutValue:
        """Set the value of a key; None removes it.

        Raises NotFound, InvalidInput for a derived key and for an invalid value, PathOutside.
        """
        refuse_frontmatter(key, value)
        if key in PATHS and isinstance(value, str):
            value = Specs(self._context).plan_file(value)

        def act(context: Context) -> PutValue:
            # Opened here so that nobody changes the value before it is set.
            with recording(context, "spec.looked") as change:
                root = get_spec(change.writing, spec)
                before = _value(change.writing, root, key)
                name = spec_id(change.writing, root)
            Items(context).edit(root.id, _edit(key, value))
            return PutValue(spec=name, value=value, before=before)

        return perform(self._context, act, dry_run=dry_run)

    def entries(self, spec: str, kind: SpecList) -> tuple[str, list[dict[str, Json]]]:
        """Return the id of the spec, and the entries of a list with their ids and positions; NotFound."""
        with self._context.reading() as view:
            root = get_spec(view, spec)
            return spec_id(view, root), numbered(kind, _value(view, root, kind.key))

    def add(
        self, spec: str, kind: SpecList, entry: Json, *, dry_run: bool = False
    ) -> tuple[str, dict[str, Json]]:
        """Add an entry to a list; return the id of the spec, and the entry with its id and position.

        Raises NotFound, InvalidInput, Conflict for a duplicate.
        """

        def after(before: Json) -> _Changed:
            return extended(kind, before, entry), {}

        name, (entries, _) = self._change(spec, kind.key, after, dry_run=dry_run)
        return name, numbered(kind, entries)[-1]

    def revise(
        self, spec: str, version: str, changes: str, author: str = "", *, dry_run: bool = False
    ) -> tuple[str, dict[str, Json]]:
        """Add a revision to the history of a spec, by the caller unless an author is named; NotFound, Conflict."""
        by = author or self._context.caller.actor.name
        date = self._context.ports.clock.now()

        def after(before: Json) -> _Changed:
            return revised(before, version, changes, date, by)

        name, (_, revision) = self._change(spec, REVISIONS, after, dry_run=dry_run)
        return name, revision

    def _change(
        self,
        spec: str,
        key: str,
        after: Callable[[Json], _Changed],
        *,
        dry_run: bool,
    ) -> tuple[str, _Changed]:
        """Read and change a list in one transaction."""

        def act(context: Context) -> tuple[str, _Changed]:
            with recording(context, "spec.noted") as change:
                change.open_session()
                root = change.get(Item, get_spec(change.writing, spec).id)
                change.subject = root.id
                changed = after(_value(change.writing, root, key))
                set_attributes(change, root, {key: changed[0]})
                change.put(bump_version(change, root))
                change.add_facts(field=key)
                return spec_id(change.writing, root), changed

        return perform(self._context, act, dry_run=dry_run)


def _value(view: Reading, root: Item, key: str) -> Json:
    if key == TITLE:
        return root.title
    if key == DESCRIPTION:
        return root.body or None
    attribute = view.find(Attribute, root.id, key)
    return value_of(attribute) if attribute else None


def _edit(key: str, value: Json) -> Edit:
    if key == TITLE:
        return Edit(title=str(value))
    if key == DESCRIPTION:
        return Edit(body="" if value is None else str(value))
    return Edit(attributes={key: value})


class Lifecycle(Verbs):
    """Verbs that move specs between folders."""

    def move(self, spec: str, to: Folder, *, force: bool = False) -> MovedSpec:
        """Move a spec to a folder; one that is there already stays as it is.

        force: complete it even if it is not finished.
        Raises NotFound, Conflict for a move that does not exist and for an unfinished spec, AlreadyClaimed, GateClosed.
        """
        if to == "completed":
            with self._context.reading() as view:
                root = get_spec(view, spec)
            refuse_stale_word(self._context, root.id, STATES[to])
        with recording(self._context, "spec.moved") as change:
            change.open_session()
            root = change.get(Item, get_spec(change.writing, spec).id)
            change.subject = root.id
            nodes = Nodes(change.writing, root)
            before = folder_of(root.category, labels_of(change.writing, root.id))
            if before == to:
                return MovedSpec(spec=nodes.spec, before=before, after=to)
            refuse_move(nodes.spec, before, to)
            _refuse_run(change, nodes, to)
            change.add_facts(moved=[before, to])
            skipped = 0
            if to == "completed":
                if not force:
                    refuse_unfinished(nodes.spec, nodes.tallies().get(root.id, Tally()))
                    refuse_awaiting(nodes.awaiting())
                skipped = _skip_unfinished(change, root)
            elif to != "active" and before in {"pending", "active"}:
                _release_below(change, root)
            _set_folder(change, root.id, to)
            return MovedSpec(spec=nodes.spec, before=before, after=to, skipped=skipped)

    def rest(self, spec: str) -> None:
        """Set a pending spec back, as if nothing had begun in it; NotFound, AlreadyClaimed."""
        with recording(self._context, "spec.moved") as change:
            change.open_session()
            root = change.get(Item, get_spec(change.writing, spec).id)
            change.subject = root.id
            _release_below(change, root)
            _set_folder(change, root.id, "pending")


def _refuse_run(change: Change, nodes: Nodes, to: Folder) -> None:
    """Raise Conflict where a run would continue in an archived spec."""
    if to != "archived":
        return
    for row in change.writing.select(SpecSession, spec=nodes.root.id, status="running", limit=1):
        raise Conflict(
            f"run {row.session} is working on {nodes.spec}",
            hint="End it first with `task session end`.",
            session_id=row.session,
        )


def keep_pending(change: Change, root: Item) -> None:
    """Keep a pending spec pending when work in it begins. root: before the change."""
    if root.category == "open":
        relabel(change, root.id, add=(PENDING,))


def _set_folder(change: Change, name: str, to: Folder) -> None:
    relabel(
        change,
        name,
        add=[label for folder, label in LABELS.items() if folder == to],
        drop=[label for folder, label in LABELS.items() if folder != to],
    )
    root = change.get(Item, name)
    if to == "archived" and root.is_closed:
        change.put(bump_version(change, root))
        return
    moves = root.states.way(root.status, STATES[to]) if root.status != STATES[to] else ()
    if not moves:
        change.put(bump_version(change, root))
    for state in moves:
        move(change, change.get(Item, name), state)


def _release_below(change: Change, root: Item) -> None:
    """Release all work below a spec."""
    tasks = change.select(Item, root=root.id, kind=WORKABLE, category=("active", "review"))
    for item in tasks:
        refuse_other(change, item)
        give_back(change, change.get(Item, item.id))
    for phase in change.select(Item, root=root.id, category=("active", "review"), order="number"):
        if phase.id != root.id and not phase.is_workable:
            follow(change, change.get(Item, phase.id), "open")


def _skip_unfinished(change: Change, root: Item) -> int:
    """Skip the open and failed items of a spec, from the leaves up; return how many tasks they are."""
    unfinished = change.select(Item, root=root.id, category=UNCLOSED, order="number desc")
    unfinished += change.select(Item, root=root.id, status="failed", order="number desc")
    unfinished = [item for item in unfinished if item.id != root.id]
    for item in unfinished:
        refuse_other(change, item)
        unblock(change, item, open_blockers(change, item), "its spec was completed")
    for item in unfinished:
        current = change.get(Item, item.id)
        # Closing one item may have closed its parent.
        if not current.is_closed or current.status == "failed":
            walk(change, current, "skipped")
    return sum(item.is_workable for item in unfinished)
