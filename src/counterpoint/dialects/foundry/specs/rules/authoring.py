"""What authors may write into a spec.

Phases that come with their tasks: parsed and drafted.
Every phase ends with a task that runs the tests and one that compares the work with the spec; a given task of
one of these types is kept as it is, and only what is missing is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.foundry.models.specs import (
    DEPENDS,
    LISTS,
    MISSION,
    NODE,
    PURPOSE,
    REVISIONS,
    RISKS,
    TYPE,
    MadeNode,
    PhaseDraft,
    SpecList,
    TaskDraft,
)
from counterpoint.dialects.foundry.nodes.rules.shape import (
    BLOCKING_MODES,
    CATEGORIES,
    COMPLEXITIES,
    FIELD_LIMIT,
    KEYS_LIMIT,
    LEVELS,
    LIST_LIMIT,
    NESTING_LIMIT,
    RESEARCH_TYPES,
    TEMPLATES,
    VERIFICATION_TYPES,
    depth_of,
    description_of,
    has_text,
    is_one_of,
    items_of,
    node_start,
    quoted,
    same,
    text_of,
    texts_of,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import Conflict, InvalidInput

TITLE: Final = "title"
DESCRIPTION: Final = "description"
PATHS: Final = ("plan_path", "plan_review_path", "spec_review_path")
"""Values that name files of the project."""
DERIVED: Final = frozenset(
    (
        *("spec_id", "generated", "last_updated", "status", "progress_percentage"),
        *("current_phase", "hierarchy", "journal", "metadata"),
        *("type", "parent", "children", "total_tasks", "completed_tasks", "dependencies"),
        *("acceptance_criteria", "file_path", "completed_at", "skipped", "failed_at"),
        *("blocked_at", "blocker_type", "blocker_description", "blocker_ticket"),
        *(REVISIONS, TYPE, DEPENDS),
    )
)
"""What is worked out, or has an action of its own."""
_KEY_LIMIT: Final = 100
_FRONTMATTER_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "category": CATEGORIES,
    "template": tuple(TEMPLATES),
}
_LISTS: Final[Mapping[str, SpecList]] = {spec_list.key: spec_list for spec_list in LISTS}


def refuse_frontmatter(key: str, value: Json) -> None:
    """Raise InvalidInput if a value is invalid at the head of a spec under a key; None removes it."""
    fault = _key_fault(key) or ("" if value is None else _value_fault(key, value))
    if not fault and value is None and key == TITLE:
        fault = "a spec needs a title"
    if fault:
        raise InvalidInput(fault, hint="Choose another key or value.", field=key)


def _key_fault(key: str) -> str:
    if key in DERIVED:
        return f"{key!r} is worked out from the spec, or has an action of its own"
    if not key.strip() or len(key) > _KEY_LIMIT:
        return f"a key has from 1 to {_KEY_LIMIT} characters"
    return ""


def _value_fault(key: str, value: Json) -> str:
    if key in _LISTS:
        return _list_fault(_LISTS[key], value)
    if key in {TITLE, DESCRIPTION, MISSION, *PATHS}:
        needs = "text that is not blank" if key in {TITLE, *PATHS} else "text"
        is_fit = has_text(value) or (needs == "text" and isinstance(value, str))
        return "" if is_fit else f"{key!r} is {needs}"
    if key in _FRONTMATTER_VALUES and not is_one_of(value, _FRONTMATTER_VALUES[key]):
        return f"{key!r} is one of: {', '.join(_FRONTMATTER_VALUES[key])}"
    if depth_of(value, NESTING_LIMIT) > NESTING_LIMIT:
        return f"{key!r} is deeper than {NESTING_LIMIT} levels"
    if len(object_of(value)) > KEYS_LIMIT:
        return f"{key!r} has more than {KEYS_LIMIT} keys"
    return ""


def _list_fault(kind: SpecList, value: Json) -> str:
    if not isinstance(value, list):
        return f"{kind.key!r} is a list"
    entries = cast("list[Json]", value)
    if len(entries) > LIST_LIMIT:
        return f"{kind.key!r} has more than {LIST_LIMIT} entries"
    for index, entry in enumerate(entries):
        if fault := _entry_fault(kind, entry):
            return f"{kind.key}[{index}] {fault}"
    return ""


def _entry_fault(kind: SpecList, entry: Json) -> str:
    """Return the fault of an entry of a list; risks are objects, all others may be texts."""
    if kind is not RISKS and isinstance(entry, str):
        return "" if has_text(entry) else "is empty"
    parts = object_of(entry)
    if not parts:
        return f"is no {kind.what}"
    if not has_text(parts.get(kind.text)):
        return f"has no {kind.text}"
    for name in ("likelihood", "impact"):
        if kind is RISKS and parts.get(name) is not None and not is_one_of(parts[name], LEVELS):
            return f"has a {name} that is none of: {', '.join(LEVELS)}"
    return ""


def text_in(kind: SpecList, entry: Json) -> str:
    """Return the words of an entry of a list."""
    return text_of(entry) or text_of(object_of(entry).get(kind.text))


def extended(kind: SpecList, before: Json, entry: Json) -> list[Json]:
    """Return a list with one entry more; Conflict for a duplicate, InvalidInput for an invalid entry."""
    fault = _entry_fault(kind, entry)
    entries = items_of(before)
    if not fault and len(text_in(kind, entry)) > FIELD_LIMIT:
        fault = f"is longer than {FIELD_LIMIT} characters"
    if not fault and len(entries) >= LIST_LIMIT:
        fault = f"is one too many: {LIST_LIMIT} are the most"
    if fault:
        raise InvalidInput(f"the {kind.what} {fault}", hint="Correct it and try again.")
    words = text_in(kind, entry).strip()
    for index, other in enumerate(entries):
        if same(other, entry) or text_in(kind, other).strip() == words:
            raise Conflict(
                f"there is this {kind.what} already: {kind.letter}-{index + 1}",
                hint="Nothing has to be added.",
                error_code="DUPLICATE_ENTRY",
                id=f"{kind.letter}-{index + 1}",
            )
    return [*entries, entry]


def numbered(kind: SpecList, entries: Json) -> list[dict[str, Json]]:
    """Return the entries of a list as objects, each with its id and its position from 1."""
    objects: list[dict[str, Json]] = []
    for index, entry in enumerate(items_of(entries), 1):
        words: dict[str, Json] = {kind.text: text_in(kind, entry)}
        objects.append(
            {**words, **object_of(entry), "id": f"{kind.letter}-{index}", "index": index}
        )
    return objects


def revised(
    before: Json, version: str, changes: str, date: str, author: str
) -> tuple[list[Json], dict[str, Json]]:
    """Return a history with one revision more, and that; Conflict for a version that it has."""
    revisions = items_of(before)
    if any(object_of(revision).get("version") == version for revision in revisions):
        raise Conflict(
            f"there is a revision {version!r} already",
            hint="Choose another version.",
            error_code="DUPLICATE_ENTRY",
        )
    entry: dict[str, Json] = {
        "version": version,
        "date": date,
        "changelog": changes,
        "author": author,
    }
    return [*revisions, entry], entry


TASK_TYPES: Final = ("task", "subtask", "verify", "research")
_TASK_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    TYPE: TASK_TYPES,
    "task_category": CATEGORIES,
    "complexity": COMPLEXITIES,
    "verification_type": VERIFICATION_TYPES,
    "research_type": RESEARCH_TYPES,
    "blocking_mode": BLOCKING_MODES,
}
_TEXTS: Final = ("command", "expected", "mcp_tool", "scope", "target", "query", "category")
_OWN: Final = frozenset(
    ("title", "description", "details", "acceptance_criteria", "file_path", "metadata")
)
_OF_WORK: Final = frozenset(("task_category", "file_path", "acceptance_criteria"))
_TAKEN: Final = frozenset(
    (*_OWN, *_TASK_VALUES, *_TEXTS, "estimated_hours", "labels", "owners", "on_failure")
)
_UNKNOWN: Final = "has an unknown key"
_UNKEPT: Final = frozenset(
    (
        *(TYPE, DEPENDS, "title", "status", "parent", "children", "dependencies"),
        *("completed_at", "skipped", "failed_at", "blocked_at", "blocker_type"),
        *("blocker_description", "blocker_ticket", "metadata"),
    )
)
"""What a node has beside its metadata, or what is worked out: no value of either name is kept."""
RUN_TESTS: Final = TaskDraft(
    title="Run tests",
    type="verify",
    kept={"verification_type": "run-tests", "command": "pytest", "expected": "All tests pass"},
)
FIDELITY: Final = TaskDraft(
    title="Fidelity review",
    type="verify",
    kept={"verification_type": "fidelity", "scope": "phase"},
)


def tasks_of(value: Json, defaults: Mapping[str, Json]) -> tuple[TaskDraft, ...]:
    """Return the tasks that are given for a phase; InvalidInput names every fault with its place.

    defaults: values of a task that does not say another.
    """
    listed = items_of(value)
    faults = [f"there are more than {LIST_LIMIT} tasks"] if len(listed) > LIST_LIMIT else []
    faults += [f"metadata_defaults {fault}" for fault in _faults(defaults)]
    drafts: list[TaskDraft] = []
    for index, part in enumerate(listed[:LIST_LIMIT]):
        parts = {**_fit(defaults, object_of(part)), **object_of(part)}
        task_faults = list(_faults(parts, is_whole=True)) if object_of(part) else ["is no object"]
        faults += [f"tasks[{index}] {fault}" for fault in task_faults]
        if not task_faults:
            drafts.append(_task(parts))
    if faults:
        # Listed once, however many tasks have unknown keys.
        valid = f" A task has: {', '.join(sorted(_TAKEN))}." if _UNKNOWN in "".join(faults) else ""
        hint = f"Correct these; nothing was made.{valid}"
        raise InvalidInput("; ".join(faults[:20]), hint=hint, faults=faults[:100])
    return tuple(drafts)


def _fit(defaults: Mapping[str, Json], task: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the defaults for a task of its type: only work in files has a category and a file."""
    if task.get(TYPE, defaults.get(TYPE, "task")) in {"task", "subtask"}:
        return defaults
    return {name: value for name, value in defaults.items() if name not in _OF_WORK}


def _faults(parts: Mapping[str, Json], *, is_whole: bool = False) -> Iterator[str]:
    """Yield the faults of a task's parts; is_whole: whether nothing may be missing."""
    yield from (f"{_UNKNOWN} {quoted(name)}" for name in parts if name not in _TAKEN)
    for name, words in _TASK_VALUES.items():
        if name in parts and not is_one_of(parts[name], words):
            yield f"has a {name} {quoted(parts[name])} that is none of: {', '.join(words)}"
    for name in ("title", "description", "file_path", *_TEXTS):
        if name in parts and not has_text(parts[name]):
            yield f"has a {name} that is no text"
    if "estimated_hours" in parts and not _is_duration(parts["estimated_hours"]):
        yield "has estimated_hours that are no number from 0"
    if "acceptance_criteria" in parts and not _are_texts(parts["acceptance_criteria"]):
        yield "has acceptance_criteria that are no list of texts"
    yield from (
        f"cannot keep {quoted(name)}"
        for name in object_of(parts.get("metadata"))
        if name in _UNKEPT
    )
    if is_whole and "title" not in parts:
        yield "has no title"
    if is_whole and parts.get(TYPE, "task") in {"task", "subtask"} and not description_of(parts):
        yield "has no description"


def _is_duration(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and all(has_text(text) for text in items_of(value))


def _task(parts: Mapping[str, Json]) -> TaskDraft:
    """Return the task that parts without a fault make."""
    own_values = {name: value for name, value in parts.items() if name not in {*_OWN, TYPE}}
    more = {n: v for n, v in object_of(parts.get("metadata")).items() if n not in _OWN}
    inner = {**object_of(parts.get("metadata")), **parts}
    return TaskDraft(
        title=text_of(parts.get("title")),
        type=text_of(parts.get(TYPE)) or "task",
        description=description_of(inner),
        acceptance=tuple(texts_of(inner.get("acceptance_criteria"))),
        file_path=text_of(inner.get("file_path")),
        kept={**more, **own_values},
    )


def with_scaffold(phase: PhaseDraft) -> tuple[TaskDraft, ...]:
    """Return the tasks of a phase with those that verify it."""
    types = {task.kept.get("verification_type") for task in phase.tasks if task.type == "verify"}
    missing = [
        task for task in (RUN_TESTS, FIDELITY) if task.kept["verification_type"] not in types
    ]
    return (*phase.tasks, *missing)


def phase_draft(
    spec: str, name: str, phase: PhaseDraft, is_taken: Callable[[str], bool]
) -> tuple[Draft, tuple[MadeNode, ...]]:
    """Return the draft of a phase with its tasks and what verifies it, and how its tasks are called.

    name: the id of the phase. is_taken: answers whether an id means a node of the spec already.
    """
    tasks = with_scaffold(phase)
    names = _names(name, tasks, is_taken)
    children = tuple(
        _task_draft(spec, own, _targeted(task, name))
        for own, task in zip(names, tasks, strict=True)
    )
    draft = Draft(
        kind="phase",
        title=phase.title,
        name=name,
        body=phase.description,
        aliases=((NODE, f"{spec}/{name}"),),
        attributes={**phase.kept, **({PURPOSE: phase.purpose} if phase.purpose else {})},
        children=_ordered(children, tasks),
    )
    nodes = tuple(
        MadeNode(id=own, title=task.title, type=task.type)
        for own, task in zip(names, tasks, strict=True)
    )
    return draft, nodes


def _names(phase: str, tasks: Sequence[TaskDraft], is_taken: Callable[[str], bool]) -> list[str]:
    last: dict[str, int] = {}
    names: list[str] = []
    for task in tasks:
        start = node_start(task.type, phase)
        number = last.get(start, 0) + 1
        while is_taken(f"{start}{number}"):
            number += 1
        last[start] = number
        names.append(f"{start}{number}")
    return names


def _targeted(task: TaskDraft, phase: str) -> TaskDraft:
    """Return a task, with its phase as what it compares if it is the one that is added."""
    return replace(task, kept={**task.kept, "target": phase}) if task is FIDELITY else task


def _task_draft(spec: str, name: str, task: TaskDraft) -> Draft:
    attributes = {**task.kept, **({TYPE: task.type} if task.type != "task" else {})}
    return Draft(
        kind="task",
        title=task.title,
        name=name,
        body=task.description,
        acceptance=task.acceptance,
        areas=(task.file_path,) if task.file_path else (),
        aliases=((NODE, f"{spec}/{name}"),),
        attributes=attributes,
        needs=(),
    )


def _ordered(drafts: Sequence[Draft], tasks: Sequence[TaskDraft]) -> tuple[Draft, ...]:
    """Return drafts of which the fidelity review waits for the run of the tests."""
    of_tests = [
        draft.name
        for draft, task in zip(drafts, tasks, strict=True)
        if task.type == "verify" and task.kept.get("verification_type") == "run-tests"
    ]
    return tuple(
        replace(draft, needs=tuple(of_tests))
        if task.type == "verify" and task.kept.get("verification_type") == "fidelity"
        else draft
        for draft, task in zip(drafts, tasks, strict=True)
    )
