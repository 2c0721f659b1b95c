"""Judges foreign work before anything is made of it, and lays it out.

What is at fault is refused with its place: ids that are missing, too long or given twice, circles, more depth or more items than
a plan may have. What only has no place here is put right and told: texts that are too long, parents and needs that are not there.
A state that cannot come at once (cancelled, skipped, a whole with open parts) comes after the items are made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from counterpoint.core.model.drafts import Draft, place_name
from counterpoint.core.model.foreign import ForeignItem, ForeignWork
from counterpoint.core.model.lifecycles import CLOSED, TASK
from counterpoint.core.model.work import BODY_LIMIT, DEPTH_LIMIT, PRIORITIES, TITLE_LIMIT
from counterpoint.core.rules.areas import leads_out
from counterpoint.core.rules.drafting import ITEM_LIMIT, WORD_LIMIT, WORDS_LIMIT
from counterpoint.core.rules.wording import control_fault, few
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import MalformedDocument

ID_LIMIT: Final = 160
"""Characters of an id there: with the name of its source it is an alias here."""
_NOTHING: Final = "there is no work in it"
_FAULTS_TOLD: Final = 20
_REMARKS_TOLD: Final = 50
_REPLACED: Final = "\ufffd"

Tell = Callable[[str], None]
"""Is told what was put right of an item."""


@dataclass(slots=True)
class Settled:
    """Foreign work that can come in.

    items: by id, what holds others before what it holds. below: the ids directly below each; of the root under the empty name.
    remarks: what was put right.
    """

    work: ForeignWork
    items: dict[str, ForeignItem] = field(default_factory=dict[str, ForeignItem])
    below: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    remarks: list[str] = field(default_factory=list[str])

    def is_closed(self, name: str) -> bool:
        """Return whether an item has ended there."""
        return TASK.category(self.items[name].state) in CLOSED

    def is_done(self, name: str) -> bool:
        """Return whether an item and all below it are done there, so that it can be made as done."""
        item = self.items[name]
        own = item.state == "done" or (item.is_phase and bool(self.below.get(name)))
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


def settle(work: ForeignWork) -> Settled:
    """Return foreign work put right; MalformedDocument with what is at fault, each with its place."""
    settled = Settled(work, remarks=list(work.remarks))
    faults = list(_id_faults(work.items))
    if not work.items:
        raise MalformedDocument(
            f"this cannot be imported: {_NOTHING}",
            hint="Name the file or folder in which the other tool keeps its work.",
            faults=[{"where": "", "problem": _NOTHING}],
        )
    if len(work.items) > ITEM_LIMIT:
        faults.append(("", f"it has {len(work.items):,} items; {ITEM_LIMIT:,} is the most"))
    _refuse(faults)
    known = {item.id: item for item in work.items}
    parents = {item.id: _parent(settled, item, known) for item in work.items}
    _refuse(_tree_faults(known, parents))
    for name in _by_levels(settled, parents):
        settled.items[name] = _put_right(settled, known[name], parents, known)
    _refuse(_circles(settled))
    _open_wholes(settled)
    if len(settled.remarks) > _REMARKS_TOLD:
        more = len(settled.remarks) - _REMARKS_TOLD
        settled.remarks[_REMARKS_TOLD:] = [f"and {more:,} more remarks of the kind"]
    return settled


def drafts_of(
    settled: Settled,
    names: Collection[str],
    aliases: Mapping[str, Sequence[tuple[str, str]]],
    kept: Mapping[str, Mapping[str, Json]],
    ids: Mapping[str, str],
) -> Iterator[tuple[str, Draft]]:
    """Return drafts of the items that are to be made, each tree with the id there of what holds it.

    aliases, kept: the other names and the attribute of each. ids: the items that are here already, by their id there.
    """
    for name in names:
        parent = settled.items[name].parent
        if parent not in names:
            below = set(_below(settled, name, names))
            yield parent, _draft(settled, name, below, aliases, kept, ids)


def draft_below(
    settled: Settled,
    aliases: Mapping[str, Sequence[tuple[str, str]]],
    kept: Mapping[str, Mapping[str, Json]],
) -> tuple[Draft, ...]:
    """Return drafts of all items that stand at the top, where none is here yet."""
    names = set(settled.items)
    return tuple(
        _draft(settled, name, names, aliases, kept, {}) for name in settled.below.get("", ())
    )


def given_up(settled: Settled) -> Iterator[str]:
    """Return what waits for something that was cancelled or failed there, so that it is never ready."""
    waiting: dict[str, int] = {}
    for name, item in settled.items.items():
        for need in () if settled.is_closed(name) else item.needs:
            if TASK.category(settled.items[need].state) == "dropped":
                waiting[need] = waiting.get(need, 0) + 1
    for name, count in waiting.items():
        state = settled.items[name].state
        yield f"{name} is {state} and {count:,} wait for it: reopen it, or let nothing come after it"


def _draft(
    settled: Settled,
    name: str,
    among: Collection[str],
    aliases: Mapping[str, Sequence[tuple[str, str]]],
    kept: Mapping[str, Mapping[str, Json]],
    ids: Mapping[str, str],
) -> Draft:
    item = settled.items[name]
    done = settled.is_done(name)
    inside = [place_name(need) for need in item.needs if need in among]
    outside = [ids[need] for need in item.needs if need in ids]
    begins = "" if settled.is_closed(name) or item.is_phase else item.state
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
        done=done,
        status="" if done or begins == "open" else begins,
        aliases=tuple(aliases[name]),
        attributes=kept[name],
        children=tuple(
            _draft(settled, child, among, aliases, kept, ids)
            for child in settled.below.get(name, ())
            if child in among
        ),
    )


def _below(settled: Settled, name: str, among: Collection[str]) -> Iterator[str]:
    waiting = [name]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += [child for child in settled.below.get(here, ()) if child in among]


def _id_faults(items: Iterable[ForeignItem]) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for item in items:
        if not item.id.strip():
            yield item.where, "it has no id"
        elif len(item.id) > ID_LIMIT:
            yield item.where, f"its id is longer than {ID_LIMIT} characters"
        elif problem := control_fault(item.id):
            yield item.where, f"in its id {problem}"
        elif item.id in seen:
            yield item.where, f"the id {item.id!r} was given {seen[item.id] or 'before'} already"
        else:
            seen[item.id] = item.where


def _parent(settled: Settled, item: ForeignItem, known: Mapping[str, ForeignItem]) -> str:
    if not item.parent or item.parent in known:
        return item.parent
    settled.remarks.append(
        f"{item.id}: {item.parent} holds it and is not there, so it is at the top"
    )
    return ""


def _tree_faults(
    known: Mapping[str, ForeignItem], parents: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    depths: dict[str, int] = {"": 1}
    for name in parents:
        line: list[str] = []
        here = name
        while here not in depths and here not in line:
            line.append(here)
            here = parents[here]
        if here not in depths:
            yield known[here].where, f"{here!r} is held by itself, through {few(line[::-1])}"
            depths[here] = 1
        for one in reversed(line):
            depths[one] = depths.get(one) or depths[parents[one]] + 1
            if depths[one] == DEPTH_LIMIT + 1:
                yield known[one].where, f"{one!r} lies deeper than {DEPTH_LIMIT} levels"


def _by_levels(settled: Settled, parents: Mapping[str, str]) -> list[str]:
    for name, parent in parents.items():
        settled.below.setdefault(parent, []).append(name)
    order = list(settled.below.get("", ()))
    for name in order:
        order += settled.below.get(name, ())
    return order


def _put_right(
    settled: Settled,
    item: ForeignItem,
    parents: Mapping[str, str],
    known: Mapping[str, ForeignItem],
) -> ForeignItem:
    def tell(problem: str) -> None:
        settled.remarks.append(f"{item.id}: {problem}")

    whole = words_of(item.title) or item.id
    if whole != words_of(item.title):
        tell("it has no title, so it is called by its id")
    body = cleaned(item.body)
    if len(whole) > TITLE_LIMIT:
        tell(f"its title has {len(whole):,} characters; all of it stands in its description")
        body = f"{whole}\n\n{body}".rstrip()
    if len(body) > BODY_LIMIT:
        tell(f"its description has {len(body):,} characters; the first {BODY_LIMIT:,} are here")
    state, priority = item.state, item.priority
    if state not in TASK.categories or state == "review":
        state = "active" if state == "review" else "open"
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
        assignee=cleaned(item.assignee)[:WORD_LIMIT],
        # A task holds no phases.
        is_phase=item.is_phase and (not parent or settled.items[parent].is_phase),
        labels=_words(item.labels, "labels", tell),
        acceptance=_words(item.acceptance, "acceptance sentences", tell),
        areas=_words(_inside(item.areas, tell), "areas", tell),
        needs=tuple(_needs(item, parents, known, tell)),
    )


def _needs(
    item: ForeignItem, parents: Mapping[str, str], known: Mapping[str, ForeignItem], tell: Tell
) -> Iterator[str]:
    above = {item.id}
    here = item.id
    while here := parents[here]:
        above.add(here)
    for need in dict.fromkeys(item.needs):
        if need not in known:
            tell(f"it waits for {need}, which is not there")
        elif need in above:
            tell(f"it waits for {need}, which holds it, so that is left out")
        else:
            yield need


def _inside(areas: Iterable[str], tell: Tell) -> Iterator[str]:
    for area in areas:
        if leads_out(area) or control_fault(area):
            tell(f"the area {area[:80]!r} leads out of the project, so it is left out")
        else:
            yield area


def _words(words: Iterable[str], what: str, tell: Tell) -> tuple[str, ...]:
    found = [words_of(word) for word in words]
    found = list(dict.fromkeys(word for word in found if word))
    if len(found) > WORDS_LIMIT:
        tell(f"it has {len(found)} {what}; the first {WORDS_LIMIT} are here")
    if any(len(word) > WORD_LIMIT for word in found):
        tell(f"one of its {what} is longer than {WORD_LIMIT} characters and was cut")
    return tuple(word[:WORD_LIMIT] for word in found[:WORDS_LIMIT])


def cleaned(text: str) -> str:
    """Return a text in which what has no place in one is replaced."""
    if not control_fault(text):
        return text
    return "".join(_REPLACED if control_fault(letter) else letter for letter in text)


def words_of(text: str) -> str:
    """Return a text as one line."""
    return " ".join(cleaned(text).split())


def _circles(settled: Settled) -> Iterator[tuple[str, str]]:
    """Return items that wait for each other; what holds others ends after them."""
    left: dict[str, int] = {}
    waiters: dict[str, list[str]] = {}
    ready: list[str] = []
    for name, item in settled.items.items():
        waits = [*(f"{need}\n" for need in item.needs), *([item.parent] if item.parent else [])]
        ends = [name, *(f"{child}\n" for child in settled.below.get(name, ()))]
        for node, needs in ((name, waits), (f"{name}\n", ends)):
            left[node] = len(needs)
            for need in needs:
                waiters.setdefault(need, []).append(node)
            if not needs:
                ready.append(node)
    while ready:
        for waiter in waiters.get(ready.pop(), ()):
            left[waiter] -= 1
            if not left[waiter]:
                ready.append(waiter)
    stuck = list(dict.fromkeys(node.rstrip("\n") for node, count in left.items() if count))
    own = [name for name in stuck if settled.items[name].needs]
    if stuck:
        yield settled.items[own[0]].where, f"these wait for each other: {few(own, 10)}"


def _open_wholes(settled: Settled) -> None:
    """Have what ended there while a part of it is open stay open, and tell of it."""
    is_open: dict[str, bool] = {}
    for name in reversed(settled.items):
        item = settled.items[name]
        has_open = any(is_open[child] for child in settled.below.get(name, ()))
        if has_open and settled.is_closed(name) and not item.is_phase:
            settled.remarks.append(
                f"{name}: it is {item.said or item.state} there with open work below it, so it is open here"
            )
            settled.items[name] = replace(item, state="open")
        is_open[name] = has_open or not (item.is_phase or settled.is_closed(name))


def _refuse(faults: Iterable[tuple[str, str]]) -> None:
    found = list(faults)
    if not found:
        return
    shown = "; ".join(f"{where}: {what}" if where else what for where, what in found[:_FAULTS_TOLD])
    raise MalformedDocument(
        f"this cannot be imported: {shown}",
        faults=[{"where": where, "problem": what} for where, what in found[:100]],
    )
