"""The commands that take in work of other programs, one for each program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.importing.foundry import foundry_command
from counterpoint.cli.output import Output
from counterpoint.core.model.foreign import Arrival, Difference, ForeignWork, Remark, Source, Weight
from counterpoint.core.operations.foreign.importing import ForeignImports
from counterpoint.core.rules.planning.foreign import refuse_empty, refuse_remarks, settle
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import counted

_SHOWN: Final = 50
"""Differences, remarks and ids of each sort that a person is shown."""
_NAME: Final = 40


class Reader(NamedTuple):
    """A module of `readers`, what it reads in a few words, more of it, and a source for the example."""

    module: str
    source: str
    more: str
    example: str


READERS: Final[Mapping[str, Reader]] = {
    "beads": Reader(
        "beads",
        "issues of beads",
        "SOURCE is what `bd export` wrote, beads' SQLite file, or a folder with `.beads`.",
        ".beads",
    ),
    "task-master": Reader(
        "taskmaster",
        "tasks of task-master, tag by tag",
        "SOURCE is its tasks.json, or the folder of the project.",
        ".taskmaster/tasks/tasks.json",
    ),
    "backlog": Reader(
        "backlog",
        "tasks of Backlog.md",
        "SOURCE is the folder of the project, or its folder `backlog`.",
        "backlog",
    ),
    "vibe-kanban": Reader(
        "vibekanban",
        "tasks of vibe-kanban",
        "SOURCE is its db.sqlite, or the folder that has it.",
        "db.sqlite",
    ),
    "github": Reader(
        "github",
        "issues of GitHub",
        "SOURCE is a file that the GitHub command line wrote:\n\n\b\n"
        "gh issue list --state all --limit 10000 --json number,title,body,state,\\\n"
        "stateReason,labels,assignees,author,milestone,comments,createdAt,\\\n"
        "closedAt,url > issues.json\n\n"
        "Add the fields parent, subIssues and blockedBy where your gh has them.",
        "issues.json",
    ),
    "spec-kit": Reader(
        "speckit",
        "features of spec-kit",
        "SOURCE is the folder of the project, or that of one feature.",
        "specs/001-login",
    ),
    "openspec": Reader(
        "openspec",
        "changes of OpenSpec",
        "SOURCE is the folder of the project, or that of one change.",
        "openspec/changes/login",
    ),
    "linear": Reader(
        "linear",
        "issues of Linear",
        "SOURCE is the CSV file that its settings export.",
        "issues.csv",
    ),
    "markdown": Reader(
        "checklists",
        "a check-list in Markdown",
        "SOURCE is the file. Ticked items are imported as done.",
        "tasks.md",
    ),
    "counterpoint": Reader(
        "own",
        "work of another ledger",
        "SOURCE is what `counterpoint export --format json` wrote.",
        "work.json",
    ),
}
"""What can be imported, by the name of the command."""


_TEXTS: Final = ("markdown", "github", "linear", "task-master", "beads", "counterpoint")
TEXT_SOURCES: Final = {name: READERS[name].source for name in _TEXTS}
"""What can be imported from one file of text, in words."""


def read_text_source(tool: str, name: str, text: str) -> list[ForeignWork]:
    """Return the work in the text of a file of a name; the refusals of an import."""
    with TemporaryDirectory(prefix="counterpoint-import-") as folder:
        path = Path(folder, PurePath(name).name[:100] or "file")
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        return _read(READERS[tool], path, strict=False)


@click.group("import", cls=Group)
def import_command() -> None:
    """Import work from other tools.

    You can repeat an import. It adds what is new or changed in the source; it keeps and reports what was changed here.
    """


def _command(name: str, reader: Reader) -> click.Command:
    @click.command(
        name,
        short_help=f"Import {reader.source}.",
        help=f"Import {reader.source}.\n\n{reader.more}",
        epilog=examples(f"counterpoint import {name} {reader.example} --dry-run"),
    )
    @click.argument("source", type=click.Path(path_type=Path))
    @click.option(
        "--dry-run",
        is_flag=True,
        help="Show what would be imported, and what prevents it; import nothing.",
    )
    @click.option(
        "--as",
        "source_name",
        metavar="NAME",
        default="",
        help="A name for this source, to import from a second one.",
    )
    @click.option(
        "--strict",
        is_flag=True,
        help="Import nothing if anything would be left out or changed.",
    )
    @with_context
    def command(
        context: CommandContext, *, source: Path, dry_run: bool, source_name: str, strict: bool
    ) -> int:
        works = _read(reader, source, strict=strict)
        return _import(context, name, works, source, source_name, dry_run=dry_run)

    return command


def _read(reader: Reader, path: Path, *, strict: bool) -> list[ForeignWork]:
    """Return the work of a source that has any; MalformedDocument if it has none, or with strict if it is not as it should be."""
    read: Callable[[Path], list[ForeignWork]] = import_module(
        f"counterpoint.cli.importing.readers.{reader.module}"
    ).read
    works = read(path)
    empty = [remark for work in works if not work.items for remark in work.remarks]
    works = [work for work in works if work.items]
    if not works:
        if empty:
            refuse_empty(empty)
        raise InvalidInput(
            f"there is no work in {str(path)!r}", hint="Name another file or folder."
        )
    works[0] = replace(works[0], remarks=(*empty, *works[0].remarks))
    if strict:
        refuse_remarks(remark for work in works for remark in settle(work).remarks)
    return works


def _import(
    context: CommandContext,
    tool: str,
    works: list[ForeignWork],
    path: Path,
    source_name: str,
    *,
    dry_run: bool,
) -> int:
    if source_name and ("/" in source_name or len(source_name) > _NAME):
        raise InvalidInput(
            f"the name of a source has at most {_NAME} characters, and no `/`",
            hint="Choose another.",
        )
    arrivals: list[tuple[ForeignWork, Arrival]] = []
    verbs = context.core.use(ForeignImports)
    with context.out.counting("Items and records") as count:
        for work in works:
            name = f"{source_name}-{work.key}" if source_name and len(works) > 1 else source_name
            source = Source(place=_place(context, path), name=name)
            arrival = verbs.look(work, source) if dry_run else verbs.bring(work, source, count)
            arrivals.append((work, arrival))
    context.out.result(
        {"tool": tool, "dry_run": dry_run, "sources": [_present(*pair) for pair in arrivals]}
    )
    if not context.out.json:
        for work, arrival in arrivals:
            _tell(context.out, work, arrival, dry_run=dry_run)
    return 0


def _place(context: CommandContext, path: Path) -> str:
    """Return where a source lies: as it is called from the root of the project, where it is below that."""
    whole, root = path.resolve(), context.app.tree.resolve()
    return str(whole.relative_to(root)) if whole.is_relative_to(root) else str(whole)


def _tell(out: Output, work: ForeignWork, arrival: Arrival, *, dry_run: bool) -> None:
    would = "would " if dry_run else ""
    same = arrival.items - arrival.created - len({x.id for x in arrival.changed})
    out.line(
        f"{arrival.root or 'new':10}  {work.title}: {counted(arrival.items, 'item')}; {would}create {arrival.created:,},"
        f" {would}change {len(arrival.changed):,}, {same:,} as before; {counted(arrival.records, 'record')}"
        if dry_run
        else f"{arrival.root:10}  {work.title}: {counted(arrival.items, 'item')}; {arrival.created:,} created,"
        f" {len(arrival.changed):,} changed, {same:,} as before; {counted(arrival.records, 'record')} written"
    )
    remarks = {
        weight: [str(each) for each in arrival.remarks if each.weight == weight]
        for weight in get_args(Weight)
    }
    be = "would be " if dry_run else ""
    _tell_some(out, f"{be or 'was '}left out", remarks["loss"], style="yellow")
    _tell_some(out, f"{be or 'was '}imported otherwise than it stands there", remarks["change"])
    _tell_some(
        out, f"{be}changed", [f"{x.item}  {x.id}: {', '.join(x.fields)}" for x in arrival.changed]
    )
    _tell_some(out, "left as it is here", [_left(x) for x in arrival.kept], style="yellow")
    _tell_some(out, "no more there, kept here", list(arrival.gone))
    _tell_some(out, "never ready", list(arrival.deadlocks), style="yellow")
    _tell_some(out, "beside the work", remarks["trifle"])


def _left(difference: Difference) -> str:
    fields = f" ({', '.join(difference.fields)})" if difference.fields else ""
    return f"{difference.item}  {difference.id}{fields}: {difference.why}"


def _tell_some(out: Output, what: str, lines: list[str], style: str = "") -> None:
    if not lines:
        return
    out.line(f"  {what}:", style=style)
    for line in lines[:_SHOWN]:
        out.line(f"    {line}")
    if len(lines) > _SHOWN:
        out.line(f"    and {len(lines) - _SHOWN:,} more: `--json` has all")


def _present(work: ForeignWork, arrival: Arrival) -> Json:
    return {
        "source": work.key,
        "title": work.title,
        "root": arrival.root or None,
        "items": arrival.items,
        "created": arrival.created,
        "records": arrival.records,
        "changed": [_difference(x) for x in arrival.changed],
        "kept": [_difference(x) for x in arrival.kept],
        "gone": list(arrival.gone),
        "deadlocks": list(arrival.deadlocks),
        "remarks": [str(each) for each in arrival.remarks],
        "left_out": [_remark(each) for each in arrival.remarks if each.weight == "loss"],
    }


def _remark(remark: Remark) -> Json:
    return {"where": remark.where, "problem": remark.problem}


def _difference(difference: Difference) -> Json:
    return {
        "id": difference.id,
        "item": difference.item,
        "fields": list(difference.fields),
        "why": difference.why,
    }


for _name, _reader in READERS.items():
    import_command.add_command(_command(_name, _reader))
import_command.add_command(foundry_command)
