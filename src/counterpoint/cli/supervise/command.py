"""Supervises the run of a spec: options, signals and exit codes."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import click

from counterpoint.app import App
from counterpoint.cli.context import open_here, project_options, require
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import output_for
from counterpoint.cli.supervise.agent import (
    PROMPT,
    RUNNER,
    SURFACE,
    AgentProgram,
    agent_environ,
)
from counterpoint.cli.supervise.loop import StopRequest, Supervision
from counterpoint.cli.supervise.outcome import tell_outcome
from counterpoint.cli.supervise.run_files import folder_of, lock_spec, read_results
from counterpoint.cli.supervise.screens import open_screen
from counterpoint.cli.supervise.specrun import LIST_SPECS, SpecRun
from counterpoint.core.model.runs import Run, RunOrder
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.nodes.queries import get_spec, spec_id
from counterpoint.dialects.foundry.places import FOLDERS, specs_dir
from counterpoint.dialects.foundry.runs.rules.signals import Decision
from counterpoint.dialects.foundry.runs.sessions import Commands
from counterpoint.dialects.lacking import said_of_lacking
from counterpoint.kernel.errors import InvalidInput, NotFound, Unavailable
from counterpoint.kernel.starting.programs import own_command
from counterpoint.protocol.client import connect

NAME: Final = "supervisor"
"""What the supervisor calls itself as an agent."""
STOPPED: Final = 130
_PROMPT_LIMIT: Final = 100_000
_ERRORS: Final = 2
_STOPPING: Final = (
    b"Stopping: the agent is asked to end, then the run is paused. Once more kills it.\n"
)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command("supervise", epilog=examples("counterpoint supervise spec-1 -- claude -p"))
@click.argument("spec")
@click.argument("agent", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- AGENT...")
@click.option(
    "--rounds", type=click.IntRange(1, 1000), default=20, show_default=True,
    help="Start at most this many agents.",
)  # fmt: skip
@click.option(
    "--minutes", type=click.IntRange(1, 1440), default=120, show_default=True,
    help="Give each agent at most this many minutes.",
)  # fmt: skip
@click.option(
    "--prompt", "prompt_file", metavar="FILE", type=click.Path(path_type=Path),
    help="Use the text of this file for {prompt} instead of the built-in one.",
)  # fmt: skip
@click.option(
    "--resume",
    "is_seen_to",
    is_flag=True,
    help="Resume a run that waited for you, once you have dealt with the reason.",
)
@click.option("--verbose", is_flag=True, help="Also show the agent's output.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON: an event on each line.")
@project_options
def supervise_command(
    *,
    spec: str,
    agent: tuple[str, ...],
    rounds: int,
    minutes: int,
    prompt_file: Path | None,
    is_seen_to: bool,
    verbose: bool,
    as_json: bool,
    db: str | None,
    project: str | None,
) -> int:
    """Have agents work on a spec, phase after phase.

    One agent for each phase, until the spec is complete or somebody is needed.

    AGENT is the command line of an agent; no shell interprets it. {prompt}, {spec}, {session} and {round} are
    replaced in each word. Each agent starts with an empty context.
    """
    out, prompt = output_for(json=as_json), _prompt(prompt_file)
    app = open_here(db=db, project=project)
    try:
        require(app)
        spec = _find_spec(app, spec)
        _refuse_lacking(app, spec)
        folder = folder_of(app.folder, spec)
        program = AgentProgram(
            words=agent,
            prompt=prompt,
            folder=Path.cwd(),
            environ=agent_environ(os.environ, app, spec, role=RUNNER),
            seconds=minutes * 60,
            clock=app.clock,
        )
        program.check()
        environ, clock = agent_environ(os.environ, app, spec), app.clock
    finally:
        app.close()
    with lock_spec(folder, spec), listen_for_signals() as stopping:
        words = own_command("mcp", "--surface", SURFACE, "--agent", NAME)
        with (
            connect(words, folder=program.folder, environ=environ, is_apart=True) as connection,
            open_screen(out, clock, is_verbose=verbose) as screen,
        ):
            outcome = Supervision(
                run=SpecRun(spec=spec, caller=connection),
                agent=program,
                screen=screen,
                folder=folder,
                limit=rounds,
                clock=clock,
                stopping=stopping,
                is_seen_to=is_seen_to,
                record=partial(_record_round, spec, db, project),
            ).supervise()
    tell_outcome(out, clock, spec, outcome)
    return code_of(outcome.decision)


def _record_round(
    spec: str, db: str | None, project: str | None, session: str, log: Path
) -> Run | None:
    """Record the money and tokens of a round of a run, from its log; None where that says nothing of them."""
    results = read_results(log)
    if not results:
        return None
    app = open_here(db=db, project=project)
    try:
        core = app.person()

        def find_root(context: Context) -> str:
            with context.reading() as view:
                return get_spec(view, spec).id

        order = RunOrder(run=f"{session}-{log.stem}", item=core.use(find_root), agent=NAME)
        return core.runs.ingest(results, order).run
    finally:
        app.close()


def code_of(decision: Decision) -> int:
    """Return the exit code: 0 for a spec that is complete, 130 if it was asked to stop, else 1."""
    if decision.reason == "asked":
        return STOPPED
    return 0 if decision.is_success else 1


@contextmanager
def listen_for_signals() -> Generator[StopRequest]:
    """Take the first signal to end for a wish, and the second for an order."""
    stopping = StopRequest()

    def hear(_number: int, _frame: object) -> None:
        if stopping.is_asked:
            raise KeyboardInterrupt
        stopping.is_asked = True
        # It may come while standard error is written to, which must not be begun again in between.
        with suppress(OSError):
            os.write(_ERRORS, _STOPPING)

    # Whoever was started to ignore the end of its terminal goes on ignoring it.
    heard = [
        signal_number
        for signal_number in _SIGNALS
        if signal.getsignal(signal_number) is not signal.SIG_IGN
    ]
    before = {signal_number: signal.signal(signal_number, hear) for signal_number in heard}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _find_spec(app: App, name: str) -> str:
    """Return the id of the spec or plan of an id, a number or another name; NotFound, InvalidInput for a part of one.

    A file that no call has named yet comes in with the first one.
    """
    core = app.person()

    try:
        item = core.items.named(name) or core.items.get(name)
    except NotFound as fault:
        folder = specs_dir(app.places.home, app.settings.specs_dir)
        if any((folder / state / f"{name}.json").is_file() for state in FOLDERS):
            return name
        raise NotFound(
            f"there is no spec {name!r}; nothing was started",
            hint=LIST_SPECS,
            error_code="SPEC_NOT_FOUND",
        ) from fault

    def find_id(context: Context) -> str:
        with context.reading() as view:
            return spec_id(view, get_spec(view, item.id))

    try:
        return core.use(find_id)
    except NotFound as fault:
        hint = f"Name the whole: {item.root}." if item.root != item.id else LIST_SPECS
        raise InvalidInput(
            f"{item.id} is a {item.kind}, and no plan or spec; nothing was started", hint=hint
        ) from fault


def _refuse_lacking(app: App, spec: str) -> None:
    """Refuse a spec with commands that may not be run: no agent gets past such a check."""
    # A file that is not yet imported has no commands here.
    with suppress(NotFound):
        if lacks := said_of_lacking(app.person().use(Commands).lacking(spec)):
            raise Unavailable(lacks, hint="Then call this again; nothing was begun.")


def _prompt(file: Path | None) -> str:
    """Return what agents are told; InvalidInput for a file that cannot be read, or is too long."""
    if file is None:
        return PROMPT
    try:
        with file.open("rb") as opened:
            content = opened.read(_PROMPT_LIMIT + 1)
        text = content.decode()
    except (OSError, UnicodeDecodeError) as fault:
        raise InvalidInput(
            f"{file} cannot be read as text: {fault}",
            hint="Give a file with what the agent is to be told.",
        ) from fault
    if len(content) > _PROMPT_LIMIT:
        raise InvalidInput(
            f"{file} has more than {_PROMPT_LIMIT:,} bytes",
            hint="Shorten it: it is one word of a command line.",
        )
    return text
