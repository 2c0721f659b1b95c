"""The tools `spec` and `lifecycle`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, cast

from pydantic import Field

from counterpoint.dialects.arguments import INTEGER, TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.documents.history import History, Past, PastChange
from counterpoint.dialects.foundry.documents.operations import Applied, Editing
from counterpoint.dialects.foundry.envelope import PHRASES, page, present
from counterpoint.dialects.foundry.files.mirror import Mirroring
from counterpoint.dialects.foundry.models.specs import Folder as FolderName
from counterpoint.dialects.foundry.models.specs import path_of
from counterpoint.dialects.foundry.nodes.rules import shape
from counterpoint.dialects.foundry.nodes.rules.shape import (
    MOVES,
    awaits_text,
    is_finished,
    items_of,
    text_of,
)
from counterpoint.dialects.foundry.specs.operations import Lifecycle, Specs
from counterpoint.dialects.foundry.specs.rules import analysis
from counterpoint.dialects.foundry.specs.rules.analysis import (
    PAIRS,
    PAIRS_LIMIT,
    THRESHOLD,
    duplicates,
)
from counterpoint.dialects.foundry.specs.rules.validation import unread_report
from counterpoint.dialects.foundry.specs.rules.validation import validate as judge
from counterpoint.dialects.foundry.tools.shown import LOCK, META, RUN, in_pages, spec_line
from counterpoint.dialects.foundry.words import (
    PATH,
    WORKSPACE,
    Cursor,
    DryRun,
    Folder,
    Force,
    Limit,
    LongLimit,
    SpecId,
    Workspace,
)
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    fit_parts,
    pages_of,
    part_of_list,
    part_of_text,
    size_of,
    sparse,
)
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json, dump_any, object_of, text_digest
from counterpoint.kernel.errors import Conflict, NotFound
from counterpoint.kernel.plurals import agree, counted
from counterpoint.kernel.visible import json_text
from counterpoint.protocol.actions import action, of_actions

_ONE: Final = 3_000
"""The most bytes that the changes of one node take."""
_SAID: Final = 300
_FIELDS: Final = 20
_NODES: Final = 10
_CHANGES: Final = 50
_CHANGES_ROOM: Final = 6_000

Version = Annotated[
    str,
    Field(
        min_length=1,
        max_length=100,
        description="Such as 1.1; spec-rollback: of spec history, or a time",
    ),
    TEXT,
]


@action(reads=True, plain=True)
def diff(
    call: Call,
    spec_id: SpecId,
    target: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            description="Version, time or other spec; else the last version",
        ),
        TEXT,
    ] = "",
    limit: LongLimit = 100,
    cursor: Cursor = "",
) -> Json:
    """What differs from an earlier version, or from another spec."""
    compared, report = call.core.use(History).diff(spec_id, target, limit)
    changes = {
        name: [_cut(object_of(entry)) for entry in items_of(some)]
        for name, some in object_of(report["changes"]).items()
    }
    # Of a spec that has changed since there is no further page: the places would not fit.
    digest = text_digest(dump_any(report))
    pages = pages_of(
        call, cursor, "spec diff", spec_id, target, limit, digest, first=dict.fromkeys(changes, 0)
    )
    opened = {
        name: part_of_list(cast("list[Json]", some), pages.at[name])
        for name, some in changes.items()
        if name in pages.at
    }
    beside: dict[str, Json] = {"spec_id": spec_id, "compared_to": compared, **report, "changes": {}}
    parts, further = fit_parts(opened, PAGE - RESERVE - META - size_of(beside))
    size = sum(len(items_of(some)) for some in parts.values())
    whole: dict[str, Json] = {name: parts.get(name, []) for name in changes}
    return present(
        {**beside, "changes": whole}, pagination=page(pages.cursor(further or None), size)
    )


def _cut(entry: dict[str, Json]) -> dict[str, Json]:
    """Return what changed of a node as far as there is room for it."""
    if "field_changes" not in entry:
        return {**entry, "title": clip(text_of(entry.get("title")), _SAID)}
    chars_left, lines = _ONE, list[Json]()
    for change in items_of(entry["field_changes"]):
        chars_left -= size_of(change)
        if chars_left < 0:
            break
        lines.append(change)
    return {**entry, "title": clip(text_of(entry.get("title")), _SAID), "field_changes": lines}


@action(reads=True)
def history(
    call: Call,
    spec_id: SpecId,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> Json:
    """Versions and revisions, newest first."""
    pages = pages_of(call, cursor, "spec history", spec_id, first={"revisions": 0, "changes": -1})
    before = pages.at.get("changes")
    past = call.core.use(History).changes(
        spec_id, -1 if before is None else before, limit if before is not None else 1
    )
    opened: dict[str, Part] = {}
    if "revisions" in pages.at:
        listed: list[Json] = [_revision(revision) for revision in reversed(past.revisions)]
        opened["revisions"] = part_of_list(listed, pages.at["revisions"], limit)
    if before is not None:
        opened["changes"] = _changes(past, before)
    parts, further = fit_parts(opened, PAGE - RESERVE - META)
    revisions, changes = items_of(parts.get("revisions")), items_of(parts.get("changes"))
    return present(
        {
            "spec_id": past.spec,
            "entries": [*revisions, *changes],
            "backup_count": len(changes),
            "revision_count": len(past.revisions),
        },
        pagination=page(pages.cursor(further or None), len(revisions) + len(changes)),
    )


def _changes(past: Past, before: int) -> Part:
    """Return the changes as a part that goes on where the next page begins, also if it has none itself."""
    places = [change.position for change in past.changes[:-1]]
    return Part(
        content=[_change(change) for change in past.changes],
        start=before if past.changes else past.following,
        places=[*places, past.following],
        more=past.following >= 0,
    )


def _change(change: PastChange) -> dict[str, Json]:
    nodes = list(change.fields.items())[:_NODES]
    return {
        "type": "backup",
        "timestamp": change.at,
        "version": str(change.position),
        "action": change.action,
        "author": change.agent,
        "changed": {name: list(fields[:_FIELDS]) for name, fields in nodes},
    }


def _revision(revision: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "revision",
        "timestamp": revision.get("date"),
        "version": clip(text_of(revision.get("version")), _SAID),
        "changes": clip(text_of(revision.get("changelog") or revision.get("changes")), _SAID),
        **sparse(author=revision.get("author")),
    }


def _changed(applied: Applied) -> dict[str, Json]:
    """Return what changed as far as there is room for it, and how many more there are."""
    chars_left, lines = _CHANGES_ROOM, list[Json]()
    for change in applied.changes[:_CHANGES]:
        line: Json = {"node_id": change.node, **sparse(field=clip(change.field, _SAID))}
        chars_left -= size_of(line)
        if chars_left < 0:
            break
        lines.append(line)
    return {"changes": lines, "more_changes": len(applied.changes) - len(lines)}


@action(reads=False, destructive=True, plain=True)
def spec_rollback(
    call: Call, spec_id: SpecId, version: Version, *, dry_run: DryRun = False
) -> Json:
    """Bring a spec back to how it was."""
    position = call.core.use(Editing).position()
    restored_to, applied = call.core.use(History).rollback(
        spec_id, version, whole=True, dry_run=dry_run
    )
    count = len(applied.changes)
    message = (
        f"{counted(count, 'change')} would be made"
        if dry_run
        else f"{agree(count, 'change', 'was')} made"
    )
    return present(
        {
            "spec_id": applied.spec,
            "timestamp": version,
            "dry_run": dry_run,
            "restored_from": str(restored_to),
            "backup_created": None if dry_run else str(position),
            "message": message,
            **_changed(applied),
        }
    )


_DOCS: Final = ("docs", "README.md")
_MOST: Final = 100
"""Nodes of a circle that are told."""
_MOST_FAULTS: Final = 10
"""Faults of a file that are told beside those of its spec."""
_MOST_FIXES: Final = 40
"""Fixes that are told."""

AutoFix = Annotated[bool, Field(description="Apply the fixes")]


@action(reads=True)
def find(call: Call, spec_id: SpecId) -> Json:
    """Its path and folder."""
    line = call.core.use(Specs).find(spec_id)
    if line is None:
        return present({"found": False, "spec_id": spec_id})
    return present(
        {
            "found": True,
            "spec_id": line.spec,
            "path": line.path,
            "status_folder": line.folder,
        }
    )


@action(reads=True)
def get(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """The whole document: JSON text, in pages to join."""
    pages = pages_of(call, cursor, "spec get", spec_id, first=[-1, "", 0])
    position, digest, at = cast("tuple[int, str, int]", pages.at)
    now, document = call.core.use(History).present(spec_id)
    text = json_text(document)
    if digest not in {"", text_digest(text)}:
        # Every page is of the version that the first one showed.
        text = json_text(call.core.use(History).document(spec_id, str(position)))
        if digest != text_digest(text):
            raise Conflict(
                f"the spec {spec_id} has changed, and a text of how it was has been taken away since",
                hint="Leave `cursor` out to read it from its beginning.",
            )
    first = position if digest else now
    part, end = part_of_text(text, at).cut(PAGE - RESERVE - META)
    further = pages.cursor(end and [first, text_digest(text), end])
    return present({"spec": part}, pagination=page(further, 1) if cursor or further else None)


@action(reads=True, name="list", plain=True)
def list_(
    call: Call,
    status: Annotated[
        Literal["all", "pending", "active", "completed", "archived"],
        Field(description="Only this folder"),
    ] = "all",
    *,
    include_progress: Annotated[bool, Field(description="With counts")] = True,
    cursor: Cursor = "",
    limit: LongLimit = 100,
) -> Json:
    """Specs by id."""
    pages = pages_of(call, cursor, "spec list", status, include_progress, first="")
    specs = call.core.use(Specs).list(
        "" if status == "all" else status, pages.at, limit + 1, counted=include_progress
    )
    lines, further = pages.rows(
        specs,
        limit,
        lambda spec: spec_line(spec, counted=include_progress),
        lambda spec: spec.spec,
        PAGE - META,
    )
    return present({"specs": lines, "count": len(lines)}, pagination=page(further, len(lines)))


@action(reads=True, plain=True)
def validate(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """All that is wrong with a spec, each with its place."""
    query, files = ("spec validate", spec_id), call.core.use(Mirroring)
    try:
        document = call.core.use(Specs).document(spec_id)
    except NotFound:
        unread = files.unread(spec_id)
        if unread is None:
            raise
        report = unread_report(unread.document, unread.faults)
        message = "Nothing of this file is in the ledger: mend it where `auto_fixable` is false."
        answer = {"spec_id": spec_id, "file": unread.path, "message": message, **report}
        return in_pages(call, query, cursor, answer, "diagnostics")
    answer = {"spec_id": spec_id, **judge(document).as_json()}
    unread = files.unread(spec_id) if spec_id in files.troubles() else None
    if unread is not None:
        answer |= {"file": unread.path, "file_faults": [*unread.faults[:_MOST_FAULTS]]}
    return in_pages(call, query, cursor, answer, "diagnostics")


@action(reads=False, hidden=["create_backup"])
def fix(
    call: Call,
    spec_id: SpecId,
    *,
    dry_run: DryRun = False,
    auto_fix: AutoFix = True,
    create_backup: Annotated[bool, Field(description="Name the version before")] = True,
) -> Json:
    """Mend what needs no decision."""
    editing, is_tried = call.core.use(Editing), dry_run or not auto_fix
    position = editing.position()
    _, fixes = editing.fix(spec_id, dry_run=is_tried)
    actions: list[Json] = [fix.as_json() for fix in fixes]
    done, pending = ([], actions) if is_tried else (actions, [])
    message = (
        f"{counted(len(fixes), 'thing')} can be fixed"
        if is_tried
        else f"{agree(len(fixes), 'thing', 'was')} fixed"
    )
    return present(
        {
            "spec_id": spec_id,
            "applied_count": len(done),
            "skipped_count": len(pending),
            "message": message if fixes else "Nothing has to be fixed",
            "dry_run": dry_run,
            "applied_actions": done[:_MOST_FIXES],
            "skipped_actions": pending[:_MOST_FIXES],
            "backup_path": str(position) if done and create_backup else None,
        },
        warnings=[f"The first {_MOST_FIXES} are told"] if len(fixes) > _MOST_FIXES else [],
    )


@action(reads=False, plain=True)
def validate_fix(
    call: Call,
    spec_id: SpecId,
    *,
    auto_fix: AutoFix = True,
    cursor: Cursor = "",
) -> Json:
    """Mend a spec, and tell what is wrong still."""
    document, fixes = call.core.use(Editing).fix(spec_id, dry_run=not auto_fix)
    if not auto_fix:
        document = call.core.use(Specs).document(spec_id)
    report = judge(document).as_json()
    answer = {"spec_id": spec_id, **report, "fixes_applied": len(fixes) if auto_fix else 0}
    return in_pages(call, ("spec validate-fix", spec_id), cursor, answer, "diagnostics")


@action(reads=False, plain=True)
def recalculate_actual_hours(
    call: Call,
    spec_id: SpecId,
    *,
    dry_run: DryRun = False,
    cursor: Cursor = "",
) -> Json:
    """Add up the hours of phases and of the spec."""
    report = call.core.use(Editing).recalculate(spec_id, dry_run=dry_run)
    answer = {"spec_id": spec_id, "dry_run": dry_run, **report}
    return in_pages(call, ("spec recalculate-actual-hours", spec_id), cursor, answer, "phases")


@action(reads=True, plain=True)
def stats(call: Call, spec_id: SpecId) -> Json:
    """Counts and progress."""
    document = call.core.use(Specs).document(spec_id)
    return present(analysis.stats(document, len(dump_any(document).encode())))


@action(reads=True, aliases={"path": "directory"})
def analyze(
    call: Call,
    directory: Annotated[Workspace, Field(description="Folder to analyze")] = "",
    workspace: Workspace = "",
) -> Json:
    """Specs and docs of a folder."""
    specs = call.core.use(Specs)
    folder = specs.within(directory or workspace)
    counts = specs.folders()
    docs = any((folder / name).exists() for name in _DOCS)
    return present(
        {
            "directory": str(folder),
            "has_specs": any(counts.values()),
            "specs_dir": str(specs.folder()),
            "spec_counts": {folder: counts[folder] for folder in counts},
            "total_specs": sum(counts.values()),
            "documentation_available": docs,
            "codebase_docs_available": (folder / "docs" / "codebase.json").exists(),
        }
    )


@action(reads=True)
def analyze_deps(
    call: Call,
    spec_id: SpecId,
    bottleneck_threshold: Annotated[
        int, Field(ge=1, le=1_000, description="Least dependents of one"), INTEGER
    ] = analysis.BOTTLENECK_THRESHOLD,
    cursor: Cursor = "",
) -> Json:
    """Cycles and bottlenecks."""
    document = call.core.use(Specs).document(spec_id)
    report = analysis.dependency_report(document, bottleneck_threshold)
    circles = [items_of(circle)[:_MOST] for circle in items_of(report["circular_deps"])]
    answer = {"spec_id": spec_id, **report, "circular_deps": circles}
    query = ("spec analyze-deps", spec_id, bottleneck_threshold)
    return in_pages(call, query, cursor, answer, "bottlenecks", "circular_deps")


@action(reads=True)
def schema(_call: Call) -> Json:
    """Words that a spec may have."""
    return present(shape.schema())


@action(reads=True, plain=True)
def completeness_check(call: Call, spec_id: SpecId, cursor: Cursor = "") -> Json:
    """How completely its nodes are described."""
    report = analysis.completeness(call.core.use(Specs).document(spec_id))
    answer = {"spec_id": spec_id, **report}
    return in_pages(call, ("spec completeness-check", spec_id), cursor, answer, "issues")


@action(reads=True, hidden=["scope", "threshold", "max_pairs"], plain=True)
def duplicate_detection(
    call: Call,
    spec_id: SpecId,
    scope: Annotated[
        Literal["titles", "descriptions", "both"], Field(description="What is compared")
    ] = "titles",
    threshold: Annotated[float, Field(ge=0, le=1, description="How alike, 0 to 1")] = THRESHOLD,
    max_pairs: Annotated[
        int, Field(ge=1, le=PAIRS_LIMIT, description="Most pairs"), INTEGER
    ] = PAIRS,
    cursor: Cursor = "",
) -> Json:
    """Tasks that say nearly the same."""
    document = call.core.use(Specs).document(spec_id)
    report = duplicates(document, scope, threshold, max_pairs)
    query = ("spec duplicate-detection", spec_id, scope, threshold, max_pairs)
    return in_pages(call, query, cursor, {"spec_id": spec_id, **report}, "duplicates")


spec = of_actions(
    "spec",
    "Find, read and judge specs.",
    (
        find,
        get,
        list_,
        validate,
        fix,
        stats,
        analyze,
        analyze_deps,
        schema,
        diff,
        history,
        completeness_check,
        duplicate_detection,
        validate_fix,
        recalculate_actual_hours,
    ),
    beside={**WORKSPACE, **RUN},
    aliases={"path": "workspace"},
)


def _moved(call: Call, spec: str, to: FolderName, *, force: bool = False) -> Json:
    moved = call.core.use(Lifecycle).move(spec, to, force=force)
    warnings = [f"{moved.spec} is {to} already"] if moved.before == to else []
    if moved.skipped:
        warnings.append(f"{moved.skipped} unfinished tasks were skipped")
    return present(
        {
            "spec_id": moved.spec,
            "from_folder": moved.before,
            "to_folder": moved.after,
            "old_path": path_of(moved.before, moved.spec),
            "new_path": path_of(moved.after, moved.spec),
        },
        warnings=warnings,
    )


@action(reads=False, plain=True)
def move(call: Call, spec_id: SpecId, to_folder: Folder) -> Json:
    """Bring a spec into a folder."""
    return _moved(call, spec_id, to_folder)


@action(reads=False, plain=True)
def activate(call: Call, spec_id: SpecId) -> Json:
    """Take a spec up: to active."""
    return _moved(call, spec_id, "active")


@action(reads=False)
def complete(call: Call, spec_id: SpecId, *, force: Force = False) -> Json:
    """All is done; force skips what is open."""
    return _moved(call, spec_id, "completed", force=force)


@action(reads=False)
def archive(call: Call, spec_id: SpecId) -> Json:
    """It will not be pursued."""
    return _moved(call, spec_id, "archived")


@action(reads=True)
def state(call: Call, spec_id: SpecId) -> Json:
    """Where it stands, and may go."""
    line = call.core.use(Specs).get(spec_id)
    tally, ways = line.tally, MOVES[line.folder]
    return present(
        {
            "spec_id": line.spec,
            "folder": line.folder,
            "status": line.status,
            "progress_percentage": round(100 * tally.completed / max(tally.total, 1), 2),
            "total_tasks": tally.total,
            "completed_tasks": tally.completed,
            "can_complete": is_finished(tally) and not line.awaiting and "completed" in ways,
            "can_archive": "archived" in ways,
        },
        warnings=[f"{awaits_text(line.awaiting)}; {PHRASES[Act.REVIEW]}"] if line.awaiting else (),
    )


lifecycle = of_actions(
    "lifecycle",
    "Move specs between folders.",
    (move, activate, complete, archive, state),
    beside={**PATH, **LOCK},
    aliases={"workspace": "path"},
)
