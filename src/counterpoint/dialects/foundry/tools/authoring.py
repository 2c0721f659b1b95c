"""Specs made and changed as wholes: the tool `authoring`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.nouns.specs import SpecDraft
from counterpoint.dialects.foundry.rules.editing.replacing import FIND_LIMIT
from counterpoint.dialects.foundry.rules.shape import FIELD_LIMIT, TEMPLATES, items_of
from counterpoint.dialects.foundry.rules.validation.report import validate
from counterpoint.dialects.foundry.tools.history import spec_rollback
from counterpoint.dialects.foundry.tools.lists import LISTS, Author, Words
from counterpoint.dialects.foundry.tools.phases import PHASES
from counterpoint.dialects.foundry.tools.sessions.words import RUN
from counterpoint.dialects.foundry.tools.shown import clipped
from counterpoint.dialects.foundry.verbs.editing import Editing
from counterpoint.dialects.foundry.verbs.frontmatter import Frontmatter
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.dialects.foundry.words import PATH, DryRun, FilePath, Name, SpecId
from counterpoint.dialects.paging import size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound
from counterpoint.kernel.plurals import counted
from counterpoint.protocol.actions import action, of_actions

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
