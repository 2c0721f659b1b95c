"""The tool `authoring`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.dialects.arguments import INTEGER, TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.documents.operations import Editing
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.models.specs import (
    ASSUMPTIONS,
    CONSTRAINTS,
    CRITERIA,
    PURPOSE,
    QUESTIONS,
    RISKS,
    MadePhase,
    PhaseDraft,
    SpecDraft,
    SpecList,
)
from counterpoint.dialects.foundry.nodes.rules.shape import FIELD_LIMIT, TEMPLATES, items_of
from counterpoint.dialects.foundry.specs.operations import Frontmatter, Specs
from counterpoint.dialects.foundry.specs.phases import Phases
from counterpoint.dialects.foundry.specs.rules.authoring import tasks_of
from counterpoint.dialects.foundry.specs.rules.editing import FIND_LIMIT
from counterpoint.dialects.foundry.specs.rules.validation import validate
from counterpoint.dialects.foundry.tools.shown import RUN, clipped, in_pages
from counterpoint.dialects.foundry.tools.spec import spec_rollback
from counterpoint.dialects.foundry.words import (
    LONGEST,
    PATH,
    Cursor,
    Description,
    DryRun,
    FilePath,
    Force,
    Name,
    PhaseId,
    SpecId,
    Title,
)
from counterpoint.dialects.paging import clip, size_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound
from counterpoint.kernel.plurals import counted
from counterpoint.protocol.actions import Action, action, of_actions
from counterpoint.protocol.faults import MISSING

Words = Annotated[str, Field(min_length=1, max_length=FIELD_LIMIT, description="What to add"), TEXT]
Level = Literal["low", "medium", "high"]
Sort = Annotated[str, Field(min_length=1, max_length=100, description="Any word"), TEXT]
Author = Annotated[str, Field(min_length=1, max_length=200, description="Who said so"), TEXT]


def _listed(
    call: Call, spec_id: str, kind: SpecList, name: str, cursor: str, sort: str = ""
) -> Json:
    """Return the entries of a list; sort: only assumptions of this type."""
    spec, entries = call.core.use(Frontmatter).entries(spec_id, kind)
    chosen = [clipped(entry) for entry in entries if sort in {"", entry.get("type")}]
    report: dict[str, Json] = {"spec_id": spec, name: chosen, "total_count": len(chosen)}
    if kind is ASSUMPTIONS:
        report["filter_type"] = sort or None
    return in_pages(call, (f"authoring {kind.what}-list", spec_id, sort), cursor, report, name)


def _added(call: Call, spec_id: str, kind: SpecList, text: str, *, dry_run: bool) -> Json:
    spec, entry = call.core.use(Frontmatter).add(spec_id, kind, text, dry_run=dry_run)
    return present(
        {"spec_id": spec, "text": clipped(text), "dry_run": dry_run, "index": entry["index"]}
    )


@action(reads=False, idempotent=False, plain=True)
def assumption_add(
    call: Call,
    spec_id: SpecId,
    text: Words,
    assumption_type: Sort = "",
    author: Author = "",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Add what is taken for granted."""
    more = sparse(type=assumption_type, author=author)
    spec, entry = call.core.use(Frontmatter).add(
        spec_id, ASSUMPTIONS, {"text": text, **more} if more else text, dry_run=dry_run
    )
    return present(
        {
            "spec_id": spec,
            "assumption_id": entry["id"],
            "text": clipped(text),
            "type": assumption_type or None,
            "dry_run": dry_run,
            **sparse(author=author),
        }
    )


@action(reads=True, plain=True)
def assumption_list(
    call: Call, spec_id: SpecId, assumption_type: Sort = "", cursor: Cursor = ""
) -> Json:
    """List assumptions, of one type or all."""
    return _listed(call, spec_id, ASSUMPTIONS, "assumptions", cursor, assumption_type)


@action(reads=False, idempotent=False, plain=True)
def constraint_add(call: Call, spec_id: SpecId, text: Words, *, dry_run: DryRun = False) -> Json:
    """Add a constraint."""
    return _added(call, spec_id, CONSTRAINTS, text, dry_run=dry_run)


@action(reads=True, plain=True)
def constraint_list(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """List constraints."""
    return _listed(call, spec_id, CONSTRAINTS, "constraints", cursor)


@action(reads=False, idempotent=False, plain=True)
def risk_add(
    call: Call,
    spec_id: SpecId,
    description: Words,
    likelihood: Annotated[Level | None, Field(description="How likely")] = None,
    impact: Annotated[Level | None, Field(description="How bad")] = None,
    mitigation: Annotated[
        str, Field(min_length=1, max_length=FIELD_LIMIT, description="What helps"), TEXT
    ] = "",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Add a risk."""
    risk: dict[str, Json] = {
        "description": description,
        **sparse(likelihood=likelihood, impact=impact, mitigation=mitigation),
    }
    spec, entry = call.core.use(Frontmatter).add(spec_id, RISKS, risk, dry_run=dry_run)
    return present(
        {"spec_id": spec, "dry_run": dry_run, "risk": clipped(risk), "index": entry["index"]}
    )


@action(reads=True, plain=True)
def risk_list(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """List risks."""
    return _listed(call, spec_id, RISKS, "risks", cursor)


@action(reads=False, idempotent=False, plain=True)
def question_add(call: Call, spec_id: SpecId, text: Words, *, dry_run: DryRun = False) -> Json:
    """Add an open question."""
    return _added(call, spec_id, QUESTIONS, text, dry_run=dry_run)


@action(reads=True, plain=True)
def question_list(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """List open questions."""
    return _listed(call, spec_id, QUESTIONS, "questions", cursor)


@action(reads=False, idempotent=False, plain=True)
def success_criterion_add(
    call: Call, spec_id: SpecId, text: Words, *, dry_run: DryRun = False
) -> Json:
    """Add a success criterion."""
    return _added(call, spec_id, CRITERIA, text, dry_run=dry_run)


@action(reads=True, plain=True)
def success_criteria_list(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """List success criteria."""
    return _listed(call, spec_id, CRITERIA, "success_criteria", cursor)


LISTS: Final[tuple[Action[Call], ...]] = (
    assumption_add,
    assumption_list,
    constraint_add,
    constraint_list,
    risk_add,
    risk_list,
    question_add,
    question_list,
    success_criterion_add,
    success_criteria_list,
)


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


_FAULTS = 40
"""Most faults of a spec that was only tried; `spec validate` tells all of one that is there."""
_WHOLE = 3_000
"""Most bytes of a value that is told again."""

PlanPath = Annotated[FilePath, Field(description="From the specs folder: .plans/x.md")]
ReviewPath = Annotated[FilePath, Field(description=".plan-reviews/x.md")]
Template = Annotated[str, Field(min_length=1, max_length=100, description="Template"), TEXT]


@action(reads=False, idempotent=False)
def spec_create(
    call: Call,
    name: Annotated[Name, Field(description="Of the spec")],
    plan_path: PlanPath,
    plan_review_path: ReviewPath,
    template: Template = "empty",
    category: Annotated[
        Literal["investigation", "implementation", "refactoring", "decision", "research"] | None,
        Field(description="Default of its tasks"),
    ] = None,
    mission: Annotated[
        str, Field(min_length=1, max_length=FIELD_LIMIT, description="What it is for"), TEXT
    ] = "",
    *,
    dry_run: DryRun = False,
) -> Json:
    """From a plan and its review."""
    draft = SpecDraft(
        name=name,
        plan_path=plan_path,
        plan_review_path=plan_review_path,
        template=template,
        category=category or "",
        mission=mission,
    )
    line, document = call.core.use(Specs).create(draft, dry_run=dry_run)
    fields: dict[str, Json] = {
        "spec_id": line.spec,
        "name": name,
        "template": template,
        "category": category,
        "mission": clipped(mission or None),
    }
    if not dry_run:
        structure: Json = {"phases": 0, "tasks": 0}
        return present({**fields, "spec_path": line.path, "structure": structure})
    report = validate(document)
    return present(
        {
            **fields,
            "dry_run": True,
            "is_valid": report.is_valid,
            "error_count": report.count("error"),
            "warning_count": report.count("warning"),
            "diagnostics": [diagnostic.as_json() for diagnostic in report.diagnostics[:_FAULTS]],
            "note": "Nothing was made.",
        }
    )


@action(reads=True, plain=True)
def spec_template(
    call: Call,
    template_action: Annotated[
        Literal["list", "show", "apply"], Field(description="What to do with it")
    ] = "list",
    template_name: Template = "",
) -> Json:
    """Look at templates of specs."""
    del call
    if template_action == "list":
        listed: list[Json] = [
            {"name": name, "description": description} for name, description in TEMPLATES.items()
        ]
        return present(
            {
                "action": "list",
                "templates": listed,
                "total_count": len(listed),
                "message": "Name one as `template` of authoring spec-create",
            }
        )
    name = template_name or next(iter(TEMPLATES))
    if name not in TEMPLATES:
        raise NotFound(
            f"there is no template {name!r}", hint=f"Use one of: {', '.join(TEMPLATES)}."
        )
    fields: dict[str, Json] = {"action": template_action, "template_name": name}
    usage = f"authoring spec-create with template={name}"
    if template_action == "show":
        content = {"name": name, "description": TEMPLATES[name], "usage": usage}
        return present({**fields, "content": content})
    return present(
        {
            **fields,
            "generated": {"template": name, "message": "A template is applied when a spec is made"},
            "instructions": f"Call {usage}.",
        }
    )


@action(reads=False, name="spec-update-frontmatter", plain=True)
def spec_update_frontmatter(
    call: Call,
    spec_id: SpecId,
    key: Annotated[
        str, Field(min_length=1, max_length=100, description="Such as title, mission"), TEXT
    ],
    value: Annotated[Any, WithJsonSchema({}), Field(description="Any JSON; null removes")],
    *,
    dry_run: DryRun = False,
) -> Json:
    """Put a value at the head of a spec."""
    put = call.core.use(Frontmatter).put(spec_id, key, value, dry_run=dry_run)
    return present(
        {
            "spec_id": put.spec,
            "key": key,
            "value": _told(put.value),
            "previous_value": _told(put.before),
            "dry_run": dry_run,
        }
    )


def _told(value: Json) -> Json:
    """Return a value that is told again, and how large it is in place of a large one."""
    if isinstance(value, str):
        return clipped(value)
    size = size_of(value)
    return value if size <= _WHOLE else f"{size} bytes of JSON"


@action(reads=False, idempotent=False, plain=True)
def revision_add(
    call: Call,
    spec_id: SpecId,
    version: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            description="Such as 1.1; spec-rollback: of spec history, or a time",
        ),
        TEXT,
    ],
    changes: Annotated[Words, Field(description="What changed")],
    author: Author = "",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Note a revision."""
    spec, revision = call.core.use(Frontmatter).revise(
        spec_id, version, changes, author, dry_run=dry_run
    )
    return present(
        {
            "spec_id": spec,
            "version": version,
            "changes": clipped(changes),
            "dry_run": dry_run,
            "author": revision["author"],
            "date": revision["date"],
        }
    )


@action(reads=False)
def spec_find_replace(
    call: Call,
    spec_id: SpecId,
    find: Annotated[
        str, Field(min_length=1, max_length=FIND_LIMIT, description="Text to find"), TEXT
    ],
    replace: Annotated[str, Field(max_length=FIELD_LIMIT, description="New text"), TEXT],
    scope: Annotated[Literal["all", "titles", "descriptions"], Field(description="Where")] = "all",
    *,
    use_regex: Annotated[bool, Field(description="find is RE2")] = False,
    case_sensitive: Annotated[bool, Field(description="A is not a")] = True,
    dry_run: DryRun = False,
) -> Json:
    """In titles and descriptions."""
    replacement = call.core.use(Editing).replace(
        spec_id,
        find,
        replace,
        scope=scope,
        use_regex=use_regex,
        case_sensitive=case_sensitive,
        dry_run=dry_run,
    )
    report = replacement.as_json()
    changes = [clipped(change) for change in items_of(report["changes"])]
    verb = "would be made" if dry_run else "were made"
    return present(
        {
            "spec_id": spec_id,
            **report,
            "changes": changes,
            "dry_run": dry_run,
            "scope": scope,
            "find": find,
            "replace": clipped(replace),
            "use_regex": use_regex,
            "case_sensitive": case_sensitive,
            "message": f"{counted(report['total_replacements'], 'replacement')} {verb}",
        }
    )


authoring = of_actions(
    "authoring",
    "Make and change specs.",
    (
        spec_create,
        spec_template,
        spec_update_frontmatter,
        *PHASES,
        revision_add,
        *LISTS,
        spec_find_replace,
        spec_rollback,
    ),
    beside={**PATH, **RUN},
    aliases={"workspace": "path"},
)
