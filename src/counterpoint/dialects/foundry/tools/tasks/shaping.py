"""Nodes added, moved and removed, and what is kept with them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from counterpoint.dialects.arguments import INTEGER, TEXT, TEXTS
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.nouns.tasks import EditedNode, NodeDraft
from counterpoint.dialects.foundry.rules.shape import VERIFICATION_TYPES, items_of
from counterpoint.dialects.foundry.tools.tasks.shown import (
    ROOM,
    TITLE,
    fitted,
    previewed,
    shown_values,
)
from counterpoint.dialects.foundry.verbs.tasks.editing import Editing, NodeFilter
from counterpoint.dialects.foundry.verbs.tasks.shaping import Shaping
from counterpoint.dialects.foundry.words import (
    Complexity,
    Description,
    DryRun,
    FilePath,
    Hours,
    NodeId,
    Parent,
    SpecId,
    TaskId,
    Text,
    Title,
)
from counterpoint.dialects.paging import clip, size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.actions import action

_OBJECT: Final = WithJsonSchema({"type": "object"})
_WORD: Final = 200

Place = Annotated[int, Field(ge=0, le=100_000), INTEGER]
MaybePlace = Annotated[Place | None, Field(description="add: from 0; move: from 1")]
MaybePath = Annotated[FilePath | None, Field(description="Path in the worktree")]
MaybeDescription = Annotated[Description | None, Field(description="Description")]
MaybeHours = Annotated[Hours | None, Field(description="Hours")]
MaybeTitle = Annotated[Title | None, Field(description="Title")]
TaskType = Annotated[Literal["task", "subtask", "verify", "research"], Field(description="Type")]
ResearchType = Annotated[
    Literal["chat", "consensus", "thinkdeep", "ideate", "deep-research"],
    Field(description="Of a research node"),
]
BlockingMode = Annotated[
    Literal["none", "soft", "hard"], Field(description="Only hard stops dependents")
]
Query = Annotated[str, Field(max_length=20_000, description="What is researched"), TEXT]
Category = Annotated[
    Literal["investigation", "implementation", "refactoring", "decision", "research"],
    Field(description="Sort of work"),
]
VerificationType = Annotated[
    Literal["run-tests", "fidelity", "manual"], Field(description="How a verify node is verified")
]
Criteria = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=1_000)]],
    Field(max_length=50),
    TEXTS,
]
CommandLine = Annotated[str, Field(max_length=4_000), TEXT]
Custom = Annotated[dict[str, Any], Field(max_length=100), _OBJECT]
RequirementType = Annotated[
    Literal["acceptance", "technical", "constraint"], Field(description="Sort")
]
Word = Annotated[str, Field(max_length=_WORD), TEXT]
_LONG: Final = 20_000


@action(reads=False, idempotent=False)
def add(
    call: Call,
    spec_id: SpecId,
    parent: Parent,
    title: Title,
    task_type: TaskType = "task",
    description: Description = "",
    file_path: MaybePath = None,
    estimated_hours: MaybeHours = None,
    position: MaybePlace = None,
    research_type: ResearchType | None = None,
    blocking_mode: BlockingMode | None = None,
    query: Query = "",
    *,
    dry_run: DryRun = False,
) -> Json:
    """With description, file_path, estimated_hours."""
    kept: dict[str, Json] = {}
    if estimated_hours is not None:
        kept["estimated_hours"] = estimated_hours
    if task_type == "research":
        kept["research_type"] = research_type or "consensus"
        kept["blocking_mode"] = blocking_mode or "soft"
        if query:
            kept["query"] = query
    elif research_type or blocking_mode or query:
        raise InvalidInput(
            "`research_type`, `blocking_mode` and `query` belong to a research node",
            hint='Give `task_type` "research".',
        )
    asked = NodeDraft(
        parent=parent,
        title=title,
        type=task_type,
        description=description,
        file_path=file_path or "",
        position=position,
        kept=kept,
    )
    made = call.core.use(Shaping).add(spec_id, asked, dry_run=dry_run)
    return present(
        {
            "task_id": made.id,
            "parent": made.parent,
            "title": clip(title, TITLE),
            "type": task_type,
            "position": made.position,
            "file_path": file_path,
            "spec_id": made.spec,
            "task_type": task_type,
            "dry_run": dry_run,
        }
    )


@action(reads=False, destructive=True, plain=True)
def remove(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    *,
    cascade: Annotated[bool, Field(description="With its children")] = False,
    dry_run: DryRun = False,
) -> Json:
    """Take a node out."""
    gone = call.core.use(Shaping).remove(spec_id, task_id, cascade=cascade, dry_run=dry_run)
    return present(
        {
            "task_id": gone.id,
            "spec_id": gone.spec,
            "cascade": cascade,
            "children_removed": gone.children,
            "total_tasks_removed": gone.leaves,
            "dry_run": dry_run,
        }
    )


@action(reads=False)
def move(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    parent: Parent = "",
    position: MaybePlace = None,
    *,
    dry_run: DryRun = False,
) -> Json:
    """Its id stays."""
    moved = call.core.use(Shaping).move(spec_id, task_id, parent, position, dry_run=dry_run)
    return present(
        {
            "spec_id": moved.spec,
            "task_id": moved.id,
            "old_parent": moved.origin,
            "new_parent": moved.goal,
            "old_position": moved.before,
            "new_position": moved.after,
            "is_reparenting": moved.origin != moved.goal,
            "tasks_in_subtree": moved.size,
            "dry_run": dry_run,
        }
    )


@action(reads=False, idempotent=False, plain=True)
def add_requirement(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    requirement_type: RequirementType,
    text: Annotated[Text, Field(description="Requirement")],
    *,
    dry_run: DryRun = False,
) -> Json:
    """Add a requirement; 50 at most."""
    told, made = call.core.use(Editing).require(
        spec_id, task_id, requirement_type, text, dry_run=dry_run
    )
    return present(
        {
            "spec_id": told.spec,
            "task_id": told.id,
            "action": "add_requirement",
            "requirement": {**made, "text": clip(text, TITLE)},
            "total_requirements": len(items_of(told.after["requirements"])),
            "dry_run": dry_run,
            **previewed(dry_run=dry_run),
        }
    )


@action(reads=False)
def update_estimate(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    estimated_hours: MaybeHours = None,
    complexity: Complexity | None = None,
    *,
    dry_run: DryRun = False,
) -> Json:
    """Its estimated_hours, complexity."""
    told = call.core.use(Editing).estimate(
        spec_id, task_id, estimated_hours, complexity, dry_run=dry_run
    )
    now = {**told.now, **told.after}
    before = {**told.now, **told.before}
    return present(
        {
            "spec_id": told.spec,
            "task_id": told.id,
            "hours": now.get("estimated_hours"),
            "previous_hours": before.get("estimated_hours"),
            "complexity": now.get("complexity"),
            "previous_complexity": before.get("complexity"),
            "dry_run": dry_run,
        }
    )


@action(reads=False, aliases={"update_metadata": "custom_metadata"})
def update_metadata(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    title: MaybeTitle = None,
    description: MaybeDescription = None,
    file_path: MaybePath = None,
    acceptance_criteria: Annotated[
        Criteria | None, Field(description="True when it is done")
    ] = None,
    task_category: Category | None = None,
    actual_hours: Annotated[Hours | None, Field(description="Hours spent")] = None,
    status_note: Annotated[
        str | None, Field(max_length=_LONG, description="How it stands"), TEXT
    ] = None,
    verification_type: VerificationType | None = None,
    command: Annotated[CommandLine | None, Field(description="What a verify node runs")] = None,
    custom_metadata: Annotated[
        Custom | None, Field(description="Any other fields; null removes")
    ] = None,
    *,
    dry_run: DryRun = False,
) -> Json:
    """Its other fields."""
    named: dict[str, Json] = {
        "title": title,
        "description": description,
        "file_path": file_path,
        "acceptance_criteria": None if acceptance_criteria is None else [*acceptance_criteria],
        "task_category": task_category,
        "actual_hours": actual_hours,
        "status_note": status_note,
        "verification_type": verification_type,
        "command": command,
    }
    given = {name: value for name, value in named.items() if value is not None}
    told = call.core.use(Editing).edit(
        spec_id, task_id, {**(custom_metadata or {}), **given}, dry_run=dry_run
    )
    return present(
        {
            "spec_id": told.spec,
            "task_id": told.id,
            "fields_updated": list(told.after),
            "previous_values": shown_values(told.before, ROOM - 3_000),
            "dry_run": dry_run,
        }
    )


@action(reads=False, aliases={"update_metadata": "custom_metadata"})
def metadata_batch(
    call: Call,
    spec_id: SpecId,
    status_filter: Annotated[
        Literal["pending", "in_progress", "completed", "blocked"] | None,
        Field(description="Only this status"),
    ] = None,
    parent_filter: Annotated[NodeId | None, Field(description="Only children of it")] = None,
    pattern: Annotated[
        str | None, Field(min_length=1, max_length=300, description="Regex for title or id"), TEXT
    ] = None,
    description: MaybeDescription = None,
    file_path: MaybePath = None,
    estimated_hours: MaybeHours = None,
    category: Annotated[Word | None, Field(description="metadata-batch: any word")] = None,
    labels: Annotated[
        dict[str, Word] | None, Field(max_length=50, description="{name: word}"), _OBJECT
    ] = None,
    owners: Annotated[list[Word] | None, Field(max_length=50, description="Names"), TEXTS] = None,
    custom_metadata: Annotated[Custom | None, Field(description="Any other fields")] = None,
    *,
    dry_run: DryRun = False,
) -> Json:
    """Of all that match status_filter, parent_filter, pattern."""
    named: dict[str, Json] = {
        "description": description,
        "file_path": file_path,
        "estimated_hours": estimated_hours,
        "category": category,
        "labels": None if labels is None else {**labels},
        "owners": None if owners is None else [*owners],
    }
    given = {**(custom_metadata or {})} | {
        name: value for name, value in named.items() if value is not None
    }
    if not (status_filter or parent_filter or pattern):
        raise InvalidInput(
            "nothing says which nodes: give `status_filter`, `parent_filter` or `pattern`",
            error_code="MISSING_REQUIRED",
        )
    if not given:
        raise InvalidInput("nothing is to be changed", error_code="MISSING_REQUIRED")
    chosen = NodeFilter(
        status=status_filter or "", parent=parent_filter or "", pattern=pattern or ""
    )
    told = call.core.use(Editing).edit_many(spec_id, chosen, given, dry_run=dry_run)
    data: dict[str, Json] = {
        "spec_id": told.spec,
        "matched_count": told.matched,
        "updated_count": len(told.changed),
        "skipped_count": told.matched - len(told.changed),
        "filters": {
            "status_filter": status_filter,
            "parent_filter": parent_filter,
            "pattern": pattern,
        },
        "metadata_applied": fitted(given, 1_500),
        "dry_run": dry_run,
    }
    nodes, left = _first([_changed(one) for one in told.changed], ROOM - size_of(data))
    warnings = [f"{left} more were changed."] if left else []
    return present({**data, "nodes": nodes}, warnings=warnings)


@action(reads=False, plain=True)
def fix_verification_types(call: Call, spec_id: SpecId, *, dry_run: DryRun = False) -> Json:
    """Give verify nodes a valid type."""
    told = call.core.use(Editing).mend_verification(spec_id, dry_run=dry_run)
    fixes: list[Json] = [
        {
            "node_id": one.id,
            "title": clip(one.title, TITLE),
            "old": one.before.get("verification_type"),
            "new": one.after.get("verification_type"),
        }
        for one in told.changed
    ]
    shown, left = _first(fixes, ROOM - 600)
    missing = sum(not one.before.get("verification_type") for one in told.changed)
    return present(
        {
            "spec_id": told.spec,
            "total_fixes": told.matched,
            "applied_count": 0 if dry_run else len(told.changed),
            "fixes": shown,
            "summary": {
                "missing_set_to_run_tests": missing,
                "invalid_set_to_manual": len(told.changed) - missing,
            },
            "valid_types": list(VERIFICATION_TYPES),
            "dry_run": dry_run,
        },
        warnings=[f"{left} more fixes are not shown."] if left else [],
    )


def _changed(one: EditedNode) -> Json:
    diff: dict[str, Json] = {
        name: {"old": one.before.get(name), "new": value} for name, value in one.after.items()
    }
    return {
        "node_id": one.id,
        "title": clip(one.title, TITLE),
        "type": one.type,
        "status": one.status,
        "fields_updated": list(one.after),
        "diff": fitted(diff, 1_200),
    }


def _first(entries: list[Json], room: int) -> tuple[list[Json], int]:
    """Return the entries that fit, and how many do not."""
    shown: list[Json] = []
    for entry in entries:
        room -= size_of(entry) + 1
        if room < 0:
            break
        shown.append(entry)
    return shown, len(entries) - len(shown)


SHAPING: Final = (
    add,
    remove,
    move,
    update_estimate,
    update_metadata,
    metadata_batch,
    add_requirement,
    fix_verification_types,
)
"""The actions, in the order of the list."""
