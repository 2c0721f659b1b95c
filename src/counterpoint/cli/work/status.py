"""The state of the project: counts, who is at what, what waits for whom."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.output import Output, one_line
from counterpoint.cli.present import (
    agree,
    ahead_in_words,
    counted,
    headline,
    lease,
    present,
    present_briefly,
    span,
)
from counterpoint.cli.trust.caller import said, shown
from counterpoint.cli.trust.enrolling import recoveries
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Awaiting, State
from counterpoint.core.model.trust.heads import Unsigned
from counterpoint.dialects.lacking import said_of_lacking
from counterpoint.dialects.next_step import why_back
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp

_CATEGORIES: Final = ("open", "active", "review", "done", "dropped")
_REFRESH: Final = 2.0


@click.command("status")
@click.option("--watch", is_flag=True, help="Show it again and again, until Ctrl-C.")
@with_context
def status_command(context: CommandContext, *, watch: bool) -> None:
    """Show how the project stands, and what waits for you."""
    if not watch:
        _print_status(context)
        return
    if context.out.json or not context.out.terminal:
        raise click.UsageError("--watch needs a terminal; `log --follow` works everywhere.")
    while True:
        click.clear()
        _print_status(context)
        time.sleep(_REFRESH)


def _print_status(context: CommandContext) -> None:
    core = context.core
    state, awaiting = core.overview.state(), core.awaiting.list()
    unsigned = core.signing.unsigned()
    facets = [core.overview.facets(root.id) for root in state.roots]
    progress = {one.item.id: one.progress.by_category() for one in facets}
    if context.out.json:
        context.out.answer(
            {
                **_state(state, progress, unsigned),
                "awaiting": [
                    {
                        "item": present_briefly(one.item),
                        "step": one.step,
                        "rejection": present(one.rejection) if one.rejection else None,
                    }
                    for one in awaiting
                ],
                "you": shown(context.app, core),
                "recovered": [*recoveries(core)],
                "checks": said_of_lacking(core.gates.lacking_now()),
            }
        )
        return
    out = context.out
    age = f", the last {span(state.now, state.last_entry_at)} ago" if state.last_entry_at else ""
    out.line(f"{state.project.title}: {counted(state.ledger_size, 'entry')} in the ledger{age}")
    if state.ahead:
        out.line(f"Clock: {ahead_in_words(state.ahead)}", style="yellow")
    out.line(f"Reviews: {state.project.reviews}")
    out.line(f"You: {said(context.app, core)}")
    for warning in _warnings(core):
        out.line(warning, style="yellow")
    if unsigned.broken:
        out.line(f"Broken: {unsigned.why}; run `counterpoint audit verify`.", style="red")
    elif unsigned.waiting or unsigned.why:
        out.aside(_waiting(unsigned, state))
    counts = [
        (kind, *(str(found.get(category, 0)) for category in _CATEGORIES))
        for kind, found in state.counts.items()
    ]
    _section(out, "Work", ("kind", *_CATEGORIES), counts, "There is no work yet.")
    roots = [
        (root.id, root.kind, root.status, _share(progress[root.id]), one_line(root.title))
        for root in state.roots
    ]
    _section(out, "At the top", ("id", "kind", "status", "done", "title"), roots)
    live = [
        (one.item.id, one.claim.agent, lease(one.claim, state.now), one_line(one.item.title))
        for one in state.live
    ]
    _section(out, "Held now", ("id", "by", "lease", "title"), live, "Nobody holds anything.")
    blockers = [(one.id, one.item, one.agent, headline(one)) for one in state.blockers]
    _section(out, "Blockers", ("id", "item", "by", "what"), blockers)
    _section(
        out,
        "Waiting for somebody",
        ("id", "for what", "title"),
        [(one.item.id, _for_what(one), one_line(one.item.title)) for one in awaiting],
    )


def _warnings(core: Core) -> Iterator[str]:
    """Return what a person should look after, of keys and of commands."""
    yield from (f"Keys: {key}" for key in recoveries(core))
    if lacks := said_of_lacking(core.gates.lacking_now()):
        yield f"Checks: {lacks}"


def _for_what(found: Awaiting) -> str:
    if found.step == "mend":
        return f"its repair, {one_line(why_back(found, 200), 200)}"
    if found.step == "review":
        return "a review"
    return "an agent that submits it, or your `counterpoint approve`"


def _waiting(unsigned: Unsigned, state: State) -> str:
    age = f", for {span(Timestamp(unsigned.since), state.now)}" if unsigned.since else ""
    why = f": {unsigned.why}" if unsigned.why else ""
    return f"{agree(unsigned.waiting, 'entry', 'waits')} for a signature{age}{why}"


def _section(
    out: Output,
    title: str,
    headings: tuple[str, ...],
    rows: list[tuple[str, ...]],
    nothing: str = "",
) -> None:
    if rows or nothing:
        out.line()
        out.line(title, style="bold")
        if rows:
            out.table(headings, rows)
        else:
            out.line(nothing)


def _share(progress: dict[str, int]) -> str:
    total = sum(progress.values())
    return f"{progress.get('done', 0)}/{total}" if total else "-"


def _state(state: State, progress: dict[str, dict[str, int]], unsigned: Unsigned) -> Json:
    return {
        "project": present(state.project) | {"id": state.project.project},
        "counts": state.counts,
        "roots": [{**present_briefly(root), "progress": progress[root.id]} for root in state.roots],
        "live": [
            {
                "claim": present(one.claim),
                "item": present_briefly(one.item),
                "lease": lease(one.claim, state.now),
            }
            for one in state.live
        ],
        "blockers": [present(one) for one in state.blockers],
        "in_review": [present_briefly(one) for one in state.in_review],
        "ledger": {
            "size": state.ledger_size,
            "last_entry_at": state.last_entry_at,
            "ahead": asdict(state.ahead) if state.ahead else None,
            "signed": unsigned.signed,
            "waiting_since": unsigned.since,
            "not_signed_because": unsigned.why,
            "broken": unsigned.broken,
        },
        "now": state.now,
    }
