"""Specs: made, found, listed, and read as whole documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from posixpath import normpath, relpath
from typing import Final

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import ROOT_KINDS, WORKABLE, Alias, Attribute, Item, Kind, Label
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import labels_of, value_of
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.foundry.nouns.nodes import PENDING, SPEC, Folder, Tally
from counterpoint.dialects.foundry.nouns.specs import (
    MISSION,
    PhaseItself,
    PhaseLine,
    SpecDraft,
    SpecLine,
)
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.rules.folders import LABELS, is_finished
from counterpoint.dialects.foundry.rules.nodes import document_of
from counterpoint.dialects.foundry.rules.numbering import natural_key, spec_id_start
from counterpoint.dialects.foundry.rules.shape import CATEGORIES, TEMPLATES
from counterpoint.dialects.foundry.rules.standing import folder_of, rolled_up, status_of
from counterpoint.dialects.foundry.verbs.journal import journal_of
from counterpoint.dialects.foundry.verbs.performing import perform
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks, spec_named, spec_renamed
from counterpoint.dialects.foundry.verbs.reading import all_nodes
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside

_STATUSES: Final[Mapping[Folder, str]] = {
    "pending": "pending",
    "active": "in_progress",
    "completed": "completed",
    "archived": "archived",
}
LISTED: Final[tuple[Kind, ...]] = tuple(kind for kind in ROOT_KINDS if kind not in WORKABLE)
"""The kinds of roots that are listed as specs: a single task or issue is found by its id only."""


class Specs:
    """Verbs for whole specs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def create(
        self, wanted: SpecDraft, *, dry_run: bool = False
    ) -> tuple[SpecLine, dict[str, Json]]:
        """Make a spec; answer it and its document.

        Raises InvalidInput for an unknown template or category, PathOutside, and NotFound for a plan or a review that is no
        file of the project.
        """
        if wanted.template not in TEMPLATES:
            known = ", ".join(TEMPLATES)
            raise InvalidInput(f"there is no template {wanted.template!r}; there is: {known}")
        if wanted.category and wanted.category not in CATEGORIES:
            known = ", ".join(CATEGORIES)
            raise InvalidInput(f"there is no category {wanted.category!r}; use one of: {known}")
        kept: dict[str, Json] = {
            MISSION: wanted.mission,
            "template": wanted.template,
            "category": wanted.category,
            "plan_path": self.plan_file(wanted.plan_path),
            "plan_review_path": self.plan_file(wanted.plan_review_path),
        }
        kept = {name: value for name, value in kept.items() if value}
        return perform(
            self._context, lambda context: _create(context, wanted.name, kept), dry_run=dry_run
        )

    def plan_file(self, path: str) -> str:
        """Return the path of a file from the folder of specs on; NotFound, PathOutside.

        path: from there, from the root of the project if it begins with `specs/`, or absolute.
        """
        evidence, places = self._context.ports.evidence, self._context.ports.get(SpecsPlaces)
        folder = places.specs.relative_to(places.home).as_posix()
        # As it is written down, so that one that leaves the folder of specs and comes back into the project is read too.
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
        """Return the folder of specs, whether or not it is there; PathOutside."""
        return self._context.ports.get(SpecsPlaces).specs

    def find(self, name: str, *, counted: bool = False) -> SpecLine | None:
        """Return the spec of an id, or None; counted: with how far it is."""
        with self._context.reading() as view:
            try:
                root = spec_named(view, name)
            except NotFound:
                return None
            return line_of_spec(view, root, counted=counted)

    def get(self, name: str) -> SpecLine:
        """Return the spec of an id with how far it is; NotFound."""
        with self._context.reading() as view:
            return line_of_spec(view, spec_named(view, name), counted=True)

    def list(
        self, folder: str = "", after: str = "", limit: int = 100, *, counted: bool = True
    ) -> list[SpecLine]:
        """Return the specs in a folder, or all, by id, beyond an id; a folder that there is not has none."""
        with self._context.reading() as view:
            known = sorted(_folders(view), key=lambda one: natural_key(one[0]))
            chosen = [
                (name, item)
                for name, item, where in known
                if folder in {"", where} and (not after or natural_key(name) > natural_key(after))
            ][:limit]
            roots = {
                root.id: root
                for some in chunks([item for _, item in chosen])
                for root in view.select(Item, id=some)
            }
            return [line_of_spec(view, roots[item], counted=counted) for _, item in chosen]

    def folders(self) -> dict[Folder, int]:
        """Return how many specs are in each folder."""
        found: dict[Folder, int] = {"pending": 0, "active": 0, "completed": 0, "archived": 0}
        with self._context.reading() as view:
            for _, _, folder in _folders(view):
                found[folder] += 1
        return found

    def task_defaults(self, name: str) -> dict[str, Json]:
        """Return what a task of a spec is unless something else is said of it; NotFound."""
        with self._context.reading() as view:
            kept = view.find(Attribute, spec_named(view, name).id, "category")
            return {"task_category": value_of(kept)} if kept else {}

    def document(self, name: str) -> dict[str, Json]:
        """Return the whole document of a spec, with its journal; NotFound."""
        with self._context.reading() as view:
            return whole(view, spec_named(view, name))


def whole(view: Reading, root: Item) -> dict[str, Json]:
    """Return the document of a spec, with its journal."""
    known = Nodes(view, root)
    document = document_of(known.spec, all_nodes(known), journal_of(known))
    document["last_updated"] = _last_change(known, document)
    if folder_of(root.category, labels_of(view, root.id)) == "archived":
        document["status"] = "archived"
    return document


def _last_change(known: Nodes, document: Mapping[str, Json]) -> Timestamp:
    """Return when anything changed that a document says; what was taken out, written or resolved changes it too."""
    items = dict(known.view.cells(Item, ("id", "updated_at"), root=known.root.id))
    moments = [document["last_updated"], *items.values()]
    moments += [entry["timestamp"] for entry in document["journal"]]
    for item, moment in known.view.cells(Record, ("item", "resolved_at"), kind="blocker"):
        if item in items and moment:
            moments.append(moment)
    return max(moments)


def line_of_spec(view: Reading, root: Item, *, counted: bool) -> SpecLine:
    """Return a spec as lists show it; counted: with how far it is."""
    known = Nodes(view, root)
    folder = folder_of(root.category, labels_of(view, root.id))
    if not counted:
        return SpecLine(root=root, spec=known.spec, folder=folder)
    tallies = known.tallies()
    lines = phase_lines(known, tallies.get)
    now = next((one for one in lines if one.status == "in_progress"), None)
    now = now or next((one for one in lines if one.status == "pending"), None)
    tally = tallies.get(root.id, Tally())
    blocked = folder in {"pending", "active"} and _is_blocked(view, root)
    return SpecLine(
        root=root,
        spec=known.spec,
        folder=folder,
        tally=tally,
        current=now,
        status="blocked" if blocked else _STATUSES[folder],
        awaiting=known.awaiting() if is_finished(tally) else (),
    )


def phase_lines(known: Nodes, tally_of: Callable[[str], Tally | None]) -> list[PhaseLine]:
    """Return the phases of a spec in their order, each with what is known to be done of it."""
    return [line_of_phase(one, tally_of(one.item) or Tally()) for one in phases_of(known)]


def phases_of(known: Nodes) -> list[PhaseItself]:
    """Return the phases of a spec in their order, apart from what is done of them."""
    below = known.children((known.root.id,)).get(known.root.id, ())
    return phases_themselves(known, [item for item in below if item.kind == "phase"])


def phases_themselves(known: Nodes, phases: Sequence[Item]) -> list[PhaseItself]:
    """Return some phases of a spec, apart from what is done of them."""
    names = known.ids(item.id for item in phases)
    blocked = _blocked(known.view, [item.id for item in phases])
    gated = known.gated(item.id for item in phases if not item.is_closed)
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
    """Return a phase as lists show it, with what is done of it."""
    status = phase.status
    if tally.total:
        status = rolled_up(status, tally, is_begun=False, is_gated=phase.is_gated)
    return PhaseLine(id=phase.id, title=phase.title, status=status, tally=tally)


def _is_blocked(view: Reading, root: Item) -> bool:
    """Return whether anything in a spec is blocked, or failed."""
    if view.exists(Item, root=root.id, status="failed"):
        return True
    # Few in any project.
    held = {name for (name,) in view.cells(Record, ("item",), kind="blocker", status="open")}
    return any(
        view.exists(Item, root=root.id, id=some, category=UNCLOSED) for some in chunks(sorted(held))
    )


def _blocked(view: Reading, items: Sequence[str]) -> set[str]:
    """Return which items have an open blocker."""
    return {
        name
        for some in chunks(items)
        for (name,) in view.cells(Record, ("item",), item=some, kind="blocker", status="open")
    }


def _folders(view: Reading) -> list[tuple[str, str, Folder]]:
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


def _create(context: Context, name: str, kept: dict[str, Json]) -> tuple[SpecLine, dict[str, Json]]:
    # Opened here so that nobody takes the number between the look and the making.
    with recording(context, "spec.named") as change:
        # Nothing of a secret comes into an id.
        chosen = free_spec_id(change.writing, mask(name, context.ports.secrets), change.now[:10])
    draft = Draft(
        kind="spec",
        title=name,
        lifecycle="declared",
        labels=(PENDING,),
        aliases=((SPEC, chosen),),
        attributes=kept,
    )
    root = Plans(context).create(draft).root
    with context.reading() as view:
        return line_of_spec(view, root, counted=False), whole(view, root)


def free_spec_id(view: Reading, name: str, day: str) -> str:
    """Return the first id of a name on a day that no spec has, or ever had."""
    start = spec_id_start(name, day)
    names = (f"{start}{number:03}" for number in count(1))
    return next(
        one for one in names if view.find(Alias, SPEC, one) is None and not spec_renamed(view, one)
    )
