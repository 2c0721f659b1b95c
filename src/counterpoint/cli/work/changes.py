"""What tasks changed in the code, as git shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click

from counterpoint.app import App
from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.paging import pageable
from counterpoint.cli.present import present_briefly
from counterpoint.cli.work.names import ITEM, item_id
from counterpoint.core.coordinator import Core
from counterpoint.core.model.journal import Outcome, StartPoint
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.core.rules.shared_tree import apart_json, apart_remarks
from counterpoint.kernel.canonical import Json, load
from counterpoint.kernel.errors import NotFound
from counterpoint.kernel.plurals import counted

_SHORT: Final = 10
_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one claim of a task changed, with the text of it as far as it can be had.

    files: as the evidence has them: path, kind, insertions, deletions. since: parts of it that are not of that
    moment, in words.
    """

    item: Item
    by: str
    stands: str
    start: str
    end: str
    files: Sequence[dict[str, Any]]
    count: int
    commits: Sequence[str] = ()
    text: str = ""
    since: Sequence[str] = field(default_factory=tuple[str, ...])


@click.command(
    "diff",
    epilog=examples(
        "counterpoint diff 4", "counterpoint diff 4 --stat", "counterpoint diff 4 | git apply -R"
    ),
)
@click.argument("name", metavar="ID", type=ITEM)
@click.option(
    "--claim", type=click.IntRange(min=1), metavar="TOKEN", help="Show the changes of this claim."
)
@click.option("--stat", is_flag=True, help="List only the files, with the number of changed lines.")
@pageable
@with_context
def diff_command(context: CommandContext, *, name: str, claim: int | None, stat: bool) -> None:
    """Show what a task changed in the code.

    For a finished task it shows the difference between the commits in its evidence, in the files listed there. For a
    task in progress it shows the changes so far. For a plan or phase it shows all tasks below it.
    """
    core = context.core
    item = core.items.get(item_id(core, name))
    if claim is not None and not item.is_workable:
        raise click.UsageError("--claim goes with a task.")
    colour = None if stat else context.out.colour
    parts = [
        read_changes(context.app, core, part, claim, colour=colour)
        for part in ([item] if item.is_workable else _tasks(core, item))
    ]
    changes = [part for part in parts if part is not None]
    if item.is_workable and not changes:
        raise NotFound(
            f"nobody has begun {item.id}", hint=f"`counterpoint show {item.id}` says how it stands."
        )
    if context.out.json:
        context.out.answer(_as_json(changes[0]) if item.is_workable else [*map(_as_json, changes)])
        return
    for index, change in enumerate(changes):
        if index:
            context.out.line()
        _print(context, change, stat=stat)
    if not changes:
        context.out.line(f"No task below {item.id} was begun.")


def _tasks(core: Core, item: Item) -> Iterator[Item]:
    """Return the tasks below an item, in their order."""
    after: tuple[int, int] | None = None
    while True:
        page = core.overview.children(item.id, after, _PAGE)
        for child in page:
            if child.is_workable:
                yield child
            yield from _tasks(core, child)
        if len(page) < _PAGE:
            return
        after = page[-1].position, page[-1].number


def read_changes(
    app: App, core: Core, item: Item, token: int | None = None, *, colour: bool | None = False
) -> Change | None:
    """Return what a claim of an item changed, its last one without a token; None if nobody began it.

    colour: whether the text has the colours of a terminal; None for no text.
    """
    claim = core.overview.find(Claim, item.id)
    if claim is None:
        return None
    token = claim.token if token is None else token
    point = core.overview.find(StartPoint, item.id, token)
    if point is None:
        raise NotFound(f"{item.id} has no claim {token}", hint=f"Its last one is {claim.token}.")
    ended = core.overview.find(Outcome, item.id, token)
    if ended is not None:
        return _of_ended(app, item, ended, colour)
    return _of_running(app, core, item, point, claim, colour)


def _of_ended(app: App, item: Item, ended: Outcome, colour: bool | None) -> Change:
    if ended.evidence in {"", REDACTED}:
        raise NotFound(
            f"the evidence of {item.id} was taken away", hint="Only that it ended stays."
        )
    seen: dict[str, Any] = load(ended.evidence)
    files: list[dict[str, Any]] = seen["files"]
    start, end = seen["start_commit"], seen["end_commit"]
    text, since = "", list[str]()
    if seen["method"] != "git":
        since.append("there was no git repository, so only the names of files were kept")
    elif colour is not None:
        text, since = _text(app, start, end, files, colour=colour)
    since += apart_remarks(seen.get("apart", []))
    return Change(
        item=item,
        by=ended.agent,
        stands=ended.outcome,
        start=start,
        end=end,
        files=files,
        count=seen["file_count"],
        commits=seen["commits"],
        text=text,
        since=since,
    )


def _text(
    app: App, start: str, end: str, files: list[dict[str, Any]], *, colour: bool
) -> tuple[str, list[str]]:
    """Return the text of what changed, and what of it is not of the moment when the task ended."""
    from counterpoint.evidence.git.patches import Patches

    # A server takes git from where it was started itself, whoever asks.
    patches = Patches(app.places.home, app.serving or app.environ)
    names = [name for file in files for name in (file.get("previous", ""), file["path"]) if name]
    text, committed = patches.committed(start, end, names, colour=colour)
    uncommitted = [file["path"] for file in files if file["path"] not in committed]
    if not uncommitted:
        return text, []
    later = patches.on_disk(end, uncommitted, colour=colour)
    what = f"{counted(len(uncommitted), 'file')} had changes that were not committed when it ended"
    return text + later, [f"{what}; shown as they are now: {', '.join(uncommitted[:5])}"]


def _of_running(
    app: App, core: Core, item: Item, point: StartPoint, claim: Claim, colour: bool | None
) -> Change:
    """Return what has changed since a claim began that has no end yet."""
    root = (app.places.home / point.tree).resolve()
    if not root.is_dir():
        raise NotFound(
            f"the working tree {point.tree} of {item.id} is not there any more",
            hint=f"`counterpoint show {item.id}` says who has it.",
        )
    seen, apart = core.tasks.compare(claim, point, root)
    files: list[dict[str, Any]] = [
        {
            "path": change.path,
            "kind": change.kind,
            **({"previous": change.previous} if change.previous else {}),
            "insertions": change.insertions,
            "deletions": change.deletions,
        }
        for change in seen.changes
    ]
    text = ""
    if colour is not None and point.method == "git":
        from counterpoint.evidence.git.patches import Patches

        names = [name for change in seen.changes for name in (change.previous, change.path) if name]
        patches = Patches(root, app.serving or app.environ)
        text = patches.on_disk(point.commit, names, colour=colour)
    return Change(
        item=item,
        by=claim.agent,
        stands="not ended" if claim.is_held else "given back",
        start=point.commit,
        end="",
        files=files,
        count=len(files),
        commits=seen.commits,
        text=text,
        since=[*seen.warnings, *apart_remarks(apart_json(apart))],
    )


def _as_json(change: Change) -> Json:
    return {
        "item": present_briefly(change.item),
        "by": change.by,
        "outcome": change.stands,
        "start_commit": change.start,
        "end_commit": change.end,
        "file_count": change.count,
        "files": list(change.files),
        "commits": list(change.commits),
        "remarks": list(change.since),
        "diff": change.text,
    }


def _print(context: CommandContext, change: Change, *, stat: bool) -> None:
    out = context.out
    added = sum(file["insertions"] for file in change.files)
    removed = sum(file["deletions"] for file in change.files)
    ends = f"{change.start[:_SHORT] or 'nothing'}..{change.end[:_SHORT] or 'now'}"
    # Beside the answer: what is piped into `git apply` is the difference and nothing else.
    out.aside(f"{change.item.id}  {change.item.title}", style="bold")
    out.aside(
        f"  {change.stands} by {change.by}; {ends}; {counted(change.count, 'file')},"
        f" +{added:,} -{removed:,}, {counted(len(change.commits), 'commit')}"
    )
    for remark in change.since:
        out.aside(f"  Note: {remark}.", style="yellow")
    if stat or not change.text:
        rows = [
            (file["kind"], f"+{file['insertions']}", f"-{file['deletions']}", _moved(file))
            for file in change.files
        ]
        out.rows([], ("change", "added", "removed", "file"), rows, aside="  No file changed.")
        return
    out.raw(change.text)


def _moved(file: dict[str, Any]) -> str:
    before = file.get("previous", "")
    return f"{before} -> {file['path']}" if before else file["path"]
