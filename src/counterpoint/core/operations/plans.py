"""Making work: a whole tree at once, from a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from counterpoint.core.model.answers import CreatedPlan
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.identity import Key
from counterpoint.core.model.templates import Filled, TemplateEntry
from counterpoint.core.model.work import Item, Project
from counterpoint.core.operations.planning.putting import (
    holder_of,
    put_edges,
    put_items,
    wait_outside,
)
from counterpoint.core.operations.planning.staging import SLICE, Stager, may_stage, tidy
from counterpoint.core.operations.readiness import ready_among
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import relaxed_by
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.moves import close_when_done
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules import outline
from counterpoint.core.rules.drafting import PlannedItem, faults_of, plan_of
from counterpoint.core.rules.planning.deadlock import deadlocks
from counterpoint.core.rules.templating import filling
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound


class Plans(Verbs):
    """Verbs for whole trees of work."""

    def read(self, text: str) -> Draft:
        """Return the draft of a Markdown plan; MalformedDocument names every line that is at fault, also if others are."""
        reading = outline.read(text)
        draft, faults = reading.draft, reading.faults
        if draft is not None and not faults:
            return draft
        if draft is not None:
            with self._context.reading() as view:
                faults += faults_of(draft, lambda item: view.find(Item, item) is not None)
        raise outline.malformed_plan(faults)

    def templates(self) -> list[TemplateEntry]:
        """Return every template by its slug; one that cannot be used says why."""
        return [self._entry(name) for name in self._context.ports.library.names()]

    def _entry(self, name: str) -> TemplateEntry:
        try:
            return filling.entry(self._context.ports.library.template(name))
        except (InvalidInput, NotFound) as fault:
            return filling.unread(name, fault.message)

    def filled(
        self, slug: str, values: Mapping[str, Json], title: str = "", *, gated: bool = True
    ) -> Filled:
        """Return a template with its variables filled, and the draft of the plan it makes.

        gated: whether what it asks to be checked becomes gates, or sentences of acceptance.
        Raises NotFound, MalformedDocument for the template, InvalidInput with all that is wrong with
        the values (its facts: `missing` and `unknown` names).
        """
        sheet = self._context.ports.library.template(slug)
        return filling.fill(sheet, values, title, gated=gated)

    def from_template(
        self, name: str, values: Mapping[str, Json], title: str = "", *, gated: bool = True
    ) -> Draft:
        """Return the draft of a template with its variables filled; the refusals of `filled`."""
        return self.filled(name, values, title, gated=gated).draft

    def template_preview(
        self, slug: str, values: Mapping[str, Json], title: str = "", *, gated: bool = True
    ) -> Filled:
        """Return what a template would make, refused where making it would be; nothing is written."""
        filled = self.filled(slug, values, title, gated=gated)
        self.preview(filled.draft)
        return filled

    def preview(self, draft: Draft, parent: str = "") -> list[PlannedItem]:
        """Return what `create` would make, in its order; the same refusals, nothing written."""
        return self.look(draft, parent)[0]

    def look(self, draft: Draft, parent: str = "") -> tuple[list[PlannedItem], tuple[str, ...]]:
        """Return what `create` would make, in its order, and what would keep a part of it from ever being taken up.

        It has the same refusals, and writes nothing.
        """
        with self._context.reading() as view:
            holder_of(view, parent, draft)
            return judge_draft(view, draft)

    def create(self, draft: Draft, parent: str = "") -> CreatedPlan:
        """Make a tree of work, below an existing item if one is given.

        Raises MalformedDocument with every fault, CyclicDependency, NotFound, Conflict.
        """
        with self._context.reading() as view:
            planned, stuck = judge_draft(view, draft)
        if may_stage(self._context, len(planned)):
            return replace(Stager(self._context, planned, parent).make(), deadlocks=stuck)
        with transaction(self._context):
            created = self._create(planned, parent)
            with self._context.reading() as view:
                # Read again: the edges, which came last, hold some of them.
                after = tuple(view.find(Item, item.id) or item for item in created)
                relaxed = relaxed_by(view, self._context.caller)
                items = ready_among(view, after, Holders(view, self._context), relaxed)
                ready = tuple(item.id for item in items)
            return CreatedPlan(root=after[0], items=after, ready=ready, deadlocks=stuck)

    def _create(self, planned: Sequence[PlannedItem], parent: str) -> list[Item]:
        """Make a plan in one transaction: by entries, so that none becomes unreadably large."""
        items: list[Item] = []
        for start in range(0, len(planned), SLICE):
            action = "plan.extended" if items else "plan.created"
            with recording(self._context, action) as change:
                change.open_session()
                put_items(change, planned, items, planned[start : start + SLICE], parent)
                change.subject = items[0].id
                if len(items) == len(planned):
                    names = [item.id for item in items]
                    put_edges(change, planned, names, range(len(planned)))
                    wait_outside(change, planned, items, is_known=bool(items[0].parent))
                    close_when_done(change, items[0].parent)
                    change.add_facts(items=len(items))
                    change.add_texts(title=items[0].title)
        return items

    def tidy(self) -> int:
        """Take away what is left of large plans whose maker is gone; answer of how many."""
        return tidy(self._context)


def judge_draft(view: Reading, draft: Draft) -> tuple[list[PlannedItem], tuple[str, ...]]:
    """Return a draft laid flat, and what is in its way for good; the refusals of `plan_of`."""
    items_by_name: dict[str, Item] = {}

    def exists(name: str) -> bool:
        item = view.find(Item, name)
        if item is not None:
            items_by_name[name] = item
        return item is not None

    planned = plan_of(draft, exists)
    dropped = {
        name: item.status for name, item in items_by_name.items() if item.category == "dropped"
    }
    asks = any(part.draft.approval or part.draft.review for part in planned)
    return planned, deadlocks(planned, dropped, needs_person=asks and _lacks_person(view))


def _lacks_person(view: Reading) -> bool:
    """Return whether reviews ask for a person and nobody has a key."""
    project = view.find(Project)
    if project is None or project.reviews != "person":
        return False
    return not any(key.is_in_force for key in view.select(Key))
