"""Making work: a whole tree at once, from a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from counterpoint.core.model.answers import CreatedPlan
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.lifecycles import PART, TASK, lifecycle
from counterpoint.core.model.rows import Prose, Proses, shared_fields
from counterpoint.core.model.templates import Filled, TemplateEntry
from counterpoint.core.model.work import (
    ROOT_KINDS,
    WORKABLE,
    Area,
    Criterion,
    Dependency,
    Gate,
    Item,
    Label,
    Project,
)
from counterpoint.core.operations.readiness import ready_among
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.contributions import take_up
from counterpoint.core.operations.recording.facets import give_name, set_attributes
from counterpoint.core.operations.recording.links import depend, next_position
from counterpoint.core.operations.recording.moves import close_when_done
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules import outline
from counterpoint.core.rules.drafting import Planned, plan_of
from counterpoint.core.rules.templating import filling, listing
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound

_ITEMS_AN_ENTRY = 100
"""Large plans are spread over several entries, so that none becomes unreadably large."""


class Plans:
    """Verbs for whole trees of work."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def read(self, text: str) -> Draft:
        """Return the draft of a Markdown plan; MalformedDocument names lines."""
        return outline.load(text)

    def templates(self) -> list[TemplateEntry]:
        """Return every template by its slug; one that cannot be used says why."""
        return [self._entry(name) for name in self._context.ports.library.names()]

    def _entry(self, name: str) -> TemplateEntry:
        try:
            return listing.entry(self._context.ports.library.template(name))
        except (InvalidInput, NotFound) as fault:
            return listing.unread(name, fault.message)

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

    def preview(self, draft: Draft, parent: str = "") -> list[Planned]:
        """Return what `create` would make, in its order; the same refusals, nothing written."""
        with self._context.reading() as view:
            _holder(view, parent, draft)
            return plan_of(draft, lambda item: view.find(Item, item) is not None)

    def create(self, draft: Draft, parent: str = "") -> CreatedPlan:
        """Make a tree of work, below an existing item if one is given.

        Raises MalformedDocument with every fault, CyclicDependency, NotFound, Conflict.
        """
        with joined(self._context):
            return self._create(draft, parent)

    def _create(self, draft: Draft, parent: str) -> CreatedPlan:
        with self._context.reading() as view:
            planned = plan_of(draft, lambda item: view.find(Item, item) is not None)
        made: list[Item] = []
        for start in range(0, len(planned), _ITEMS_AN_ENTRY):
            action = "plan.extended" if made else "plan.created"
            with recording(self._context, action) as change:
                change.open_session()
                _put_batch(change, planned, made, planned[start : start + _ITEMS_AN_ENTRY], parent)
                change.subject = made[0].id
                if len(made) == len(planned):
                    _link(change, planned, made)
                    close_when_done(change, made[0].parent)
                    change.add_facts(items=len(made))
                    change.add_texts(title=made[0].title)
        with self._context.reading() as view:
            # Read again: the edges, which came last, hold some of them.
            after = tuple(view.find(Item, item.id) or item for item in made)
            session, now = self._context.caller.actor.session, self._context.ports.clock.now()
            ready = tuple(item.id for item in ready_among(view, after, session, now))
        return CreatedPlan(root=after[0], items=after, ready=ready)


def _holder(view: Reading, parent: str, draft: Draft) -> Item | None:
    """Return what a draft is to be put below; None for the top."""
    if not parent:
        if draft.kind not in ROOT_KINDS:
            raise InvalidInput(
                f"a {draft.kind} cannot stand alone", hint="Name what it belongs below."
            )
        return None
    above = view.find(Item, parent)
    if above is None:
        raise InvalidInput(f"there is no item {parent!r} to put this below")
    if above.is_closed:
        raise Conflict(f"{parent} is {above.status}", hint=f"{Act.REOPEN}, or put this at the top.")
    if above.is_workable and draft.kind not in WORKABLE:
        raise InvalidInput(f"a {draft.kind} cannot stand below the {above.kind} {parent}")
    return above


def _put_batch(
    change: Change,
    planned: Sequence[Planned],
    made: list[Item],
    batch: Sequence[Planned],
    parent: str,
) -> None:
    """Put some items of a plan, each with the count of what will be in its way."""
    project = change.get(Project)
    for part in batch:
        if part.parent is None:
            above = _holder(change.writing, parent, part.draft)
            position = next_position(change, parent)
            number = change.next_number(Item)
        else:
            above, position, number = made[part.parent], part.position, made[-1].number + 1
        item = _item(change, project, number, part, above, position)
        held = int(above is not None and above.blockers > 0)
        unfinished = sum(not planned[need].draft.done for need in part.needs)
        parked = int(item.status in item.states.parked)
        waits = held + unfinished + parked + int(part.draft.approval and not part.draft.done)
        item = replace(item, held=held, blockers=waits)
        _put_with_facets(change, item, part.draft)
        if item.category != "open":
            # Work that comes as begun or done is put down to whoever says so.
            take_up(change, item.id)
        made.append(item)


def _item(
    change: Change,
    project: Project,
    number: int,
    planned: Planned,
    above: Item | None,
    position: int,
) -> Item:
    draft = planned.draft
    usual = TASK if draft.kind in WORKABLE else PART
    states = lifecycle(draft.lifecycle) if draft.lifecycle else usual
    status = "done" if draft.done else draft.status or states.first
    name = f"{project.prefix}-{number}"
    asked = {one: getattr(draft, one) for one in shared_fields(Draft, Item)}
    settled: dict[str, Any] = {
        "title": draft.title.strip(),
        "lifecycle": states.name,
        "status": status,
    }
    return Item(
        **(asked | settled),
        project=project.project,
        id=name,
        number=number,
        category=states.category(status),
        parent=above.id if above else "",
        root=above.root if above else name,
        position=position,
        blockers=0,
        held=0,
        version=1,
        created_at=change.now,
        updated_at=change.now,
        closed_at=change.now if draft.done else "",
    )


def _put_with_facets(change: Change, item: Item, draft: Draft) -> None:
    change.put(item)
    for name in dict.fromkeys(draft.labels):
        change.put(Label(project=item.project, item=item.id, name=name))
    for pattern in dict.fromkeys(draft.areas):
        change.put(Area(project=item.project, item=item.id, pattern=pattern))
    for position, sentence in enumerate(draft.acceptance):
        change.put(
            Criterion(
                project=item.project,
                item=item.id,
                position=position,
                text=Prose(sentence),
                met=draft.done,
            )
        )
    for scope, name in dict.fromkeys(draft.aliases):
        give_name(change, item, scope, name)
    set_attributes(change, item, draft.attributes)
    for gate in gates_of(change, item, draft):
        change.put(gate)


def gates_of(change: Change, item: Item, draft: Draft) -> list[Gate]:
    """Return the gates a draft asks for."""
    plain = Gate(
        project=item.project,
        item=item.id,
        name="",
        kind="review",
        holds="finish",
        argv=Proses(()),
        status="met" if draft.done else "closed",
        proof="",
        reason=Prose(""),
        updated_at=change.now,
    )
    gates = [
        replace(plain, name=f"check-{place}", kind="check", argv=Proses(argv))
        for place, argv in enumerate(draft.checks, 1)
    ]
    if draft.artifact:
        gates.append(replace(plain, name="artifact", kind="artifact"))
    if draft.review:
        gates.append(replace(plain, name="review"))
    if draft.approval:
        gates.append(replace(plain, name="approval", holds="start"))
    return gates


def _link(change: Change, planned: Sequence[Planned], made: Sequence[Item]) -> None:
    """Put the edges; inside the tree `plan_of` has ruled out circles, others are asked one by one."""
    for place, part in enumerate(planned):
        item = made[place]
        for need in part.needs:
            change.put(Dependency(project=item.project, item=item.id, needs=made[need].id))
    for place, part in enumerate(planned):
        for name in part.outside:
            item = change.get(Item, made[place].id)
            depend(change, item, change.get(Item, name), is_known=bool(made[0].parent))
