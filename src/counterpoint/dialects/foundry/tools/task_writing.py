"""Actions of the tool `task` that begin, end and edit."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from counterpoint.dialects.arguments import INTEGER, TEXT, TEXTS
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.models.tasks import Edges, EditedNode, Linked, NodeDraft
from counterpoint.dialects.foundry.nodes.rules.shape import VERIFICATION_TYPES, items_of
from counterpoint.dialects.foundry.tasks.editing import Editing, Linking, NodeFilter, Shaping
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.dialects.foundry.tasks.rules import commit_hint
from counterpoint.dialects.foundry.tools.task_reading import (
    ROOM,
    TITLE,
    fitted,
    previewed,
    shown_values,
)
from counterpoint.dialects.foundry.words import (
    LONGEST,
    Complexity,
    Description,
    DryRun,
    FilePath,
    Hours,
    NodeId,
    Parent,
    Reason,
    SpecId,
    Status,
    TaskId,
    Text,
    Title,
)
from counterpoint.dialects.lacking import unallowed_lines
from counterpoint.dialects.paging import clip, size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.actions import action

Note = Annotated[str, Field(max_length=LONGEST, description="For the journal"), TEXT]
CompletionNote = Annotated[
    str, Field(min_length=1, max_length=LONGEST, description="What was done"), TEXT
]
BlockerType = Annotated[
    Literal["dependency", "technical", "resource", "decision"],
    Field(description="Sort of blocker"),
]
Ticket = Annotated[str, Field(max_length=500, description="Where it is tracked"), TEXT]
Resolution = Annotated[str, Field(max_length=LONGEST, description="How it was solved"), TEXT]

CADENCE: Final = "phase"
"""After what a commit is suggested."""


@action(reads=False)
def start(call: Call, spec_id: SpecId, task_id: TaskId, note: Note = "") -> Json:
    """It becomes yours."""
    started = call.core.use(Moving).start(spec_id, task_id, note)
    return present(
        {
            "spec_id": started.spec,
            "task_id": started.id,
            "started_at": started.started_at,
            "title": clip(started.title, TITLE),
            "type": started.type,
        },
        warnings=[*started.warnings, *unallowed_lines(started.lacking)],
    )


@action(reads=False, idempotent=False)
def complete(call: Call, spec_id: SpecId, task_id: TaskId, completion_note: CompletionNote) -> Json:
    """Also one that was not started."""
    done = call.core.use(Moving).complete(spec_id, task_id, completion_note)
    phase = done.phase if done.phase_is_done else ""
    return present(
        {
            "spec_id": done.spec,
            "task_id": done.id,
            "completed_at": done.completed_at or None,
            "progress": {
                "completed_tasks": done.total.completed,
                "total_tasks": done.total.total,
                "percentage": done.total.percentage,
            },
            **commit_hint(CADENCE, done.id, done.title, phase, done.phase_title),
        },
        warnings=done.warnings,
    )


@action(reads=False)
def update_status(
    call: Call, spec_id: SpecId, task_id: TaskId, status: Status, note: Note = ""
) -> Json:
    """For blocked give a note."""
    spec = call.core.use(Moving).set_status(spec_id, task_id, status, note)
    return present({"spec_id": spec, "task_id": task_id, "new_status": status})


@action(reads=False, idempotent=False, plain=True)
def block(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    reason: Reason,
    blocker_type: BlockerType = "dependency",
    ticket: Ticket = "",
) -> Json:
    """Say why it cannot go on."""
    spec, name = call.core.use(Moving).block(spec_id, task_id, reason, blocker_type, ticket)
    return present(
        {
            "spec_id": spec,
            "task_id": name,
            "blocker_type": blocker_type,
            "reason": clip(reason, TITLE),
            "ticket": ticket or None,
        }
    )


@action(reads=False, plain=True)
def unblock(call: Call, spec_id: SpecId, task_id: TaskId, resolution: Resolution = "") -> Json:
    """Let it go on."""
    free = call.core.use(Moving).unblock(spec_id, task_id, resolution)
    return present(
        {
            "spec_id": free.spec,
            "task_id": free.id,
            "previous_blocker": {
                "type": free.before.type,
                "description": clip(free.before.description, TITLE),
            },
            "resolution": clip(resolution, TITLE),
            "new_status": free.status,
        }
    )


MOVING: Final = (start, complete, update_status, block, unblock)
"""The actions, in the order of the list."""


DependencyType = Annotated[
    Literal["blocks", "blocked_by", "depends"],
    Field(description="What task_id does to target_id; depends is soft"),
]
Target = Annotated[NodeId, Field(description="The other node")]
_SHOWN: Final = 100
"""How many ids of each sort are told."""


@action(reads=False, plain=True)
def add_dependency(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    target_id: Target,
    dependency_type: DependencyType = "blocks",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Let it block `target_id`, or as the type says."""
    linked = call.core.use(Linking).add(
        spec_id, task_id, target_id, dependency_type, dry_run=dry_run
    )
    is_soft = dependency_type != "depends" and not _is_hard(linked, dependency_type)
    warnings = ["Kept as `depends`: only hard research stops others."] if is_soft else []
    return present(_linked(linked, dependency_type, "add", dry_run=dry_run), warnings=warnings)


@action(reads=False, plain=True)
def remove_dependency(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    target_id: Target,
    dependency_type: DependencyType = "blocks",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Take a dependency away."""
    gone = call.core.use(Linking).remove(
        spec_id, task_id, target_id, dependency_type, dry_run=dry_run
    )
    return present(_linked(gone, dependency_type, "remove", dry_run=dry_run))


def _is_hard(linked: Linked, sort: str) -> bool:
    edges = linked.source_edges
    return linked.target in (edges.blocks if sort == "blocks" else edges.blocked_by)


def _linked(linked: Linked, sort: str, act: str, *, dry_run: bool) -> dict[str, Json]:
    return {
        "spec_id": linked.spec,
        "source_task": linked.source,
        "target_task": linked.target,
        "dependency_type": sort,
        "action": act,
        "dry_run": dry_run,
        "source_dependencies": _edges(linked.source_edges),
        "target_dependencies": _edges(linked.target_edges),
        **previewed(dry_run=dry_run),
    }


def _edges(edges: Edges) -> Json:
    return {
        "blocks": list(edges.blocks[:_SHOWN]),
        "blocked_by": list(edges.blocked_by[:_SHOWN]),
        "depends": list(edges.depends[:_SHOWN]),
    }


LINKING: Final = (add_dependency, remove_dependency)
"""The actions, in the order of the list."""


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
    fields: dict[str, Json] = {}
    if estimated_hours is not None:
        fields["estimated_hours"] = estimated_hours
    if task_type == "research":
        fields["research_type"] = research_type or "consensus"
        fields["blocking_mode"] = blocking_mode or "soft"
        if query:
            fields["query"] = query
    elif research_type or blocking_mode or query:
        raise InvalidInput(
            "`research_type`, `blocking_mode` and `query` belong to a research node",
            hint='Give `task_type` "research".',
        )
    draft = NodeDraft(
        parent=parent,
        title=title,
        type=task_type,
        description=description,
        file_path=file_path or "",
        position=position,
        kept=fields,
    )
    added = call.core.use(Shaping).add(spec_id, draft, dry_run=dry_run)
    return present(
        {
            "task_id": added.id,
            "parent": added.parent,
            "title": clip(title, TITLE),
            "type": task_type,
            "position": added.position,
            "file_path": file_path,
            "spec_id": added.spec,
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
    edited, requirement = call.core.use(Editing).require(
        spec_id, task_id, requirement_type, text, dry_run=dry_run
    )
    return present(
        {
            "spec_id": edited.spec,
            "task_id": edited.id,
            "action": "add_requirement",
            "requirement": {**requirement, "text": clip(text, TITLE)},
            "total_requirements": len(items_of(edited.after["requirements"])),
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
    edited = call.core.use(Editing).estimate(
        spec_id, task_id, estimated_hours, complexity, dry_run=dry_run
    )
    now = {**edited.now, **edited.after}
    before = {**edited.now, **edited.before}
    return present(
        {
            "spec_id": edited.spec,
            "task_id": edited.id,
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
    fields: dict[str, Json] = {
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
    changes = {name: value for name, value in fields.items() if value is not None}
    edited = call.core.use(Editing).edit(
        spec_id, task_id, {**(custom_metadata or {}), **changes}, dry_run=dry_run
    )
    return present(
        {
            "spec_id": edited.spec,
            "task_id": edited.id,
            "fields_updated": list(edited.after),
            "previous_values": shown_values(edited.before, ROOM - 3_000),
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
    fields: dict[str, Json] = {
        "description": description,
        "file_path": file_path,
        "estimated_hours": estimated_hours,
        "category": category,
        "labels": None if labels is None else {**labels},
        "owners": None if owners is None else [*owners],
    }
    changes = {**(custom_metadata or {})} | {
        name: value for name, value in fields.items() if value is not None
    }
    if not (status_filter or parent_filter or pattern):
        raise InvalidInput(
            "nothing says which nodes: give `status_filter`, `parent_filter` or `pattern`",
            error_code="MISSING_REQUIRED",
        )
    if not changes:
        raise InvalidInput("nothing is to be changed", error_code="MISSING_REQUIRED")
    chosen = NodeFilter(
        status=status_filter or "", parent=parent_filter or "", pattern=pattern or ""
    )
    edited = call.core.use(Editing).edit_many(spec_id, chosen, changes, dry_run=dry_run)
    data: dict[str, Json] = {
        "spec_id": edited.spec,
        "matched_count": edited.matched,
        "updated_count": len(edited.changed),
        "skipped_count": edited.matched - len(edited.changed),
        "filters": {
            "status_filter": status_filter,
            "parent_filter": parent_filter,
            "pattern": pattern,
        },
        "metadata_applied": fitted(changes, 1_500),
        "dry_run": dry_run,
    }
    nodes, omitted = _first([_changed(node) for node in edited.changed], ROOM - size_of(data))
    warnings = [f"{omitted} more were changed."] if omitted else []
    return present({**data, "nodes": nodes}, warnings=warnings)


@action(reads=False, plain=True)
def fix_verification_types(call: Call, spec_id: SpecId, *, dry_run: DryRun = False) -> Json:
    """Give verify nodes a valid type."""
    edited = call.core.use(Editing).mend_verification(spec_id, dry_run=dry_run)
    fixes: list[Json] = [
        {
            "node_id": node.id,
            "title": clip(node.title, TITLE),
            "old": node.before.get("verification_type"),
            "new": node.after.get("verification_type"),
        }
        for node in edited.changed
    ]
    lines, omitted = _first(fixes, ROOM - 600)
    missing = sum(not node.before.get("verification_type") for node in edited.changed)
    return present(
        {
            "spec_id": edited.spec,
            "total_fixes": edited.matched,
            "applied_count": 0 if dry_run else len(edited.changed),
            "fixes": lines,
            "summary": {
                "missing_set_to_run_tests": missing,
                "invalid_set_to_manual": len(edited.changed) - missing,
            },
            "valid_types": list(VERIFICATION_TYPES),
            "dry_run": dry_run,
        },
        warnings=[f"{omitted} more fixes are not shown."] if omitted else [],
    )


def _changed(node: EditedNode) -> Json:
    diff: dict[str, Json] = {
        name: {"old": node.before.get(name), "new": value} for name, value in node.after.items()
    }
    return {
        "node_id": node.id,
        "title": clip(node.title, TITLE),
        "type": node.type,
        "status": node.status,
        "fields_updated": list(node.after),
        "diff": fitted(diff, 1_200),
    }


def _first(entries: list[Json], max_bytes: int) -> tuple[list[Json], int]:
    """Return the entries that fit, and how many do not."""
    fitting: list[Json] = []
    for entry in entries:
        max_bytes -= size_of(entry) + 1
        if max_bytes < 0:
            break
        fitting.append(entry)
    return fitting, len(entries) - len(fitting)


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
