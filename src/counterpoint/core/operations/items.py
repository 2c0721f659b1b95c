"""Looking at items and changing them: fields, states, labels, edges, place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from counterpoint.core.model.filters import Edit
from counterpoint.core.model.rows import Prose, Proses, shared_fields
from counterpoint.core.model.work import Area, Criterion, Gate, Item, Project
from counterpoint.core.operations.claims import refuse_held
from counterpoint.core.operations.closing.ending import Ender, carry_on, drop, may_thin
from counterpoint.core.operations.gates import refuse_stale_word
from counterpoint.core.operations.readiness import refuse_open_children
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import carry_marks, inherit, relax
from counterpoint.core.operations.recording.facets import (
    attributes_of,
    item_named,
    line_of,
    names_of,
    relabel,
    set_attributes,
)
from counterpoint.core.operations.recording.links import (
    AT_ONCE,
    depend,
    next_position,
    padded,
    refuse_circle_below,
    shift,
    undepend,
)
from counterpoint.core.operations.recording.moves import (
    bump_version,
    close_when_done,
    move,
    refuse_unguarded,
    settle,
    wake,
)
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.areas import includes
from counterpoint.core.rules.drafting import field_faults, refuse_misplaced
from counterpoint.core.rules.wording import NUMBER, id_of_name
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    Conflict,
    CyclicDependency,
    InvalidInput,
    NotFound,
    StaleVersion,
)

_MOVES = frozenset({"status", "parent", "position"})
"""Fields that change with all that follows from it: everything else is put as it is asked for."""


class Items(Verbs):
    """Verbs for single items and lists of them."""

    def get(self, item: str) -> Item:
        """Return an item; NotFound."""
        with self._context.reading() as view:
            stored = view.find(Item, item)
        if stored is None:
            raise missing(Item, item)
        return stored

    def find(self, name: str, scope: str = "") -> Item | None:
        """Return the item of an id, or of another name (in one scope only, if it is told), or None."""
        with self._context.reading() as view:
            return item_named(view, name, scope)

    def named(self, name: str) -> Item | None:
        """Return the item that somebody calls so: by its id or another name in any case, or by its number, `7` or `#7`.

        None for any other text; NotFound for a number that no item has. A name goes before a number.
        """
        with self._context.reading() as view:
            names = (id_of_name(name) or name, name, name.upper())
            item = next(filter(None, (item_named(view, each) for each in names)), None)
        digits = name.removeprefix("#")
        if item is not None or not NUMBER.fullmatch(digits):
            return item
        return self.get(f"{self.project().prefix}-{int(digits)}")

    def names(self, item: str) -> dict[str, str]:
        """Return the other names of an item, by scope."""
        with self._context.reading() as view:
            return names_of(view, item)

    def attributes(self, item: str) -> dict[str, Json]:
        """Return the values that are kept with an item, by name; a redacted one is its mark."""
        with self._context.reading() as view:
            return attributes_of(view, item)

    def edit(self, item: str, edit: Edit) -> Item:
        """Change an item as told, all of it or nothing.

        Raises StaleVersion, IllegalMove, CyclicDependency, NotFound, InvalidInput, AlreadyClaimed.
        """
        _refuse_beyond_limits(edit)
        if edit.status is not None:
            refuse_stale_word(self._context, item, edit.status)
        if _is_word(edit) and may_thin(self._context, item, edit.status or ""):
            return self._end(item, edit)
        with recording(self._context, "item.edited", item) as change:
            change.open_session()
            current = change.get(Item, item)
            _refuse_unexpected(current, edit)
            count = len(change.images)
            after = self._fields(change, current, edit)
            after = self._facets(change, after, edit)
            after = self._edges(change, after, edit)
            after = self._place(change, after, edit)
            # Where every move is written down, to stay where one is is no move that there is.
            if edit.status is not None and (edit.status != after.status or after.states.traced):
                change.add_facts(moved=[after.status, edit.status])
                after = self._move(change, after, edit.status, edit.reason)
            elif edit.waive or edit.checks is not None:
                after = settle(change, item)
            change.add_texts(reason=edit.reason)
            if after.version == current.version and len(change.images) > count:
                after = bump_version(change, change.get(Item, item))
                change.put(after)
            return after

    def _end(self, item: str, edit: Edit) -> Item:
        """Drop a large tree, so that others can write in between."""
        status = edit.status or ""
        ender = Ender(self._context, item, status, edit.reason)

        def ask(change: Change, top: Item) -> None:
            _refuse_unexpected(top, edit)
            refuse_held(change, top)
            refuse_unguarded(change, top, status, edit.reason)

        ender.begin(ask)
        ender.close_below()
        with recording(self._context, "item.edited", item) as change:
            change.open_session()
            top = ender.top(change)
            if not top.is_closed:
                change.add_facts(moved=[top.status, status])
                drop(change, top, status, edit.reason)
                change.add_texts(reason=edit.reason)
            return change.get(Item, item)

    def _fields(self, change: Change, item: Item, edit: Edit) -> Item:
        changed: dict[str, Any] = {
            name: value
            for name in shared_fields(Edit, Item)
            if name not in _MOVES
            and (value := getattr(edit, name)) is not None
            and value != getattr(item, name)
        }
        if not changed:
            return item
        after = bump_version(change, replace(item, **changed))
        change.put(after)
        change.add_facts(fields=sorted(changed))
        return after

    def _facets(self, change: Change, item: Item, edit: Edit) -> Item:
        relabel(change, item.id, edit.add_labels, edit.remove_labels)
        set_attributes(change, item, edit.attributes)
        if edit.areas is not None:
            _replace_areas(change, item, edit.areas)
        if edit.acceptance is not None:
            _replace_criteria(change, item, edit.acceptance)
        if edit.checks is not None:
            _replace_checks(change, item, edit.checks)
        return self._waive(change, item, edit)

    def _waive(self, change: Change, item: Item, edit: Edit) -> Item:
        if edit.waive and not edit.reason:
            raise InvalidInput("a waiver needs a reason", hint="Say why it is waived.")
        if not edit.waive:
            return item
        gates = [gate.name for gate in change.select(Gate, item=item.id, order="name")]
        if missing := sorted(set(edit.waive) - set(gates)):
            raise NotFound(
                f"{item.id} has no gate {', '.join(missing)}",
                hint=f"Its gates are: {', '.join(gates)}." if gates else "It has none to waive.",
            )
        independence = relax(change, item.id, "waive a gate of", opens=True)
        change.add_facts(waived=list(edit.waive), independence=independence)
        for name in edit.waive:
            gate = change.get(Gate, item.id, name)
            change.put(
                gate.moved("waived", change.now, reason=edit.reason, independence=independence)
            )
            if gate.holds == "start" and gate.status == "closed":
                item = shift(change, item, -1)
        return item

    def _edges(self, change: Change, item: Item, edit: Edit) -> Item:
        for name in edit.remove_needs:
            item = undepend(change, item, name)
        for name in edit.add_needs:
            item = depend(change, item, change.get(Item, name))
        return item

    def _place(self, change: Change, item: Item, edit: Edit) -> Item:
        if edit.parent is not None and edit.parent != item.parent:
            item = _reparent(change, item, edit.parent)
        if edit.position is not None:
            item = _reposition(change, item, edit.position)
        return item

    def _move(self, change: Change, item: Item, status: str, reason: str) -> Item:
        refuse_held(change, item)
        category = item.states.category(status)
        if category == "done" and status not in item.states.skips:
            refuse_open_children(change.writing, item)
        refuse_unguarded(change, item, status, reason)
        if category == "dropped":
            drop(change, item, status, reason)
        else:
            move(change, item, status, reason)
        return change.get(Item, item.id)

    def tidy(self) -> int:
        """Close the large trees whose end somebody began who is gone; answer of how many."""
        return carry_on(self._context)

    def project(self) -> Project:
        """Return the project."""
        with self._context.reading() as view:
            project = view.find(Project)
        if project is None:
            raise missing(Project, self._context.project)
        return project


def _is_word(edit: Edit) -> bool:
    """Return whether an edit is a word to move an item, and nothing else."""
    bare = replace(edit, status=None, reason="", expected_version=None, expected_status=None)
    return edit.status is not None and bare == Edit()


def _refuse_unexpected(item: Item, edit: Edit) -> None:
    """Raise StaleVersion if an item is not as whoever would change it has read it."""
    if edit.expected_version not in {None, item.version}:
        raise StaleVersion(
            f"{item.id} is at version {item.version}, not {edit.expected_version}",
            version=item.version,
        )
    if edit.expected_status not in {None, item.status}:
        raise StaleVersion(
            f"{item.id} is {item.status}, not {edit.expected_status}", status=item.status
        )


def _refuse_beyond_limits(edit: Edit) -> None:
    faults = field_faults(
        title=edit.title,
        body=edit.body,
        priority=edit.priority,
        labels=edit.add_labels,
        areas=edit.areas or (),
        acceptance=edit.acceptance or (),
        checks=edit.checks or (),
        names=(edit.assignee or "", edit.profile or ""),
    )
    if edit.position is not None and edit.position < 0:
        faults.append(f"position {edit.position} is below 0")
    if faults:
        raise InvalidInput("; ".join(faults), faults=faults)


def _replace_areas(change: Change, item: Item, patterns: Sequence[str]) -> None:
    """Make these the areas of an item; outside of them a check does not go stale (decision 0012)."""
    old = {area.pattern: area for area in change.select(Area, item=item.id)}
    is_less = not all(includes(patterns, pattern) for pattern in old)
    if is_less and change.writing.exists(
        Gate, item=item.id, kind="check", holds="finish", status=("closed", "met")
    ):
        relax(change, item.id, "take an area from the checks of", instead=Act.CONFIGURE)
    for pattern in old.keys() - set(patterns):
        change.drop(old[pattern])
    for pattern in dict.fromkeys(patterns):
        if pattern not in old:
            change.put(Area(project=item.project, item=item.id, pattern=pattern))


def _replace_criteria(change: Change, item: Item, sentences: Iterable[str]) -> None:
    """Make these the acceptance sentences of an item; to take one away, or to word it anew, is to loosen."""
    old = change.select(Criterion, item=item.id)
    # A sentence that stays is as met as it was, wherever it stands now.
    met = {criterion.text: criterion.met for criterion in old}
    texts = list(sentences)
    if not met.keys() <= set(map(Prose, texts)):
        relax(change, item.id, "take an acceptance sentence from", instead=Act.CONFIGURE)
    for criterion in old[len(texts) :]:
        change.drop(criterion)
    for position, sentence in enumerate(texts):
        change.put(
            Criterion(
                project=item.project,
                item=item.id,
                position=position,
                text=Prose(sentence),
                met=met.get(Prose(sentence), False),
            )
        )


def _replace_checks(change: Change, item: Item, checks: Iterable[tuple[str, ...]]) -> None:
    """Make these the check gates of an item; a command that stays keeps its gate and its state."""
    old = change.select(Gate, item=item.id, kind="check", holds="finish", order="name")
    old_gates = {gate.argv: gate for gate in old}
    commands = list(dict.fromkeys(map(Proses, checks)))
    gone = [gate for gate in old if gate.argv not in commands]
    if gone:
        relax(change, item.id, "take a check from")
    for gate in gone:
        change.drop(gate)
    names = {old_gates[argv].name for argv in commands if argv in old_gates}
    free = (f"check-{number}" for number in range(1, len(old) + len(commands) + 1))
    for argv in commands:
        if argv not in old_gates:
            name = next(name for name in free if name not in names)
            change.put(
                Gate(
                    project=item.project,
                    item=item.id,
                    name=name,
                    kind="check",
                    holds="finish",
                    argv=argv,
                    status="closed",
                    proof="",
                    reason=Prose(""),
                    updated_at=change.now,
                )
            )


def _reparent(change: Change, item: Item, parent: str) -> Item:
    """Put an item below another, or at the top; its tree follows to the root."""
    above = change.get(Item, parent) if parent else None
    if above is not None:
        _refuse_below_itself(change, item, above)
        if above.is_closed and not item.is_closed:
            raise Conflict(f"{parent} is {above.status}", hint=f"{Act.REOPEN} first.")
    refuse_misplaced(item.kind, above)
    root = above.root if above else item.id
    held_above = int(above is not None and above.blockers > 0)
    if _gates_above(change, item.parent) - _gates_above(change, parent):
        relax(change, item.id, "take out from under what is asked above", instead=Act.CONFIGURE)
    moved = replace(item, parent=parent, position=next_position(change, parent), held=held_above)
    after = bump_version(change, moved)
    change.put(after)
    if parent:
        # Asked of the tree as it would be; a refusal undoes the change.
        refuse_circle_below(change.writing, item.id, parent)
    after = shift(change, after, held_above - item.held)
    _set_root(change, after, root)
    change.add_facts(parent=parent)
    carry_marks(change, after.id, item.parent)
    inherit(change, after.id, parent)
    if not after.is_closed and after.category != "open":
        wake(change, parent)
    # What it leaves may have been waiting for it alone.
    close_when_done(change, item.parent)
    close_when_done(change, parent)
    return change.get(Item, item.id)


def _gates_above(change: Change, item: str) -> set[tuple[str, str]]:
    """Return the gates of an item and all above it that are not met yet, each with its item."""
    gates_found: set[tuple[str, str]] = set()
    for ancestor in line_of(change, item):
        gates = change.select(Gate, item=ancestor.id, status="closed")
        gates_found |= {(ancestor.id, gate.name) for gate in gates}
    return gates_found


def _refuse_below_itself(change: Change, item: Item, above: Item) -> None:
    if any(ancestor.id == item.id for ancestor in line_of(change, above.id)):
        raise CyclicDependency(
            f"{above.id} is below {item.id}", hint="Choose a parent outside of it."
        )


def _set_root(change: Change, item: Item, root: str) -> None:
    if item.root == root:
        return
    change.put(replace(change.get(Item, item.id), root=root))
    waiting = [item.id]

    def follow(name: str, _: str) -> tuple[str]:
        waiting.append(name)
        return (root,)

    while waiting:
        some, waiting[:] = waiting[:AT_ONCE], waiting[AT_ONCE:]
        change.revise(Item, ("root",), follow, parent=padded(some))


def _reposition(change: Change, item: Item, position: int) -> Item:
    """Move an item to a place among its siblings; they close up."""
    if not item.parent:
        raise InvalidInput("an item without a parent has no place among siblings")
    siblings = change.select(Item, parent=item.parent, order="position,number")
    others = [sibling for sibling in siblings if sibling.id != item.id]
    others.insert(min(position, len(others)), change.get(Item, item.id))
    for index, sibling in enumerate(others):
        if sibling.position != index:
            change.put(replace(sibling, position=index))
    return change.get(Item, item.id)
