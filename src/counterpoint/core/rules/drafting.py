"""Judging a draft before it is made: names resolved, limits kept, no circles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import (
    BODY_LIMIT,
    DEPTH_LIMIT,
    PRIORITIES,
    ROOT_KINDS,
    TITLE_LIMIT,
    WORKABLE,
    Item,
    Kind,
)
from counterpoint.core.rules.areas import area_fault
from counterpoint.kernel.errors import CyclicDependency, InvalidInput, MalformedDocument

ITEM_LIMIT = 100_000
"""How many items one plan may have."""
WORDS_LIMIT = 50
"""How many labels, areas, acceptance sentences or checks an item may have of each."""
WORD_LIMIT = 1000
"""How many characters each of these may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedItem:
    """A draft laid flat: parents before children, references as places in the list.

    needs: places of other drafts; outside: ids of existing items.
    """

    draft: Draft
    parent: int | None
    position: int
    needs: tuple[int, ...] = ()
    outside: tuple[str, ...] = ()


def plan_of(draft: Draft, exists: Callable[[str], bool]) -> list[PlannedItem]:
    """Return a draft laid flat.

    exists: answers whether there is an item of an id in the project already.
    Raises MalformedDocument (all faults together) and CyclicDependency.
    """
    planned, faults = _laid(draft, exists)
    if faults:
        raise _malformed(faults, is_one=len(planned) == 1)
    _refuse_circles(planned)
    return planned


def faults_of(draft: Draft, exists: Callable[[str], bool]) -> list[tuple[int, str]]:
    """Return what is wrong with a draft that was read, but for circles, each with its line."""
    return [(part.line, problem) for part, problem in _laid(draft, exists)[1]]


def _laid(
    draft: Draft, exists: Callable[[str], bool]
) -> tuple[list[PlannedItem], list[tuple[Draft, str]]]:
    flat = _flatten(draft)
    done = _done(flat)
    faults = [*_limit_faults(flat), *_tree_faults(flat, done), *_name_faults(flat)]
    names, repeated = _names(flat)
    planned: list[PlannedItem] = []
    for index, (part, parent, position) in enumerate(flat):
        inside, outside, unknown = _resolve(part, names, repeated, exists)
        if part.needs is None:
            inside = _usual(flat, index)
        faults += [(part, problem) for problem in unknown]
        planned.append(
            PlannedItem(
                draft=replace(part, done=done[index]) if done[index] != part.done else part,
                parent=parent,
                position=position,
                needs=inside,
                outside=outside,
            )
        )
    return planned, faults


def _flatten(draft: Draft) -> list[tuple[Draft, int | None, int]]:
    flat: list[tuple[Draft, int | None, int]] = [(draft, None, 0)]
    index = 0
    # By levels, without recursion: the depth is only judged afterwards.
    while index < len(flat):
        part = flat[index][0]
        flat += [(child, index, position) for position, child in enumerate(part.children)]
        index += 1
    return flat


def _limit_faults(flat: Sequence[tuple[Draft, int | None, int]]) -> Iterable[tuple[Draft, str]]:
    if len(flat) > ITEM_LIMIT:
        yield flat[0][0], f"the plan has {len(flat)} items; {ITEM_LIMIT} is the most"
    for part, _, _ in flat:
        problems = field_faults(
            title=part.title,
            body=part.body,
            priority=part.priority,
            labels=part.labels,
            areas=part.areas,
            acceptance=part.acceptance,
            checks=part.checks,
            names=(part.name, part.assignee, part.profile),
        )
        for problem in problems:
            yield part, problem


def field_faults(
    *,
    title: str | None = None,
    body: str | None = None,
    priority: int | None = None,
    labels: Sequence[str] = (),
    areas: Sequence[str] = (),
    acceptance: Sequence[str] = (),
    checks: Sequence[Sequence[str]] = (),
    names: Sequence[str] = (),
) -> list[str]:
    """Return what is wrong with the fields of an item to be made or changed; None: not given."""
    faults = title_faults(title) if title is not None else []
    if body is not None and len(body) > BODY_LIMIT:
        faults.append(f"the description is longer than {BODY_LIMIT} characters")
    if priority is not None and priority not in PRIORITIES:
        faults.append(f"priority {priority} is not from 0 to {PRIORITIES[-1]}")
    listed = {
        "labels": labels,
        "areas": areas,
        "acceptance sentences": acceptance,
        "commands": tuple(" ".join(argv) for argv in checks),
        "names": names,
    }
    # A name may be empty, which is nobody.
    wanting = (what for what in listed if what != "names")
    faults += [
        f"one of its {what} is empty"
        for what in wanting
        if any(not word.strip() for word in listed[what])
    ]
    if any("\n" in word for word in labels):
        faults.append("one of its labels has more than one line")
    if fault := area_fault(areas):
        faults.append(fault)
    return faults + list_faults(listed)


def title_faults(title: str) -> list[str]:
    """Return what is wrong with a title: it is one line, not empty, not too long."""
    faults: list[str] = []
    if not title.strip():
        faults.append("there is no title")
    if len(title.strip().splitlines()) > 1:
        faults.append("the title is more than one line")
    if len(title) > TITLE_LIMIT:
        faults.append(f"the title is longer than {TITLE_LIMIT} characters")
    return faults


def list_faults(lists: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what is wrong with short words, by what they are: not too many, none too long."""
    faults: list[str] = []
    for what, words in lists.items():
        if len(words) > WORDS_LIMIT:
            faults.append(f"it has more than {WORDS_LIMIT} {what}")
        if any(len(word) > WORD_LIMIT for word in words):
            faults.append(f"one of its {what} is longer than {WORD_LIMIT} characters")
    return faults


def place_fault(kind: Kind, above: Kind | None, name: str = "") -> str:
    """Say why an item of a kind cannot stand below one of another kind and name, or alone; empty if it can."""
    if above is None:
        return "" if kind in ROOT_KINDS else f"a {kind} cannot stand alone"
    if above in WORKABLE and kind not in WORKABLE:
        return f"a {kind} cannot stand below the {above} {name}"
    return ""


def refuse_misplaced(kind: Kind, above: Item | None) -> None:
    """Raise InvalidInput if an item of a kind cannot stand below an item, or alone."""
    fault = place_fault(kind, above.kind, above.id) if above else place_fault(kind, None)
    if fault:
        raise InvalidInput(fault, hint="Name what it belongs below.")


def _tree_faults(
    flat: Sequence[tuple[Draft, int | None, int]], done: Sequence[bool]
) -> Iterable[tuple[Draft, str]]:
    depths: list[int] = []
    for index, (part, parent, _) in enumerate(flat):
        depths.append(depths[parent] + 1 if parent is not None else 1)
        if depths[index] == DEPTH_LIMIT + 1:
            yield part, f"it lies deeper than {DEPTH_LIMIT} levels"
        if parent is None:
            continue
        above = flat[parent][0]
        if fault := place_fault(part.kind, above.kind, repr(above.title)):
            yield part, fault
        if above.done and not done[index]:
            yield part, f"it is not done, but {above.title!r}, which holds it, is marked as done"


def _done(flat: Sequence[tuple[Draft, int | None, int]]) -> list[bool]:
    """Return what is done: what is marked so, and a part whose children are, if it has no gates."""
    open_counts = [len(part.children) for part, _, _ in flat]
    done = [part.done for part, _, _ in flat]
    for index in range(len(flat) - 1, -1, -1):
        part, parent, _ = flat[index]
        has_gates = part.review or part.artifact or part.checks
        if part.children and not open_counts[index] and part.kind not in WORKABLE and not has_gates:
            done[index] = True
        if done[index] and parent is not None:
            open_counts[parent] -= 1
    return done


def _names(
    flat: Sequence[tuple[Draft, int | None, int]],
) -> tuple[dict[str, int], set[str]]:
    """Return which place each name and title means, and which mean several."""
    names: dict[str, int] = {}
    repeated: set[str] = set()
    for index, (part, _, _) in enumerate(flat):
        for name in {part.name, part.title} - {""}:
            if names.setdefault(name, index) != index:
                repeated.add(name)
    return names, repeated


def _name_faults(
    flat: Sequence[tuple[Draft, int | None, int]],
) -> Iterable[tuple[Draft, str]]:
    """Answer every further item to which a name was given that another has."""
    seen: dict[str, Draft] = {}
    for part in sorted((part for part, _, _ in flat if part.name), key=lambda each: each.line):
        first = seen.setdefault(part.name, part)
        if first is not part:
            where = f"in line {first.line}" if first.line else f"to {first.title!r}"
            yield part, f"the name {part.name!r} was given {where} already"


def _resolve(
    part: Draft, names: Mapping[str, int], repeated: set[str], exists: Callable[[str], bool]
) -> tuple[tuple[int, ...], tuple[str, ...], list[str]]:
    inside: list[int] = []
    outside: list[str] = []
    unknown: list[str] = []
    for name in part.needs or ():
        if name in repeated:
            unknown.append(f"{name!r} means several items: give them names with {{#name}}")
        elif name in names:
            inside.append(names[name])
        elif exists(name):
            outside.append(name)
        else:
            unknown.append(f"it comes after {name!r}, which is neither in the plan nor an item")
    return tuple(dict.fromkeys(inside)), tuple(dict.fromkeys(outside)), unknown


def _usual(flat: Sequence[tuple[Draft, int | None, int]], index: int) -> tuple[int, ...]:
    """Return what an item without `needs` comes after: the phase before it, if it is a phase."""
    part, parent, _ = flat[index]
    before = index - 1
    while part.kind == "phase" and before >= 0 and flat[before][1] == parent:
        if flat[before][0].kind == "phase":
            return (before,)
        before -= 1
    return ()


def waits_of(planned: Sequence[PlannedItem]) -> list[list[int]]:
    """Return what each beginning and each end of a plan waits for: an order is possible if there is no circle.

    Each item begins and ends. An end waits for the item's beginning and for its children's ends; a beginning
    waits for the parent's beginning and for the ends of what the item needs. Beginnings have the numbers
    2·place, ends 2·place + 1.
    """
    waits: list[list[int]] = [[] for _ in range(2 * len(planned))]
    for index, part in enumerate(planned):
        begin, end = 2 * index, 2 * index + 1
        waits[end].append(begin)
        waits[begin] += [2 * need + 1 for need in part.needs]
        if part.parent is not None:
            waits[begin].append(2 * part.parent)
            waits[2 * part.parent + 1].append(end)
    return waits


def _refuse_circles(planned: Sequence[PlannedItem]) -> None:
    """Raise CyclicDependency if no order of work satisfies the plan: if there is a circle in what waits for what."""
    waits = waits_of(planned)
    stuck = _unordered(waits)
    if stuck:
        parts = [
            planned[index].draft for index in dict.fromkeys(node // 2 for node in sorted(stuck))
        ]
        titles = list(dict.fromkeys(part.title for part in parts))
        titles_shown = ", ".join(
            f"{part.title!r} (line {part.line})" if part.line else repr(part.title)
            for part in parts[:6]
        )
        raise CyclicDependency(f"these wait for each other: {titles_shown}", items=titles[:50])


def _unordered(waits: Sequence[Sequence[int]]) -> set[int]:
    """Return the nodes of circles (and what hangs on both sides of them is left out)."""
    stuck = _peel(waits)
    if not stuck:
        return stuck
    back: list[list[int]] = [[] for _ in waits]
    for node in stuck:
        for need in waits[node]:
            if need in stuck:
                back[need].append(node)
    # Backwards too: what only waits for a circle is not a part of it.
    return _peel([part if node in stuck else [] for node, part in enumerate(back)]) or stuck


def _peel(waits: Sequence[Sequence[int]]) -> set[int]:
    """Return what is left when everything that waits for nothing is taken away, again and again."""
    counts = [len(needs) for needs in waits]
    waiters: list[list[int]] = [[] for _ in waits]
    for node, needs in enumerate(waits):
        for need in needs:
            waiters[need].append(node)
    free = [node for node, count in enumerate(counts) if count == 0]
    gone = 0
    while free:
        node = free.pop()
        gone += 1
        for waiter in waiters[node]:
            counts[waiter] -= 1
            if counts[waiter] == 0:
                free.append(waiter)
    return {node for node, count in enumerate(counts) if count > 0} if gone < len(waits) else set()


def _malformed(faults: Iterable[tuple[Draft, str]], *, is_one: bool) -> MalformedDocument:
    """Return a refusal with all faults of a plan, or of the one item that was asked for."""
    listed = [
        {"line": part.line, "item": part.title[:80], "problem": text} for part, text in faults
    ]
    if is_one and not listed[0]["line"]:
        problems = "; ".join(str(fault["problem"]) for fault in listed[:20])
        hint = "Correct what the message names; nothing was changed."
        return MalformedDocument(f"the item cannot be made: {problems}", hint=hint, faults=listed)
    text_of_faults = "; ".join(
        f"line {fault['line']}: {fault['problem']}"
        if fault["line"]
        else f"{fault['item']!r}: {fault['problem']}"
        for fault in listed[:20]
    )
    return MalformedDocument(f"the plan cannot be made: {text_of_faults}", faults=listed)


def remarks_of_new(draft: Draft) -> tuple[str, ...]:
    """Return what is told of a draft that becomes a plan of its own, and not of one that brings a plan up to date."""
    count = sum(part.done for part in draft.walk())
    return (f"{count} ticked: what is ticked begins as done",) if count else ()
