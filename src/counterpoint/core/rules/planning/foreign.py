"""Judges foreign work before anything is made of it, and lays it out.

An import carries on: what cannot come in is left out, what can come in only otherwise is changed, and both are remarks with
their places. Left out are items whose id is missing, too long or taken, and edges that lead nowhere or close a circle. Changed
are parents that are not there, that lie in what they hold or too deep, and texts that are too long. Only a source without
any item, or with more of them than a plan may have, is refused. `refuse_remarks` is for those who want no change at all.
A state that cannot come at once (cancelled, skipped, a whole with open parts) comes after the items are made.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn, Protocol

from counterpoint.core.model.drafts import Draft, place_name
from counterpoint.core.model.foreign import ForeignItem, ForeignWork, Remark, Weight
from counterpoint.core.model.lifecycles import CLOSED, TASK
from counterpoint.core.model.work import BODY_LIMIT, DEPTH_LIMIT, PRIORITIES, TITLE_LIMIT
from counterpoint.core.rules.areas import leads_out
from counterpoint.core.rules.drafting import ITEM_LIMIT, WORD_LIMIT, WORDS_LIMIT, field_faults
from counterpoint.core.rules.wording import control_fault, few
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument
from counterpoint.kernel.plurals import agree

ID_LIMIT: Final = 160
"""Characters of an id there: with the name of its source it is an alias here."""
_NOTHING: Final = "there is no work in it"
_FAULTS_TOLD: Final = 20
_TITLE_SHOWN: Final = 80
_REPLACED: Final = "\ufffd"


class Tell(Protocol):
    """Notes what was put right of an item."""

    def __call__(self, problem: str, weight: Weight = "change") -> None:
        """Note one thing."""


@dataclass(slots=True)
class SettledWork:
    """Foreign work that can come in.

    items: by id, what holds others before what it holds. below: the ids directly below each; of the root under the empty name.
    remarks: what was left out or put right.
    """

    work: ForeignWork
    items: dict[str, ForeignItem] = field(default_factory=dict[str, ForeignItem])
    below: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    remarks: list[Remark] = field(default_factory=list[Remark])

    def note(self, item: ForeignItem, problem: str, weight: Weight = "change") -> None:
        """Note what was left out or put right of an item."""
        self.remarks.append(Remark(f"{item.id}: {problem}", item.where, weight))

    def is_closed(self, name: str) -> bool:
        """Return whether an item has ended there."""
        return TASK.category(self.items[name].state) in CLOSED

    def is_done(self, name: str) -> bool:
        """Return whether an item and all below it are done there, so that it can be made as done."""
        item = self.items[name]
        # A phase ends with its parts, unless it waits for a review, a submission or a check.
        has_gates = bool(item.review or item.artifact or item.checks)
        ends_with_parts = item.is_phase and bool(self.below.get(name)) and not has_gates
        own = item.state == "done" or ends_with_parts
        return own and all(map(self.is_done, self.below.get(name, ())))

    def later(self, names: Collection[str]) -> Iterator[str]:
        """Return those of some items whose state comes after they are made, the lowest first."""
        for name in reversed(self.items):
            item = self.items[name]
            if (
                name in names
                and not item.is_phase
                and self.is_closed(name)
                and not self.is_done(name)
            ):
                yield name


def settle(work: ForeignWork) -> SettledWork:
    """Return foreign work put right; MalformedDocument for one without any item that can come in, or with too many."""
    settled = SettledWork(work, remarks=list(work.remarks))
    if len(work.items) > ITEM_LIMIT:
        _refuse([("", f"it has {len(work.items):,} items; {ITEM_LIMIT:,} is the most")])
    items_by_id = _identified(settled)
    if not items_by_id:
        refuse_empty(settled.remarks)
    parents = {item.id: _parent(settled, item, items_by_id) for item in items_by_id.values()}
    _cut_held_by_itself(settled, items_by_id, parents)
    _lift_deep(settled, items_by_id, parents)
    for name in _by_levels(settled, parents):
        settled.items[name] = _put_right(settled, items_by_id[name], parents, items_by_id)
    _cut_circles(settled)
    _open_wholes(settled)
    settled.remarks = _counted(settled.remarks)
    return settled


def _counted(remarks: Iterable[Remark]) -> list[Remark]:
    """Return remarks, losses first, and trifles of the same words as one with their number."""
    places: dict[str, list[str]] = {}
    others: list[Remark] = []
    for remark in remarks:
        if remark.weight == "trifle":
            places.setdefault(remark.problem, []).append(remark.where)
        else:
            others.append(remark)
    others.sort(key=lambda remark: remark.weight != "loss")
    for problem, where in places.items():
        count = f"{len(where):,} × " if len(where) > 1 else ""
        others.append(Remark(f"{count}{problem}", few(where), "trifle"))
    return others


def refuse_remarks(remarks: Iterable[Remark]) -> None:
    """Refuse what would be left out or changed; MalformedDocument with each place."""
    _refuse((each.where, each.problem) for each in remarks if each.weight != "trifle")


def refuse_empty(remarks: Iterable[Remark]) -> NoReturn:
    """Refuse a source that has no item; MalformedDocument that says what was left out of it."""
    _refuse((each.where, each.problem) for each in remarks if each.weight == "loss")
    raise MalformedDocument(
        f"this cannot be imported: {_NOTHING}",
        hint="Name the file or folder in which the other tool keeps its work.",
        faults=[{"where": "", "problem": _NOTHING}],
    )


def drafts_of(
    settled: SettledWork,
    names: Collection[str],
    aliases: Mapping[str, Sequence[tuple[str, str]]],
    attributes: Mapping[str, Mapping[str, Json]],
    ids: Mapping[str, str],
) -> Iterator[tuple[str, Draft]]:
    """Return drafts of the items that are to be made, each tree with the id there of what holds it.

    aliases, kept: the other names and the attribute of each. ids: the items that are here already, by their id there.
    """
    for name in names:
        parent = settled.items[name].parent
        if parent not in names:
            below = set(_below(settled, name, names))
            yield parent, _draft(settled, name, below, aliases, attributes, ids)


def draft_below(
    settled: SettledWork,
    aliases: Mapping[str, Sequence[tuple[str, str]]],
    attributes: Mapping[str, Mapping[str, Json]],
) -> tuple[Draft, ...]:
    """Return drafts of all items that stand at the top, where none is here yet."""
    names = set(settled.items)
    return tuple(
        _draft(settled, name, names, aliases, attributes, {}) for name in settled.below.get("", ())
    )


def list_given_up(settled: SettledWork) -> Iterator[str]:
    """Return what waits for something that was cancelled or failed there, so that it is never ready."""
    waiting: dict[str, int] = {}
    for name, item in settled.items.items():
        for need in () if settled.is_closed(name) else item.needs:
            if TASK.category(settled.items[need].state) == "dropped":
                waiting[need] = waiting.get(need, 0) + 1
    for name, count in waiting.items():
        state = settled.items[name].state
        yield f"{name} is {state} and {agree(count, 'item', 'waits')} for it: reopen it, or let nothing come after it"


def _draft(
    settled: SettledWork,
    name: str,
    among: Collection[str],
    aliases: Mapping[str, Sequence[tuple[str, str]]],
    attributes: Mapping[str, Mapping[str, Json]],
    ids: Mapping[str, str],
) -> Draft:
    item = settled.items[name]
    done = settled.is_done(name)
    inside = [place_name(need) for need in item.needs if need in among]
    outside = [ids[need] for need in item.needs if need in ids]
    begins = (
        "" if settled.is_closed(name) or (item.is_phase and item.state != "backlog") else item.state
    )
    return Draft(
        kind="phase" if item.is_phase else "task",
        title=item.title,
        name=place_name(name),
        body=item.body,
        needs=(*inside, *outside),
        areas=item.areas,
        acceptance=item.acceptance,
        labels=item.labels,
        priority=item.priority,
        assignee=item.assignee,
        checks=item.checks,
        approval=item.approval,
        review=item.review,
        artifact=item.artifact,
        profile=item.profile,
        done=done,
        status="" if done or begins == "open" else begins,
        aliases=tuple(aliases[name]),
        attributes=attributes[name],
        children=tuple(
            _draft(settled, child, among, aliases, attributes, ids)
            for child in settled.below.get(name, ())
            if child in among
        ),
    )


def _below(settled: SettledWork, name: str, among: Collection[str]) -> Iterator[str]:
    waiting = [name]
    while waiting:
        parent = waiting.pop()
        yield parent
        waiting += [child for child in settled.below.get(parent, ()) if child in among]


def _identified(settled: SettledWork) -> dict[str, ForeignItem]:
    """Return the items by their ids; those that cannot be called by theirs are left out.

    A second one of an id comes in under the next that is free, unless it has the same title.
    """
    items_by_id: dict[str, ForeignItem] = {}
    ids = {item.id for item in settled.work.items}
    for work_item in settled.work.items:
        item, first = work_item, items_by_id.get(work_item.id)
        if first is not None and words_of(item.title) != words_of(first.title):
            free = (
                f"{item.id}-{number}"
                for number in itertools.count(2)
                if f"{item.id}-{number}" not in ids
            )
            item = replace(item, id=next(free))
            ids.add(item.id)
            problem = f"the id {first.id!r} was given {first.where or 'before'} already, so {words_of(item.title)[:_TITLE_SHOWN]!r} is {item.id!r} here"
            settled.remarks.append(Remark(problem, item.where))
        if problem := _id_fault(item, items_by_id):
            title = words_of(item.title)[:_TITLE_SHOWN]
            left_out = f"{problem}, so {title!r} is left out" if title else problem
            settled.remarks.append(Remark(left_out, item.where, "loss"))
        else:
            items_by_id[item.id] = item
    return items_by_id


def _id_fault(item: ForeignItem, items_by_id: Mapping[str, ForeignItem]) -> str:
    if not item.id.strip():
        return "it has no id"
    if len(item.id) > ID_LIMIT:
        return f"its id is longer than {ID_LIMIT} characters"
    if problem := control_fault(item.id):
        return f"in its id {problem}"
    if item.id in items_by_id:
        return f"the id {item.id!r} was given {items_by_id[item.id].where or 'before'} already"
    return ""


def _parent(settled: SettledWork, item: ForeignItem, items_by_id: Mapping[str, ForeignItem]) -> str:
    if not item.parent or item.parent in items_by_id:
        return item.parent
    settled.note(item, f"{item.parent} holds it and is not there, so it is at the top")
    return ""


def _cut_held_by_itself(
    settled: SettledWork, items_by_id: Mapping[str, ForeignItem], parents: dict[str, str]
) -> None:
    """Put one item of each circle of items that hold each other at the top."""
    checked = {""}
    for name in parents:
        line: list[str] = []
        ancestor = name
        while ancestor not in checked:
            line.append(ancestor)
            checked.add(ancestor)
            ancestor = parents[ancestor]
        if ancestor in line:
            through = few(line[line.index(ancestor) :])
            settled.note(
                items_by_id[ancestor], f"it is held by itself, through {through}; it is at the top"
            )
            parents[ancestor] = ""


def _lift_deep(
    settled: SettledWork, items_by_id: Mapping[str, ForeignItem], parents: dict[str, str]
) -> None:
    """Put what lies too deep beside what holds it."""
    below: dict[str, list[str]] = {}
    for name, parent in parents.items():
        below.setdefault(parent, []).append(name)
    # The plan itself is the first level.
    level, depth = below.get("", []), 2
    while level:
        children = [child for name in level for child in below.get(name, ())]
        if depth >= DEPTH_LIMIT:
            for child in children:
                holder = parents[child]
                settled.note(
                    items_by_id[child],
                    f"{holder} holds it, deeper than {DEPTH_LIMIT} levels, so it is beside that",
                )
                parents[child] = parents[holder]
        level, depth = children, min(depth + 1, DEPTH_LIMIT)


def _by_levels(settled: SettledWork, parents: Mapping[str, str]) -> list[str]:
    for name, parent in parents.items():
        settled.below.setdefault(parent, []).append(name)
    order = list(settled.below.get("", ()))
    for name in order:
        order += settled.below.get(name, ())
    return order


def _put_right(
    settled: SettledWork,
    item: ForeignItem,
    parents: Mapping[str, str],
    items_by_id: Mapping[str, ForeignItem],
) -> ForeignItem:
    def tell(problem: str, weight: Weight = "change") -> None:
        settled.note(item, problem, weight)

    whole = words_of(item.title) or item.id
    if whole != words_of(item.title):
        tell("it has no title, so it is called by its id")
    body = clean_text(item.body)
    if len(whole) > TITLE_LIMIT:
        tell(f"its title has {len(whole):,} characters; all of it stands in its description")
        body = f"{whole}\n\n{body}".rstrip()
    if len(body) > BODY_LIMIT:
        tell(
            f"its description has {len(body):,} characters; the first {BODY_LIMIT:,} are here",
            "loss",
        )
    state, priority = item.state, item.priority
    if state not in TASK.categories or state == "review":
        state = "active" if state == "review" else "open"
    if item.said == "review" and item.state == "review":
        tell("it was handed in there, and has to be handed in here again")
    approval = item.approval
    if approval and not item.is_phase and state == "active":
        tell("it was begun there with an approval, and needs one here before it begins")
        state = "open"
    elif approval and state != "done" and TASK.category(state) in CLOSED:
        # Its way to that end begins with a start, which nobody has to approve any more.
        tell(f"it is {state} there, so the approval of its start is left out")
        approval = False
    if priority not in PRIORITIES:
        tell(f"its priority is {priority}, so it has that of most")
        priority = 2
    parent = parents[item.id]
    return replace(
        item,
        title=whole[:TITLE_LIMIT],
        body=body[:BODY_LIMIT],
        parent=parent,
        state=state,
        priority=priority,
        approval=approval,
        checks=tuple(_commands(item.checks, tell)),
        profile=words_of(item.profile)[:WORD_LIMIT],
        assignee=clean_text(item.assignee)[:WORD_LIMIT],
        # A task holds no phases.
        is_phase=item.is_phase and (not parent or settled.items[parent].is_phase),
        labels=_words(item.labels, "labels", tell),
        acceptance=_words(item.acceptance, "acceptance sentences", tell),
        areas=_words(_inside(item.areas, tell), "areas", tell),
        needs=tuple(_needs(item, parents, items_by_id, tell)),
    )


def _needs(
    item: ForeignItem,
    parents: Mapping[str, str],
    items_by_id: Mapping[str, ForeignItem],
    tell: Tell,
) -> Iterator[str]:
    above = {item.id}
    ancestor = item.id
    while ancestor := parents[ancestor]:
        above.add(ancestor)
    for need in dict.fromkeys(item.needs):
        if need not in items_by_id:
            tell(f"it waits for {need}, which is not there, so that is left out", "loss")
        elif need == item.id:
            tell("it waits for itself, so that is left out")
        elif need in above:
            tell(f"it waits for {need}, which holds it, so that is left out")
        elif _lies_in(need, item.id, parents):
            tell(
                f"it waits for {need}, which is a part of it and ends first anyway, so that is left out"
            )
        else:
            yield need


def _lies_in(name: str, holder: str, parents: Mapping[str, str]) -> bool:
    while name := parents[name]:
        if name == holder:
            return True
    return False


def _inside(areas: Iterable[str], tell: Tell) -> Iterator[str]:
    for area in areas:
        if leads_out(area) or control_fault(area):
            tell(f"the area {area[:80]!r} leads out of the project, so it is left out", "loss")
        else:
            yield area


def _commands(checks: Iterable[tuple[str, ...]], tell: Tell) -> Iterator[tuple[str, ...]]:
    for argv in dict.fromkeys(checks):
        if problem := "; ".join(field_faults(checks=(argv,))):
            tell(f"its check {' '.join(argv)[:80]!r} is left out: {problem}", "loss")
        else:
            yield argv


def _words(words: Iterable[str], what: str, tell: Tell) -> tuple[str, ...]:
    cleaned_words = [words_of(word) for word in words]
    cleaned_words = list(dict.fromkeys(word for word in cleaned_words if word))
    if len(cleaned_words) > WORDS_LIMIT:
        tell(f"it has {len(cleaned_words)} {what}; the first {WORDS_LIMIT} are here", "loss")
    if any(len(word) > WORD_LIMIT for word in cleaned_words):
        tell(f"one of its {what} is longer than {WORD_LIMIT} characters and was cut", "loss")
    return tuple(word[:WORD_LIMIT] for word in cleaned_words[:WORDS_LIMIT])


def clean_text(text: str) -> str:
    """Return a text in which what has no place in one is replaced."""
    if not control_fault(text):
        return text
    return "".join(_REPLACED if control_fault(letter) else letter for letter in text)


def words_of(text: str) -> str:
    """Return a text as one line."""
    return " ".join(clean_text(text).split())


def _cut_circles(settled: SettledWork) -> None:
    """Leave out an edge of each circle of items that wait for each other.

    Each item begins after what it needs has ended and after what holds it has begun, and ends after it has begun and all its
    parts have ended. It is one search in depth: the way back to a step of the path is a circle, and the last edge of it by
    which an item waits for another is left out. It takes a time that grows with items and edges.
    """
    steps = _steps(settled)
    positions = dict.fromkeys(steps, 0)
    finished: set[str] = set()
    cut: dict[str, set[str]] = {}
    for first in steps:
        path = [] if first in finished else [first]
        on_path = dict.fromkeys(path, 0)
        while path:
            step = path[-1]
            if positions[step] == len(steps[step]):
                finished.add(path.pop())
                del on_path[step]
                continue
            target, _ = steps[step][positions[step]]
            if target in finished:
                positions[step] += 1
            elif target not in on_path:
                on_path[target] = len(path)
                path.append(target)
            else:
                waiter = next(each for each in reversed(path) if steps[each][positions[each]][1])
                _cut_edge(
                    settled, waiter, steps[waiter][positions[waiter]][1], path, on_path[target]
                )
                cut.setdefault(waiter, set()).add(steps[waiter][positions[waiter]][1])
                positions[waiter] += 1
                while path[-1] != waiter:
                    del on_path[path.pop()]
    for name, needs in cut.items():
        item = settled.items[name]
        needs_left = tuple(need for need in item.needs if need not in needs)
        settled.items[name] = replace(item, needs=needs_left)


def _steps(settled: SettledWork) -> dict[str, list[tuple[str, str]]]:
    """Return what the begin and the end (a line feed behind its id) of each item come after, with the item that is waited for."""
    steps: dict[str, list[tuple[str, str]]] = {}
    for name, item in settled.items.items():
        steps[name] = [(f"{need}\n", need) for need in item.needs]
        steps[name] += [(item.parent, "")] if item.parent else []
        parts = ((f"{child}\n", "") for child in settled.below.get(name, ()))
        steps[f"{name}\n"] = [(name, ""), *parts]
    return steps


def _cut_edge(
    settled: SettledWork, waiter: str, need: str, path: Sequence[str], start: int
) -> None:
    circle = list(dict.fromkeys(step.rstrip("\n") for step in path[start:]))
    settled.note(
        settled.items[waiter],
        f"it waits for {need}, and these wait for each other: {few(circle, 10)}; that is left out",
        "loss",
    )


def _open_wholes(settled: SettledWork) -> None:
    """Have what ended there while a part of it is open stay open, and tell of it."""
    is_open: dict[str, bool] = {}
    for name in reversed(settled.items):
        item = settled.items[name]
        has_open = any(is_open[child] for child in settled.below.get(name, ()))
        if has_open and settled.is_closed(name) and not item.is_phase:
            settled.note(
                item,
                f"it is {item.said or item.state} there with open work below it, so it is open here",
            )
            settled.items[name] = replace(item, state="open")
        is_open[name] = has_open or not (item.is_phase or settled.is_closed(name))


def _refuse(faults: Iterable[tuple[str, str]]) -> None:
    listed = list(faults)
    if not listed:
        return
    text = "; ".join(f"{where}: {what}" if where else what for where, what in listed[:_FAULTS_TOLD])
    raise MalformedDocument(
        f"this cannot be imported: {text}",
        faults=[{"where": where, "problem": what} for where, what in listed[:100]],
    )
