"""Single items: made, and changed."""

from __future__ import annotations

from typing import Any, Final, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import RenamedOption, examples
from counterpoint.cli.present import present_briefly, status_line
from counterpoint.cli.trust import file_arguments
from counterpoint.cli.work.names import ITEM, ITEM_OR_NONE, LABEL, MOVE, item_id
from counterpoint.cli.work.terminal_session import once, repeatable
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.work import DEFAULT_PRIORITY, PRIORITIES, Kind
from counterpoint.core.rules.planning.attributes import command_line, command_of
from counterpoint.core.rules.readiness import way_past
from counterpoint.dialects.lacking import said_of_lacking
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

_PRIORITY: Final = click.IntRange(PRIORITIES[0], PRIORITIES[-1])


@click.command(
    "add",
    epilog=examples(
        "counterpoint add 'Fix the login'",
        "counterpoint add 'Write the docs' --parent 3 --after 7 --label docs",
        "counterpoint add 'Parse dates' --parent 3 --area src/dates --check 'pytest tests/dates'",
    ),
)
@click.argument("title")
@click.option(
    "--kind",
    type=click.Choice(get_args(Kind)),
    default="task",
    show_default=True,
    help="The kind of item.",
)
@click.option("--parent", default="", metavar="ID", type=ITEM, help="Put it below this item.")
@click.option(
    "--description",
    "-d",
    default="",
    metavar="TEXT",
    help="Its description; `-` reads standard input.",
)
@click.option(
    "--after", multiple=True, metavar="ID", type=ITEM, help="It waits for this item; repeatable."
)
@click.option("--label", "labels", multiple=True, metavar="WORD", type=LABEL, help="Repeatable.")
@click.option(
    "--area",
    "areas",
    multiple=True,
    metavar="PATH",
    help="A file or folder that it will change; repeatable.",
)
@click.option(
    "--accept", multiple=True, metavar="TEXT", help="What must be true when it is done; repeatable."
)
@click.option(
    "--check",
    "verify",
    cls=RenamedOption,
    before="--verify",
    multiple=True,
    metavar="COMMAND",
    help="A command that must pass; repeatable.",
)
@click.option("--priority", type=_PRIORITY, default=DEFAULT_PRIORITY, help="0 is most urgent.")
@click.option("--assignee", default="", metavar="NAME", help="Who should do it.")
@click.option("--profile", default="", metavar="NAME", help="The role that should do it.")
@click.option("--approval", is_flag=True, help="It can start only after somebody approves it.")
@click.option("--review", is_flag=True, help="It can end only after somebody else approves it.")
@click.option("--artifact", is_flag=True, help="It can end only after an artifact is submitted.")
@repeatable
@with_context
def add_command(
    context: CommandContext,
    *,
    title: str,
    kind: Kind,
    parent: str,
    description: str,
    after: tuple[str, ...],
    verify: tuple[str, ...],
    labels: tuple[str, ...],
    key: str,
    **more: Any,
) -> None:
    """Add one item."""
    core = context.core
    draft = Draft(
        kind=kind,
        title=title,
        body=read_text(description),
        needs=tuple(item_id(core, name) for name in after) if after or kind != "phase" else None,
        checks=commands(verify),
        labels=labels,
        acceptance=more.pop("accept"),
        **more,
    )
    above = item_id(core, parent) if parent else ""

    def make() -> Json:
        created = core.plans.create(draft, above)
        return {"item": present_briefly(created.root), "ready": bool(created.ready)}

    request: dict[str, Json] = {"add": title, "below": above, "all": repr(draft)}
    answer: Any = once(core, key, request, make)
    item = core.items.get(answer["item"]["id"])
    remark = (
        "it can be started now" if answer["ready"] else "`counterpoint show` says what it waits for"
    )
    context.out.result(answer, f"{status_line(item)} ({remark})")
    warn(context, draft.checks)


@click.command(
    "edit",
    epilog=examples(
        "counterpoint edit 4 --title 'A better title' --priority 1",
        "counterpoint edit 4 --add-label urgent --after 3 --not-after 2",
        "counterpoint edit 4 --status skipped --reason 'no longer needed'",
    ),
)
@click.argument("name", metavar="ID", type=ITEM)
@click.option("--title", metavar="TEXT", help="The new title.")
@click.option(
    "--description",
    "-d",
    metavar="TEXT",
    help="The whole new description; `-` reads standard input.",
)
@click.option("--status", metavar="STATE", type=MOVE, help="The state to move it to.")
@click.option("--priority", type=_PRIORITY, help="0 is most urgent.")
@click.option("--assignee", metavar="NAME", help="Who should do it; '' for nobody.")
@click.option("--profile", metavar="NAME", help="The role that should do it; '' for any.")
@click.option(
    "--parent", metavar="ID", type=ITEM_OR_NONE, help="Put it below this item; '' for the top."
)
@click.option("--position", type=click.IntRange(min=0), help="Its place among its siblings.")
@click.option(
    "--add-label", "add_labels", multiple=True, metavar="WORD", type=LABEL, help="Repeatable."
)
@click.option(
    "--remove-label", "remove_labels", multiple=True, metavar="WORD", type=LABEL, help="Repeatable."
)
@click.option(
    "--after",
    "add_needs",
    multiple=True,
    metavar="ID",
    type=ITEM,
    help="Wait for this item; repeatable.",
)
@click.option(
    "--not-after",
    "remove_needs",
    multiple=True,
    metavar="ID",
    type=ITEM,
    help="Stop waiting for this item; repeatable.",
)
@click.option(
    "--area",
    "areas",
    multiple=True,
    metavar="PATH",
    help="The whole list of files and folders that it changes.",
)
@click.option(
    "--accept",
    "acceptance",
    multiple=True,
    metavar="TEXT",
    help="The whole list of acceptance sentences.",
)
@click.option(
    "--check",
    "checks",
    cls=RenamedOption,
    before="--verify",
    multiple=True,
    metavar="COMMAND",
    help="The whole list of commands that must pass.",
)
@click.option("--reason", default="", metavar="TEXT", help="Why; recorded in the ledger.")
@click.option(
    "--expect-version",
    "expected_version",
    type=int,
    metavar="N",
    help="Refuse the edit if the item has another version.",
)
@repeatable
@with_context
def edit_command(context: CommandContext, *, name: str, key: str, **given_: Any) -> None:
    """Change an item: title, text, state, labels, order, checks.

    All changes are made, or none. --area, --accept and --check replace the whole list. Once work has begun, only a
    person or a maintainer who did not work on the item can remove a check or an acceptance sentence.
    """
    core = context.core
    item = item_id(core, name)
    edit = _edit(core, given_)
    if edit == Edit(reason=edit.reason, expected_version=edit.expected_version):
        raise InvalidInput(
            "there is nothing to change", hint="Name what is to change: `counterpoint edit --help`."
        )

    def change() -> Json:
        return {"item": present_briefly(core.items.edit(item, edit))}

    answer = once(core, key, {"edit": item, "all": repr(edit)}, change)
    after = core.items.get(item)
    context.out.result(answer, status_line(after))
    for _, waiter in core.ready.stuck(item) if after.category == "dropped" else ():
        context.out.aside(f"{waiter} waits for {item}: {way_past(item, waiter)}.", style="yellow")
    warn(context, edit.checks or ())


def _edit(core: Core, options: dict[str, Any]) -> Edit:
    """Return what somebody asked to change; what he did not name stays."""
    fields = dict(options)
    if fields["description"] is not None:
        fields["description"] = read_text(fields["description"])
    fields["body"] = fields.pop("description")
    if fields["parent"]:
        fields["parent"] = item_id(core, fields["parent"])
    for needs in ("add_needs", "remove_needs"):
        fields[needs] = tuple(item_id(core, name) for name in fields[needs])
    for whole in ("areas", "acceptance", "checks"):
        fields[whole] = fields[whole] or None
    if fields["checks"]:
        fields["checks"] = commands(fields["checks"])
    return Edit(**fields)


def read_text(text: str) -> str:
    """Return a text as it was given, or the input for `-`."""
    return file_arguments.read_input() if text == "-" else text


def commands(typed: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return commands as argument lists, read as those of a plan; InvalidInput for what only a shell understands."""
    argvs: list[tuple[str, ...]] = []
    for line in typed:
        argv, fault = command_of(line)
        if fault:
            hint = "Nothing was changed. Give a program and its words."
            if "a shell" in fault:
                line_of_shell = command_line(("sh", "-c", line.strip()))
                is_plain = not set(line_of_shell) & set('"$`\\!')
                word = f'"{line_of_shell}"' if is_plain else command_line((line_of_shell,))
                hint = f"Nothing was changed. Have a shell run it: --check {word}"
            raise InvalidInput(f"the check {line!r} cannot be taken: {fault}", hint=hint)
        argvs.append(argv)
    return tuple(argvs)


def warn(context: CommandContext, checks: tuple[tuple[str, ...], ...]) -> None:
    """Say which of some checks may not be run here, and what lets them be."""
    lacks = said_of_lacking(context.core.permitted.lacking(list(checks))) if checks else ""
    if lacks:
        context.out.aside(lacks, style="yellow")
