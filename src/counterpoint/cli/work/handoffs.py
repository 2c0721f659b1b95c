"""What sessions leave for each other, read and written by people."""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import examples
from counterpoint.cli.local_time import local_time_with_zone
from counterpoint.cli.present import present, status_line
from counterpoint.cli.work.items import read_text
from counterpoint.cli.work.names import SESSION, session_id
from counterpoint.cli.work.terminal_session import in_terminal_session, once, repeatable
from counterpoint.core.coordinator import Core
from counterpoint.core.model.answers import HandedOver
from counterpoint.core.model.filters import Action, Handover
from counterpoint.core.model.sessions import Handoff
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound

_READ: Final = "read"
Step = Literal["read", "pause", "end", "resume", "continue"]


@click.command(
    "handoff",
    epilog=examples(
        "counterpoint handoff",
        "counterpoint handoff end --summary 'Half done' --next 'Parse leap years'",
        "counterpoint handoff continue ses_01h4…",
    ),
)
@click.argument("step", type=click.Choice(get_args(Step)), default=_READ, required=False)
@click.argument("session", default="", required=False, type=SESSION)
@click.option(
    "--summary",
    "-m",
    default="",
    metavar="TEXT",
    help="The state of the work; `-` reads standard input.",
)
@click.option("--next", "next_steps", multiple=True, metavar="TEXT", help="What to do; repeatable.")
@click.option("--blocker", "blockers", multiple=True, metavar="TEXT", help="What is in the way.")
@click.option(
    "--context",
    "more",
    default="",
    metavar="TEXT",
    help="Anything else to know; `-` reads standard input.",
)
@repeatable
@with_context
def handoff_command(
    context: CommandContext,
    *,
    step: Step,
    session: str,
    summary: str,
    next_steps: tuple[str, ...],
    blockers: tuple[str, ...],
    more: str,
    key: str,
) -> None:
    """Read a session's handoff, or leave one.

    `read` (the default) shows the last handoff, of SESSION or of any session. `pause` keeps what you hold, `end`
    releases it, `resume` continues your own session, and `continue` takes over another session with everything it holds.
    """
    if step == "read":
        _print_last(context, session)
        return
    if (step == "continue") is not bool(session):
        raise click.UsageError(
            "`continue` takes the SESSION to take up; the others are about yours."
        )
    core = in_terminal_session(context.core)
    if session:
        session_id(core, session)
    handover = Handover(
        action=step,
        summary=read_text(summary),
        next_steps=next_steps,
        blockers=blockers,
        context=read_text(more),
        session=session,
    )
    _print_done(
        context,
        core,
        step,
        once(core, key, {"handoff": repr(handover)}, lambda: _do(core, handover)),
    )


def _do(core: Core, handover: Handover) -> Json:
    done: HandedOver = core.sessions.hand_over(handover)
    return {
        "session": present(done.session),
        "claims": [claim.item for claim in done.claims],
        "handoff": present(done.handoff) if done.handoff else None,
    }


def _print_done(context: CommandContext, core: Core, step: Action, answer: Any) -> None:
    claims: list[str] = answer["claims"]
    words = {
        "pause": "paused; you keep",
        "end": "ended; given back",
        "resume": "goes on; you hold",
        "continue": "continued; you hold now",
    }
    items = ", ".join(claims) or "nothing"
    context.out.result(
        answer,
        f"Your session is {words[step]}: {items}.",
        *(status_line(core.items.get(item)) for item in claims),
    )


def _print_last(context: CommandContext, session: str) -> None:
    if session:
        session_id(context.core, session)
    last = context.core.overview.last_handoff(session)
    if session and last is None:
        raise NotFound(
            f"{session} has left no handoff", hint="`counterpoint handoff` shows the last of all."
        )
    lines = [] if last is None else _lines(last)
    context.out.result(
        {"handoff": present(last) if last else None},
        *(lines or ["No session has left a handoff yet."]),
    )


def _lines(handoff: Handoff) -> list[str]:
    about = f" about {handoff.item}" if handoff.item else ""
    parts = (("Next", handoff.next_steps), ("In the way", handoff.blockers))
    return [
        f"{handoff.id}  {handoff.agent}{about}, {local_time_with_zone(handoff.created_at)} ({handoff.action}, {handoff.session})",
        *([handoff.summary] if handoff.summary else []),
        *(f"  {name}: {line}" for name, lines in parts for line in lines),
        *([handoff.context] if handoff.context else []),
    ]
