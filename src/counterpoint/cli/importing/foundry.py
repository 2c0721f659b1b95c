"""The command that takes specs of foundry in, and says which side of one counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import click

from counterpoint.cli.checks.mirrored import core_for_files
from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import Output
from counterpoint.core.coordinator import Core
from counterpoint.dialects.foundry.documents.operations import Applied, ImportedSpec, Importing
from counterpoint.dialects.foundry.files.mirror import Mirroring, Side, told
from counterpoint.dialects.foundry.models.specs import SPEC, Folder
from counterpoint.dialects.foundry.nodes.rules.shape import FILE_LIMIT, parse
from counterpoint.dialects.foundry.nodes.rules.tree import faults_in
from counterpoint.dialects.foundry.places import FOLDERS, SPECS
from counterpoint.dialects.foundry.runs.locking import Locking
from counterpoint.dialects.foundry.specs.rules.editing import FixAction
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, CounterpointError, NotFound
from counterpoint.kernel.plurals import counted

_FAULTS_SHOWN: Final = 10
_CHANGES_SHOWN: Final = 50
_FIXES_SHOWN: Final = 20
"""Fixes of one file that a person is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What became of one file: `imported`, `known`, or `refused` with why."""

    spec: str
    path: Path
    how: str
    nodes: int = 0
    remarks: tuple[str, ...] = ()
    fixes: tuple[FixAction, ...] = ()
    fault: CounterpointError | None = None


@click.command(
    "foundry",
    epilog=examples(
        "counterpoint import foundry --dry-run", "counterpoint import foundry --take file spec-1"
    ),
)
@click.argument("path", required=False, metavar="[PATH|SPEC]")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would be imported, and what is wrong; import nothing.",
)
@click.option(
    "--take",
    "side",
    type=click.Choice(["file", "ledger"]),
    help="Resolve a conflict: which side of the named SPEC to keep.",
)
@with_context
def foundry_command(
    context: CommandContext, *, path: str | None, dry_run: bool, side: str | None
) -> int:
    """Import the specs of a foundry project.

    PATH is a spec file or a folder of specs; the default is the specs folder of this project. A spec is imported
    whole or not at all, and only once. Damage that needs no decision is repaired and reported. For each file that is refused the command
    shows what is wrong, and where.
    """
    if side is not None:
        if not path or dry_run:
            raise click.UsageError(
                "Name the SPEC whose file or ledger is to count, without --dry-run."
            )
        return _settle(context, path, cast("Side", side))
    core = context.core
    verbs = core.use(Mirroring)
    if not path and (elsewhere := verbs.kept_elsewhere()):
        raise Conflict(elsewhere, hint="Name the file or folder that is to be copied from.")
    files = list(_files(Path(path) if path else verbs.files.specs))
    outcomes: list[_Outcome] = []
    with context.out.counting("Specs") as count:
        for number, (file, folder) in enumerate(files, 1):
            outcomes.append(_take_in(core, file, folder, dry_run=dry_run))
            count(number)
    edits: Mapping[str, Sequence[FixAction]] = {}
    if not path and not dry_run:
        # What others edited is not the word of the person who runs this.
        synced = core_for_files(context.app).use(Mirroring).round(waits=True)
        context.remarks.extend(told(spec, trouble) for spec, trouble in synced.troubles.items())
        edits = {edit.spec: edit.fixes for edit in synced.applied if edit.fixes}
    _tell(context.out, outcomes, edits, dry_run=dry_run)
    return 1 if any(outcome.fault is not None for outcome in outcomes) else 0


def _tell(
    out: Output,
    outcomes: Sequence[_Outcome],
    edits: Mapping[str, Sequence[FixAction]],
    *,
    dry_run: bool,
) -> None:
    """Say what became of each file, and what was mended in it; edits: in files of specs that were known, by spec."""
    imported = [outcome for outcome in outcomes if outcome.how == "imported"]
    refused = sum(outcome.fault is not None for outcome in outcomes)
    mended: Json = [{"spec": spec, "fixes": _fixes(some)} for spec, some in edits.items()]
    out.result(
        {
            "dry_run": dry_run,
            "specs": [_present(outcome) for outcome in outcomes],
            **({"edits": mended} if edits else {}),
        },
        *(line for outcome in outcomes for line in _lines(outcome, dry_run=dry_run)),
    )
    _tell_fixes(
        out,
        [
            *((outcome.path.name, outcome.fixes) for outcome in outcomes),
            *((f"{spec}.json", some) for spec, some in edits.items()),
        ],
    )
    if not out.json:
        out.line(
            f"{'Would import' if dry_run else 'Imported'} {counted(len(imported), 'spec')}"
            f" of {counted(len(outcomes), 'file')}; {refused} refused."
        )


def _settle(context: CommandContext, spec: str, side: Side) -> int:
    settled = context.core.use(Mirroring).take(spec, side)
    refused = settled.refused if settled else ()
    changes = settled.changes if settled else ()
    lines = [f"  {refusal.node} {refusal.field}: {refusal.reason}" for refusal in refused]
    done = [f"  {change.node} {change.field}".rstrip() for change in changes[:_CHANGES_SHOWN]]
    if len(changes) > len(done):
        done.append(f"  and {len(changes) - len(done)} more")
    context.out.result(
        {"spec": spec, "taken": side, **_applied(settled)},
        f"{spec}: the {side} counts.",
        *([f"{counted(len(changes), 'change')} made:", *done] if done else []),
        *([f"{counted(len(lines), 'change')} refused:", *lines] if lines else []),
    )
    _tell_fixes(context.out, [(f"{spec}.json", settled.fixes)] if settled else [])
    return 1 if refused else 0


def _files(source: Path) -> Iterator[tuple[Path, Folder | None]]:
    """Return the files of specs at a place, each with the folder that it lies in; NotFound."""
    if source.is_file():
        yield source, _folder(source)
        return
    if not source.is_dir():
        raise NotFound(f"there is no file and no folder {str(source)!r}", hint="Name either.")
    top = source / SPECS if (source / SPECS).is_dir() else source
    for folder in FOLDERS:
        inside = top / folder
        if inside.is_dir() and not inside.is_symlink():
            for file in sorted(inside.glob("*.json")):
                if file.is_file() and not file.is_symlink() and not file.name.startswith("."):
                    yield file, folder


def _folder(file: Path) -> Folder | None:
    name = file.absolute().parent.name
    return next((candidate for candidate in FOLDERS if candidate == name), None)


def _take_in(core: Core, file: Path, folder: Folder | None, *, dry_run: bool) -> _Outcome:
    name = file.stem
    try:
        with file.open("rb") as opened:
            document = parse(opened.read(FILE_LIMIT + 1), file.name)
        with suppress(TypeError):
            name = document.get("spec_id") or name
        if isinstance(name, str) and core.items.find(name, SPEC) is not None:
            return _Outcome(spec=name, path=file, how="known")
        verbs = core.use(Importing)
        spec: ImportedSpec
        if dry_run:
            spec = verbs.look(document, folder)
        else:
            with core.use(Locking).edited(str(name)):
                spec = verbs.make(document, folder, str(file))
    except OSError as fault:
        refusal = NotFound(f"{file.name} cannot be read: {fault.strerror}")
        return _Outcome(spec=str(name), path=file, how="refused", fault=refusal)
    except CounterpointError as fault:
        return _Outcome(spec=str(name), path=file, how="refused", fault=fault)
    return _Outcome(
        spec=spec.spec,
        path=file,
        how="imported",
        nodes=spec.nodes,
        remarks=spec.remarks,
        fixes=spec.fixes,
    )


def _lines(outcome: _Outcome, *, dry_run: bool) -> list[str]:
    how = "would import" if dry_run and outcome.how == "imported" else outcome.how
    if outcome.fault is None:
        more = f"  {counted(outcome.nodes, 'node')}" if outcome.nodes else ""
        more += f"  {counted(len(outcome.fixes), 'thing')} mended" if outcome.fixes else ""
        return [f"{how:8}  {outcome.spec}{more}", *(f"  {remark}" for remark in outcome.remarks)]
    faults = faults_in(outcome.fault, outcome.path.name)
    fault_lines = [
        f"  {fault['location']}: {fault['code']}, {fault['message']}"
        for fault in faults[:_FAULTS_SHOWN]
    ]
    return [f"{outcome.how:8}  {outcome.spec}".rstrip(), *fault_lines]


def _tell_fixes(out: Output, files: Sequence[tuple[str, Sequence[FixAction]]]) -> None:
    """Say what was mended, by file; with `--json` the answer has it already."""
    rows = [row for name, some in files for row in _fix_rows(name, some)]
    if rows and not out.json:
        out.table(("FILE", "FIX", "WHAT"), rows)


def _fix_rows(file: str, fixes: Sequence[FixAction]) -> Iterator[tuple[str, str, str]]:
    for fix in fixes[:_FIXES_SHOWN]:
        yield file, fix.id, fix.description
    if len(fixes) > _FIXES_SHOWN:
        yield file, f"{len(fixes) - _FIXES_SHOWN} more", "`--json` tells all of them"


def _fixes(fixes: Sequence[FixAction]) -> Json:
    return [fix.as_json() for fix in fixes]


def _present(outcome: _Outcome) -> Json:
    fields: dict[str, Json] = {
        "spec": outcome.spec,
        "path": str(outcome.path),
        "outcome": outcome.how,
    }
    if outcome.fault is not None:
        return {
            **fields,
            "code": outcome.fault.code,
            "why": outcome.fault.message,
            "faults": faults_in(outcome.fault, outcome.path.name),
        }
    return {
        **fields,
        "nodes": outcome.nodes,
        "remarks": list(outcome.remarks),
        "fixes": _fixes(outcome.fixes),
    }


def _applied(applied: Applied | None) -> dict[str, Json]:
    if applied is None:
        return {}
    return {
        "changes": len(applied.changes),
        "changed": [
            {"node_id": change.node, "field": change.field}
            for change in applied.changes[:_CHANGES_SHOWN]
        ],
        "more": max(0, len(applied.changes) - _CHANGES_SHOWN),
        "refused": [
            {"node_id": refusal.node, "field": refusal.field, "reason": refusal.reason}
            for refusal in applied.refused
        ],
        "fixes": _fixes(applied.fixes),
    }
