"""Phases of a spec: the actions of `authoring` that begin with `phase`."""

from __future__ import annotations

from typing import Annotated, Any, Final, NotRequired

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.dialects.arguments import INTEGER, TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.nouns.specs import PURPOSE, MadePhase, PhaseDraft
from counterpoint.dialects.foundry.rules.bulk import tasks_of
from counterpoint.dialects.foundry.verbs.phases import Phases
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.dialects.foundry.words import (
    LONGEST,
    Description,
    DryRun,
    Force,
    PhaseId,
    SpecId,
    Title,
)
from counterpoint.dialects.paging import clip
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.actions import Action, action
from counterpoint.protocol.faults import MISSING

_OBJECT: Final = WithJsonSchema({"type": "object"})
_OBJECTS: Final = WithJsonSchema({"type": "array", "items": {"type": "object"}})
_SHOWN: Final = 40
"""Titles of tasks that are told with the ids; of more the ids alone."""

Purpose = Annotated[str, Field(max_length=LONGEST, description="What it is for"), TEXT]
Place = Annotated[int, Field(ge=0, le=10_000), INTEGER]
Link = Annotated[bool, Field(description="Blocked by the phase before it")]
Defaults = Annotated[
    dict[str, Any], Field(max_length=50, description="Defaults of its tasks"), _OBJECT
]


class GivenPhase(TypedDict):
    """A phase that comes with its tasks."""

    title: Title
    description: NotRequired[Description]
    purpose: NotRequired[Purpose]
    metadata_defaults: NotRequired[Defaults]


@action(reads=False, idempotent=False)
def phase_add(
    call: Call,
    spec_id: SpecId,
    title: Title,
    description: Description = "",
    purpose: Purpose = "",
    position: Annotated[
        Place | None, Field(description="From 0, else last; phase-move: from 1")
    ] = None,
    *,
    link_previous: Link = True,
    dry_run: DryRun = False,
) -> Json:
    """Adds nodes that verify it: tests, fidelity review."""
    draft = PhaseDraft(
        title=title,
        description=description,
        purpose=purpose,
        position=position,
        link_previous=link_previous,
    )
    added = call.core.use(Phases).add(spec_id, draft, dry_run=dry_run)
    return present({**_made(added, dry_run=dry_run), "verify_tasks": list(added.scaffold)})


@action(reads=False, idempotent=False)
def phase_add_bulk(
    call: Call,
    spec_id: SpecId,
    phase: Annotated[
        GivenPhase,
        Field(description="{title, description?, purpose?, metadata_defaults?}"),
        _OBJECT,
    ],
    tasks: Annotated[
        list[dict[str, Any]],
        Field(
            max_length=1_000,
            description="Each {title, description, type?: task|subtask|verify|research, acceptance_criteria?:"
            " [text], task_category?, file_path?, estimated_hours?, complexity?, verification_type?, command?}",
        ),
        _OBJECTS,
    ],
    metadata_defaults: Annotated[
        Defaults | None, Field(description="Defaults of its tasks")
    ] = None,
    position: Annotated[
        Place | None, Field(description="From 0, else last; phase-move: from 1")
    ] = None,
    *,
    link_previous: Link = True,
    dry_run: DryRun = False,
) -> Json:
    """With tasks, and what verifies them if missing."""
    defaults: dict[str, Json] = {
        **call.core.use(Specs).task_defaults(spec_id),
        **(metadata_defaults or {}),
        **phase.get("metadata_defaults", {}),
    }
    draft = PhaseDraft(
        title=phase["title"],
        description=phase.get("description", ""),
        purpose=phase.get("purpose", ""),
        position=position,
        link_previous=link_previous,
        tasks=tasks_of(list[Json](tasks), defaults),
    )
    added = call.core.use(Phases).add(spec_id, draft, dry_run=dry_run)
    created: list[Json] = [
        {"task_id": task.id, "title": clip(task.title, 60), "type": task.type}
        for task in added.tasks[:_SHOWN]
    ]
    return present(
        {
            **_made(added, dry_run=dry_run),
            "tasks_created": created,
            "total_tasks": len(added.tasks),
        },
        warnings=[f"The first {_SHOWN} of {len(added.tasks)} tasks are told"]
        if len(added.tasks) > _SHOWN
        else [],
    )


def _made(phase: MadePhase, *, dry_run: bool) -> dict[str, Json]:
    return {
        "spec_id": phase.spec,
        "dry_run": dry_run,
        "phase_id": phase.id,
        "title": phase.title,
        "position": phase.position,
        "linked_previous": phase.linked or None,
    }


@action(reads=False, destructive=True)
def phase_remove(
    call: Call, spec_id: SpecId, phase_id: PhaseId, *, force: Force = False, dry_run: DryRun = False
) -> Json:
    """With its tasks."""
    gone = call.core.use(Phases).remove(spec_id, phase_id, force=force, dry_run=dry_run)
    return present(
        {
            "spec_id": gone.spec,
            "dry_run": dry_run,
            "phase_id": gone.id,
            "phase_title": gone.title,
            "children_removed": gone.children,
            "total_tasks_removed": gone.tally.total,
            "completed_tasks_removed": gone.tally.completed,
            "force": force,
        }
    )


@action(reads=False, plain=True)
def phase_move(
    call: Call,
    spec_id: SpecId,
    phase_id: PhaseId,
    position: Annotated[Place, Field(description="Place, from 1")],
    *,
    link_previous: Link = True,
    dry_run: DryRun = False,
) -> Json:
    """Move a phase to a place among the others."""
    moved = call.core.use(Phases).move(
        spec_id, phase_id, position, link_previous=link_previous, dry_run=dry_run
    )
    return present(
        {
            "spec_id": moved.spec,
            "phase_id": moved.id,
            "phase_title": moved.title,
            "old_position": moved.before,
            "new_position": moved.after,
            "moved": moved.before != moved.after,
            "link_previous": link_previous,
            "dry_run": dry_run,
            "dependencies_updated": [
                {
                    "action": link.action,
                    "from": link.origin,
                    "relationship": "blocked_by",
                    "target": link.target,
                }
                for link in moved.relinked
            ],
        }
    )


@action(reads=False)
def phase_update_metadata(
    call: Call,
    spec_id: SpecId,
    phase_id: PhaseId,
    description: Annotated[Description | None, Field(description="What is in it")] = None,
    purpose: Annotated[Purpose | None, Field(description="What it is for")] = None,
    *,
    dry_run: DryRun = False,
) -> Json:
    """Its description, purpose."""
    texts = {"description": description, PURPOSE: purpose}
    changes = {name: text for name, text in texts.items() if text is not None}
    if not changes:
        raise InvalidInput(
            f"description or purpose: {MISSING}", hint="Give one.", error_code="MISSING_REQUIRED"
        )
    spec, name, phase, edits = call.core.use(Phases).word(
        spec_id, phase_id, changes, dry_run=dry_run
    )
    return present(
        {
            "spec_id": spec,
            "phase_id": name,
            "phase_title": phase.title,
            "updates": [{part: _short(value) for part, value in edit.items()} for edit in edits],
            "dry_run": dry_run,
        }
    )


def _short(value: Json) -> Json:
    return clip(value, 2_000) if isinstance(value, str) else value


PHASES: Final[tuple[Action[Call], ...]] = (
    phase_add,
    phase_add_bulk,
    phase_remove,
    phase_move,
    phase_update_metadata,
)
