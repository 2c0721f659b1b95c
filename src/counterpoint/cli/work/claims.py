"""The commands of claims and of checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.local_time import local_time_with_zone
from counterpoint.cli.phrases import PHRASES, name_item, name_item_in_hints
from counterpoint.cli.present import present, present_briefly, status_line
from counterpoint.cli.trust.confirming import confirm_act
from counterpoint.cli.work.items import read_text
from counterpoint.cli.work.names import GATE, HOLDER, ITEM, item_id
from counterpoint.cli.work.terminal_session import LEASE_MINUTES, in_terminal_session
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import Finished
from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.filters import Check, Report
from counterpoint.core.model.journal import Outcomes
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.rules.planning.attributes import command_line
from counterpoint.core.rules.shared_tree import apart_json
from counterpoint.dialects.lacking import lines_of, unallowed_lines
from counterpoint.dialects.next_step import next_step
from counterpoint.kernel.errors import NotClaimHolder
from counterpoint.kernel.plurals import counted

if TYPE_CHECKING:
    from counterpoint.core.model.journal import Receipt

_LONGEST: Final = 1440


@click.command(
    "start",
    epilog=examples(
        "counterpoint start 4", "counterpoint start 4 --reason 'its agent is gone' --minutes 60"
    ),
)
@click.argument("name", metavar="ID", type=ITEM)
@click.option(
    "--reason", default="", metavar="TEXT", help="Why you take it over; recorded in the ledger."
)
@click.option(
    "--minutes",
    type=click.IntRange(1, _LONGEST),
    default=LEASE_MINUTES,
    show_default=True,
    help="How long you hold it, in minutes.",
)
@with_context
def start_command(context: CommandContext, *, name: str, reason: str, minutes: int) -> None:
    """Start a task yourself, or take it over.

    A person can take over a task that somebody else holds; the ledger records who, from whom and why. Run it
    again to renew the time. Whoever starts a task cannot review it.
    """
    core = in_terminal_session(context.core)
    started = core.claims.start(item_id(core, name), minutes, reason=reason)
    item, claim, point = started.item, started.claim, started.snapshot
    lacking = core.permitted.lacking_of([item.id]).get(item.id)
    lost = f", taken over from {started.taken_over_from}" if started.taken_over_from else ""
    context.out.result(
        {
            "item": present_briefly(item),
            "claim": present(claim),
            "renewed": started.renewed,
            "taken_over_from": started.taken_over_from,
            "start": {"method": point.method, "commit": point.commit, "branch": point.branch},
            "warnings": list(started.warnings),
            "not_allowed": lines_of(lacking),
        },
        f"{status_line(item)} (yours until {local_time_with_zone(claim.leased_until)}{lost})",
    )
    if not context.out.json:
        for warning in started.warnings:
            context.out.aside(f"Note: {warning}.", style="yellow")
        for line in unallowed_lines(lacking):
            context.out.aside(f"{item.id}: {line}", style="yellow")
        context.out.aside(f"End it with `counterpoint finish {item.id} --summary TEXT`.")


@click.command(
    "finish",
    epilog=examples(
        "counterpoint finish 4 --summary 'It parses dates now'",
        "counterpoint finish 4 --outcome partial --summary 'Half of it' --next 'Leap years'",
    ),
)
@click.argument("name", metavar="ID", type=ITEM)
@click.option(
    "--outcome",
    type=click.Choice(get_args(Outcomes)),
    default="done",
    show_default=True,
    help="`partial` returns it for others to continue.",
)
@click.option(
    "--summary",
    "-m",
    required=True,
    metavar="TEXT",
    help="What was done; `-` reads standard input.",
)
@click.option("--achieved", multiple=True, metavar="TEXT", help="What works now; repeatable.")
@click.option(
    "--missing", multiple=True, metavar="TEXT", help="What does not work yet; repeatable."
)
@click.option(
    "--next", "next_steps", multiple=True, metavar="TEXT", help="What to do next; repeatable."
)
@click.option("--met", multiple=True, type=int, metavar="N", help="An acceptance sentence, from 0.")
@click.option(
    "--reason",
    default="",
    metavar="TEXT",
    help="Why the very commit that was rejected is handed in again.",
)
@with_context
def finish_command(
    context: CommandContext,
    *,
    name: str,
    outcome: Outcomes,
    summary: str,
    achieved: tuple[str, ...],
    missing: tuple[str, ...],
    next_steps: tuple[str, ...],
    met: tuple[int, ...],
    reason: str,
) -> None:
    """End a task that you have started.

    It records what changed in the code since the start. The task's checks must have passed. If the task needs a review,
    somebody else does that.
    """
    core = in_terminal_session(context.core)
    id_ = item_id(core, name)
    report = Report(
        outcome=outcome,
        summary=read_text(summary),
        achievements=achieved,
        limitations=missing,
        next_steps=next_steps,
        met=met,
        reason=reason,
    )
    try:
        done = core.tasks.finish(id_, token_of(core, id_), report)
    except NotClaimHolder as refusal:
        raise _not_yours(core, id_, refusal) from refusal
    _print_end(context, done)


def _not_yours(core: Core, item: str, refusal: NotClaimHolder) -> NotClaimHolder:
    """Return the refusal to end a task that has ended, with what can be done then; any other as it is."""
    current = core.items.get(item)
    if not current.is_closed:
        return refusal
    return NotClaimHolder(
        f"{item} is {current.status} already",
        hint=f"`counterpoint note TEXT --item {item}` adds a word to it; `counterpoint reopen {item}` opens it again.",
    )


def token_of(core: Core, item: str) -> int:
    """Return the token of the caller's claim; one that he has from another terminal becomes his here.

    NotClaimHolder for what nobody holds, or somebody else.
    """
    claim = core.overview.find(Claim, item)
    if claim is None or claim.is_held_by(core.caller.actor.session) or not claim.is_held:
        return claim.token if claim else 0
    if claim.agent != core.caller.actor.name:
        raise NotClaimHolder(
            f"{item} is held by {claim.agent}",
            hint=f"Take it over with `counterpoint start {item}`.",
        )
    return core.claims.succeed(item).token


def _print_end(context: CommandContext, done: Finished) -> None:
    core, seen, out = context.core, done.measured, context.out
    waits = core.awaiting.above(done.item)
    hint = name_item(next_step(waits, PHRASES), waits.item.id) if waits else ""
    evidence = (
        {
            "method": seen.method,
            "files": seen.file_count,
            "insertions": seen.insertions,
            "deletions": seen.deletions,
            "commits": list(seen.commits),
            **({"apart": apart_json(seen.apart)} if seen.apart else {}),
        }
        if seen
        else None
    )
    answer = {"item": present_briefly(done.item), "outcome": present(done.outcome)}
    answer |= {"evidence": evidence, "released": list(done.released), "hint": hint}
    changed = (
        f"{counted(seen.file_count, 'file')} changed, +{seen.insertions:,} -{seen.deletions:,},"
        f" {counted(len(seen.commits), 'commit')}"
        if seen
        else "it was ended before"
    )
    freed = [f"Ready now: {', '.join(done.released)}"] if done.released else []
    out.result(answer, f"{status_line(done.item)} ({changed})", *freed)
    if not out.json:
        for remark in done.outcome.remarks:
            out.aside(f"Note: {remark}.", style="yellow")
        if hint:
            out.aside(hint)


@click.command(
    "release",
    epilog=examples("counterpoint release 4 --reason 'its agent is gone'"),
)
@click.argument("name", metavar="ID", type=HOLDER)
@click.option("--reason", default="", metavar="TEXT", help="Why; recorded in the ledger.")
@with_context
def release_command(context: CommandContext, *, name: str, reason: str) -> None:
    """Free a task, or all that a session holds, for others.

    Others can take it at once. The former holder is told who released it; the ledger records the reason.
    """
    claims = context.core.claims
    id_ = name if noun_of_id(name) is Session else item_id(context.core, name)
    core = confirm_act(
        context,
        lambda: claims.proposed_release(id_),
        lambda core: core.claims.release(id_, reason),
        reason,
    )
    freed = core.claims.release(id_, reason)
    context.out.result(
        {
            "released": [
                {"item": present_briefly(released), "claim": present(claim)}
                for released, claim in freed
            ]
        },
        *(
            f"{status_line(released)} (was held by {claim.agent or claim.session} since {local_time_with_zone(claim.claimed_at)})"
            for released, claim in freed
        ),
    )


_SHOWN: Final = 20
"""Lines of what a check that failed has said: a failure stands at the end."""


@click.command(
    "check", epilog=examples("counterpoint check 4", "counterpoint check 4 --gate tests")
)
@click.argument("name", metavar="ID", type=ITEM)
@click.option(
    "--gate", "gates", multiple=True, metavar="NAME", type=GATE, help="Only this one; repeatable."
)
@with_context
def check_command(context: CommandContext, *, name: str, gates: tuple[str, ...]) -> int:
    """Run the checks of an item and keep signed receipts.

    It runs only commands that counterpoint.toml allows. Exit code 1 if a check fails.
    """
    core, out = in_terminal_session(context.core), context.out
    item = item_id(core, name)
    token = _token(core, item)
    with out.counting("Checks that are running"), name_item_in_hints(item):
        done = core.gates.verify(Check(item=item, gates=gates), token)
    out.result(
        {"passed": done.passed, "receipts": [present(receipt) for receipt in done.receipts]},
        *(line for receipt in done.receipts for line in _lines(receipt)),
    )
    if not out.json:
        passed = sum(_passed(receipt) for receipt in done.receipts)
        out.aside(f"{passed} of {counted(len(done.receipts), 'check')} passed.")
        if done.passed and (hint := _after_checks(core, item, token)):
            out.aside(hint)
    return 0 if done.passed else 1


def _after_checks(core: Core, item: str, token: int | None) -> str:
    """Return what comes after checks that passed: the end of a task that is held, the start of an open one."""
    if token is not None:
        return f"End it with `counterpoint finish {item} --summary TEXT`."
    checked = core.items.get(item)
    if checked.category != "open" or not checked.is_workable:
        return ""
    return f"Nobody has taken {item} up: `counterpoint start {item}` begins it."


def _token(core: Core, item: str) -> int | None:
    """Return the token of the caller's claim, or None where nobody holds it; NotClaimHolder."""
    claim = core.overview.find(Claim, item)
    return token_of(core, item) if claim is not None and claim.is_held else None


def _lines(receipt: Receipt) -> list[str]:
    how = "passed" if _passed(receipt) else "ran out of time" if receipt.timed_out else "failed"
    code = "" if _passed(receipt) or receipt.timed_out else f" with exit code {receipt.exit_code}"
    head = f"{receipt.gate} {how}{code}: {command_line(receipt.argv)} ({receipt.id})"
    output = [] if _passed(receipt) else receipt.output.rstrip().splitlines()[-_SHOWN:]
    return [head, *(f"  {line}" for line in output)]


def _passed(receipt: Receipt) -> bool:
    return receipt.exit_code == 0 and not receipt.timed_out
