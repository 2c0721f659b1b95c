"""Specs found, read, listed, judged and compared."""

from __future__ import annotations

from typing import Annotated, Final, Literal, cast

from pydantic import Field

from counterpoint.dialects.arguments import INTEGER
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.rules import analysis, shape
from counterpoint.dialects.foundry.rules.duplicates import PAIRS, PAIRS_LIMIT, THRESHOLD, duplicates
from counterpoint.dialects.foundry.rules.shape import items_of
from counterpoint.dialects.foundry.rules.validation.report import unread_report
from counterpoint.dialects.foundry.rules.validation.report import validate as judge
from counterpoint.dialects.foundry.tools.history import diff, history
from counterpoint.dialects.foundry.tools.sessions.words import RUN
from counterpoint.dialects.foundry.tools.shown import META, in_pages, spec_line
from counterpoint.dialects.foundry.verbs.documents.history import History
from counterpoint.dialects.foundry.verbs.editing import Editing
from counterpoint.dialects.foundry.verbs.mirror.mirroring import Mirroring
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.dialects.foundry.words import (
    WORKSPACE,
    Cursor,
    DryRun,
    LongLimit,
    SpecId,
    Workspace,
)
from counterpoint.dialects.paging import PAGE, RESERVE, pages_of, part_of_text
from counterpoint.kernel.canonical import Json, dump_any, text_digest
from counterpoint.kernel.errors import Conflict, NotFound
from counterpoint.kernel.plurals import agree, counted
from counterpoint.kernel.visible import json_text
from counterpoint.protocol.actions import action, of_actions

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
