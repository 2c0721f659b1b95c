"""Plans: made at once, pruned when they are old; sessions: listed, and swept."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.local_time import local_time, local_time_with_zone, time_heading
from counterpoint.cli.paging import pageable
from counterpoint.cli.present import present, present_briefly, status_line
from counterpoint.cli.trust import file_arguments
from counterpoint.cli.trust.erasing import close
from counterpoint.cli.work.items import warn
from counterpoint.cli.work.names import ITEM, item_id
from counterpoint.cli.work.terminal_session import once, repeatable
from counterpoint.cli.work.trees import lines_of_plan
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import PlanUpdate
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.lifecycles import SESSION
from counterpoint.core.model.sessions import SessionFilter
from counterpoint.core.operations.trust.erasing import ErasedTexts
from counterpoint.core.rules.drafting import remarks_of_new
from counterpoint.core.rules.planning.beginning import (
    MAX_COMPARED,
    list_area_waits,
    list_startable,
)
from counterpoint.dialects.agentic.nouns import RETENTION_DAYS, Pruned
from counterpoint.dialects.agentic.verbs.pruning import Pruning
from counterpoint.dialects.agentic.verbs.sessions import PlanSessions
from counterpoint.kernel.canonical import Json, load
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import counted

_JSON: Final = ("{", "[")
_PLAN: Final = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
_SHOWN: Final = 5
_LIMITS: Final = click.IntRange(1, 1000)


@click.command(
    "plan",
    epilog=examples(
        "counterpoint plan PLAN.md --dry-run",
        "counterpoint plan PLAN.md",
        "counterpoint plan --template bug-fix --set BUG='Crash on start' --dry-run",
        "counterpoint plan - --parent 3",
    ),
)
@click.argument("file", type=_PLAN, metavar="[FILE|-]", required=False)
@click.option(
    "--template", metavar="NAME", help="Make the plan from this template instead of a file."
)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="Fill in a variable of the template; repeatable.",
)
@click.option("--parent", default="", metavar="ID", type=ITEM, help="Put it below this item.")
@click.option(
    "--again",
    is_flag=True,
    help="Make a second plan of the same name or title as one that is open.",
)
@click.option("--prune", is_flag=True, help="Cancel the open tasks whose lines went from the plan.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the tree and what could start, or what would change, and write nothing.",
)
@repeatable
@pageable
@with_context
def plan_command(
    context: CommandContext,
    *,
    file: Path | None,
    template: str | None,
    values: tuple[str, ...],
    parent: str,
    again: bool,
    prune: bool,
    dry_run: bool,
    key: str,
) -> None:
    """Make a tree of work from a Markdown file, JSON or a template.

    A file whose plan is open (by its `{#name}`, else its title) brings that up to date: new lines are new tasks, changed ones are
    edits. Tasks whose lines went stay, unless --prune cancels them.

    In Markdown, headings become phases and check-list items become tasks (docs/plans.md). `-` reads standard
    input. JSON has the form of the `tree` argument of the tool `plan`. The command warns about tasks that could never start.
    """
    core = context.core
    if (file is None) == (template is None):
        raise click.UsageError("Give a FILE (or `-`), or --template NAME.")
    if values and template is None:
        raise click.UsageError("--set goes with --template.")
    if prune and (again or template is not None):
        raise click.UsageError("--prune goes with a FILE whose plan is open, and not with --again.")
    draft = (
        core.plans.from_template(template, _values(values))
        if template is not None
        else _read(
            core,
            file_arguments.read_input()
            if str(file) == "-"
            else file_arguments.text_of(Path(str(file))),
        )
    )
    above = item_id(core, parent) if parent else ""
    is_new = again or template is not None
    told_of_new = [] if is_new else [*core.plan_updates.remarks_of_ended(draft, above)]
    told_of_new += remarks_of_new(draft)
    if dry_run:
        update = (
            None if is_new else core.plan_updates.apply(draft, above, prune=prune, dry_run=True)
        )
        if update is None:
            _print_preview(context, draft, above, told_of_new)
        else:
            _print_update(context, draft, _update_to_json(update, draft), "Nothing was changed.")
        return

    def make() -> Json:
        with context.out.counting(f"Making {counted(sum(1 for _ in draft.walk()), 'item')}"):
            update = None if is_new else core.plan_updates.apply(draft, above, prune=prune)
            if update is not None:
                return _update_to_json(update, draft)
            created = core.plans.create(draft, above)
        return {
            "root": present_briefly(created.root),
            "count": len(created.items),
            "ready": list(created.ready),
            "warnings": [*created.deadlocks, *told_of_new, *draft.remarks],
        }

    answer: Any = once(core, key, {"plan": repr(draft), "below": above}, make)
    if "updated" in answer:
        _print_update(context, draft, answer, "")
        return
    root, ready = core.items.get(answer["root"]["id"]), answer["ready"]
    context.out.result(
        answer,
        f"{status_line(root)} ({counted(answer['count'], 'item')}, {len(ready):,} ready)",
        *([f"Ready first: {_few(core, ready)}"] if ready else []),
    )
    _warn(context, draft, answer["warnings"])


_WHY_LISTED: Final = {
    "gone": "  (its line went; it stays, or `--prune` cancels it)",
    "beside": "  (added beside the plan; it stays)",
}


def _values(pairs_typed: tuple[str, ...]) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in pairs_typed]
    if wrong := [name for name, sign, _ in pairs if not (name and sign)]:
        raise click.UsageError(f"--set takes NAME=VALUE, not {', '.join(map(repr, wrong))}.")
    return {name: value for name, _, value in pairs}


def _read(core: Core, text: str) -> Draft:
    """Return the draft that a text says, as Markdown or as JSON; MalformedDocument, InvalidInput."""
    if "\0" in text:
        raise InvalidInput(
            "the plan is no text: it has characters of code 0",
            hint="Give a file of Markdown or JSON in UTF-8.",
        )
    if not text.lstrip().startswith(_JSON):
        return core.plans.read(text)
    # What checks the tree of a tool takes longer to load than all that a Markdown plan needs.
    from counterpoint.dialects.native.tools.plans import draft_of_tree

    tree: Any = load(text)
    if not isinstance(tree, dict):
        raise InvalidInput(
            "the JSON of a plan is one object",
            hint='Give it a title and items: {"title": …, "items": [{"title": …}]}.',
        )
    return draft_of_tree(cast("dict[str, Any]", tree))


def _update_to_json(update: PlanUpdate, draft: Draft) -> dict[str, Json]:
    return {
        "root": present_briefly(update.root),
        "updated": True,
        "count": len(update.created),
        "created": [present_briefly(item) for item in update.created],
        "changed": [
            {**present_briefly(change.item), "fields": list(change.fields)}
            for change in update.changed
        ],
        "gone": [present_briefly(item) for item in update.gone],
        "beside": [present_briefly(item) for item in update.beside],
        "pruned": [present_briefly(item) for item in update.pruned],
        "ready": list(update.ready),
        "warnings": [*update.remarks, *update.deadlocks, *draft.remarks],
    }


def _print_update(context: CommandContext, draft: Draft, answer: Any, end: str) -> None:
    """Show what of an open plan changed, or would change."""
    out = context.out
    if out.json:
        out.answer({**({"dry_run": True} if end else {}), **answer})
        return
    for sign, name in (
        ("+", "created"),
        ("~", "changed"),
        ("-", "pruned"),
        ("?", "gone"),
        ("=", "beside"),
    ):
        for item in answer[name]:
            fields = f"  ({', '.join(item['fields'])})" if name == "changed" else ""
            # What a dry run would make has no id that it would keep.
            shown_id = "" if end and name == "created" else f"{item['id']} "
            out.line(f"{sign} {shown_id}{item['title']}{fields}{_WHY_LISTED.get(name, '')}")
    counts = ", ".join(
        f"{len(answer[name]):,} {word}"
        for name, word in (
            ("created", "new"),
            ("changed", "changed"),
            ("pruned", "cancelled"),
            ("gone", "no longer in it"),
            ("beside", "added beside it"),
        )
        if answer[name]
    )
    root = answer["root"]
    out.line(f"{root['id']} {root['title']}: {counts or 'it is as the file says'}. {end}".rstrip())
    _warn(context, draft, answer["warnings"])


def _print_preview(
    context: CommandContext, draft: Draft, parent: str, told_of_new: list[str]
) -> None:
    core = context.core
    planned, stuck = core.plans.look(draft, parent)
    outside = {name for part in planned for name in part.outside}
    done = {name for name in outside if core.items.get(name).category == "done"}
    ready = list_startable(planned, done)
    area_waits = list_area_waits(planned, ready)
    out, warnings = context.out, [*stuck, *told_of_new, *draft.remarks]
    beyond = sum(bool(planned[index].draft.areas) for index in ready) - MAX_COMPARED
    if beyond > 0:
        warnings.append(
            f"areas are compared of the first {MAX_COMPARED} items that are ready, not of the {beyond:,} after them"
        )
    if out.json:
        items = [
            {
                "n": index,
                "kind": part.draft.kind,
                "title": part.draft.title,
                "below": part.parent,
                "after": [*part.needs, *part.outside],
                "ready": index in ready,
                "areas": [*part.draft.areas],
                "waits_for_area_of": area_waits.get(index),
            }
            for index, part in enumerate(planned)
        ]
        out.answer({"dry_run": True, "count": len(planned), "items": items, "warnings": warnings})
        return
    for line, starts in lines_of_plan(planned, ready, area_waits):
        out.line(line, style="green" if starts else "")
    out.line()
    at_once = f", {len(ready) - len(area_waits):,} of them at once" if area_waits else ""
    out.line(f"{counted(len(planned), 'item')}, {len(ready):,} ready{at_once}. Nothing was made.")
    _warn(context, draft, warnings)


def _warn(context: CommandContext, draft: Draft, warnings: list[str]) -> None:
    if context.out.json:
        return
    for warning in warnings:
        context.out.aside(f"Note: {warning.removesuffix('.')}.", style="yellow")
    warn(context, tuple(check for part in draft.walk() for check in part.checks))


def _few(core: Core, ready: list[str]) -> str:
    titles = ", ".join(f"{name} {core.items.get(name).title}" for name in ready[:_SHOWN])
    return titles if len(ready) <= _SHOWN else f"{titles}, …"


@click.group("plans", cls=Group)
def plans_command() -> None:
    """Remove the texts of old plans."""


@plans_command.command("prune", epilog=examples("counterpoint plans prune --older-than 180"))
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(min=0, max=36_500),
    metavar="DAYS",
    default=RETENTION_DAYS,
    show_default=True,
    help="Only plans archived more than this many days ago.",
)
@click.option("--yes", is_flag=True, help="Do it; without this option nothing changes.")
@with_context
def prune_command(context: CommandContext, *, days: int, yes: bool) -> None:
    """Remove the texts of plans that were archived long ago.

    Titles, states and proofs stay, and so do texts that something else uses too. Without --yes it only shows what
    would be removed.
    """
    pruning = context.core.use(Pruning)
    plans = pruning.prune(days) if yes else pruning.look(days)
    receipts = pruning.receipts_begun() if yes else []
    if receipts:
        context.app.store.purge()
    for receipt in receipts:
        close(context, ErasedTexts(receipt=receipt), 0, ())
    verb = "Pruned" if yes else "Would prune"
    context.out.result(
        {"pruned": yes, "plans": [_present(plan) for plan in plans]},
        *(
            f"{plan.slug}  archived {plan.archived_at[:10]}  {counted(plan.texts, 'text')}"
            for plan in plans
        ),
        f"{verb} {counted(len(plans), 'plan')} archived more than {days} days ago.",
    )
    if plans and not yes and not context.out.json:
        context.out.aside("Nothing was changed: repeat it with --yes.")


def _present(pruned: Pruned) -> Json:
    return {
        "slug": pruned.slug,
        "id": pruned.item.id,
        "title": pruned.item.title,
        "archived_at": pruned.archived_at,
        "texts": pruned.texts,
        **({"receipt": pruned.receipt} if pruned.receipt else {}),
    }


@click.group("sessions", cls=Group)
def sessions_command() -> None:
    """List sessions, and end those that were forgotten."""


@sessions_command.command("list", epilog=examples("counterpoint sessions list --status paused"))
@click.option(
    "--status", type=click.Choice(SESSION.categories), help="Only sessions in this state."
)
@click.option("--limit", type=_LIMITS, default=20, show_default=True, help="How many at most.")
@with_context
def list_command(context: CommandContext, *, status: str | None, limit: int) -> None:
    """List sessions, the latest first."""
    views = context.core.sessions.list(SessionFilter(status=status or ""), None, limit)
    context.out.rows(
        {"sessions": [present(view.session) for view in views]},
        ("id", "agent", "status", "about", time_heading("last active")),
        [
            (
                view.session.id,
                view.session.agent,
                view.session.status,
                view.session.item,
                local_time(view.last_active_at),
            )
            for view in views
        ],
        aside="There are no such sessions.",
    )


@sessions_command.command("sweep", epilog=examples("counterpoint sessions sweep"))
@with_context
def sweep_command(context: CommandContext) -> None:
    """End sessions that were silent for a day, as failed."""
    ended = context.core.use(PlanSessions).sweep()
    context.out.result(
        {"ended": [session.id for session in ended]},
        *(
            f"{session.id}  {session.agent}  since {local_time_with_zone(session.started_at)}"
            for session in ended
        ),
        f"Ended {counted(len(ended), 'session')}.",
    )
