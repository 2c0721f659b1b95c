"""The group of all commands, and the one top where their errors become exit codes.

code   meaning
0      done
1      the answer is no: a broken chain, a closed gate, a conflict, an unknown id
2      wrong usage or input that is not valid
3      something needed is missing, unreachable or broken; also anything unforeseen
130    stopped with Ctrl-C
141    the reader of the output went away
"""

from __future__ import annotations

import importlib
import logging
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import click

from counterpoint import __version__
from counterpoint.cli.output import output_for, plain
from counterpoint.kernel.acts import Act, Phrases
from counterpoint.kernel.errors import CounterpointError, Kind

EXIT_CODES: Final[Mapping[Kind, int]] = {
    "not_found": 1,
    "invalid": 2,
    "conflict": 1,
    "gate": 1,
    "forbidden": 1,
    "integrity": 1,
    "unavailable": 3,
}
UNFORESEEN: Final = 3
STOPPED: Final = 130
PIPE_CLOSED: Final = 141

_COMPLETION = "_COUNTERPOINT_COMPLETE"

logger = logging.getLogger(__name__)


COMMANDS: Final[Mapping[str, str]] = {
    "demo": "demo.command",
    "init": "clients.setup",
    "mcp": "server.connect",
    "serve": "server.serve",
    "listings": "server.listings",
    "up": "server.up",
    "down": "server.serve",
    "token": "tokens",
    "agent": "trust.agents",
    "key": "trust.keys",
    "signer": "trust.signers",
    "profile": "profiles",
    "learning": "knowledge",
    "status": "work",
    "list": "work",
    "show": "show",
    "next": "work",
    "approve": "decisions",
    "reject": "decisions",
    "unblock": "decisions",
    "release": "decisions",
    "waive": "decisions",
    "reopen": "decisions",
    "policy": "trust.policy",
    "log": "ledger",
    "find": "work",
    "tools": "server.connect",
    "phases": "issues",
    "runs": "runs",
    "vault": "knowledge",
    "issue": "issues",
    "workspace": "issues",
    "audit": "ledger",
    "verify": "ledger",
    "witness": "trust.witness",
    "plans": "plans",
    "sessions": "plans",
    "backup": "backup",
    "restore": "backup",
    "storage": "storage",
    "doctor": "doctor",
    "version": "main",
}
"""Every command in the order of the help, and the file of this folder that has it."""

PHRASES: Final[Phrases] = {
    Act.LOOK_UP: "check the id with `counterpoint find` or `counterpoint list`",
    Act.READ_AGAIN: "read it again with `counterpoint show ID`",
    Act.LIST_BELOW: "`counterpoint list --parent ID` shows what is below",
    Act.TAKE_OTHER_WORK: "`counterpoint next` shows other work",
    Act.VERIFY: "have an agent run its checks, or waive them with `counterpoint waive ID GATE`",
    Act.SUBMIT: "have an agent hand its artifact in, or waive it with `counterpoint waive ID GATE`",
    Act.REVIEW: "judge it with `counterpoint approve ID` or `counterpoint reject ID`",
    Act.WAIVE: "waive the gate with `counterpoint waive ID GATE`",
    Act.CREDENTIAL: "give each agent a credential of `counterpoint agent create NAME`",
    Act.SIGN: "if you are a person, sign it with a key of `counterpoint key add`, or do it in a"
    " terminal that is older than the agents or that you logged in to",
    Act.ASK_LESS: "let names be enough here with `counterpoint policy --reviews declared`",
    Act.REOPEN: "reopen it with `counterpoint reopen ID`",
    Act.RELEASE: "free it with `counterpoint release ID`",
    Act.UNBLOCK: "resolve its blockers with `counterpoint unblock ID`",
    Act.KEEP_DOCUMENTS: "turn it on with `counterpoint vault on`",
    Act.REDACT: "use `counterpoint audit redact`",
}
"""What a person runs for each act that a hint names."""


class Commands(click.Group):
    """The commands, each imported when it is asked for: most of them need what is slow to load."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"counterpoint.cli.{COMMANDS[cmd_name]}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def version_command(as_json: bool) -> None:
    """Say which version this is."""
    python, system = platform.python_version(), platform.system()
    output_for(json=as_json).result(
        {"version": __version__, "python": python, "system": system},
        f"counterpoint {__version__} (Python {python} on {system})",
    )


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 the answer is no, 2 wrong usage, 3 something needed is missing.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an unforeseen error.")
def cli(debug: bool) -> None:
    """The shared, provable memory of work for teams of coding agents."""
    if debug:
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)


def run(arguments: Sequence[str]) -> int:
    """Run one command; answer its exit code. What it says on the way goes to the two streams."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_the_pipe()
        return PIPE_CLOSED
    return code


def _run(arguments: Sequence[str]) -> int:
    logger.setLevel(logging.DEBUG if "--debug" in arguments else logging.CRITICAL)
    try:
        return _invoke(arguments)
    except (KeyboardInterrupt, click.Abort):
        output_for().aside("Stopped.")
        return STOPPED
    except CounterpointError as refusal:
        return refused(refusal)
    except BrokenPipeError:
        raise
    except Exception as fault:
        logger.exception("the command failed")
        return _unforeseen(fault)


def _invoke(arguments: Sequence[str]) -> int:
    """Run a command; what click itself has to say it says here."""
    if _COMPLETION in os.environ:
        cli.main(list(arguments), prog_name="counterpoint", standalone_mode=False)
        return 0
    try:
        with cli.make_context("counterpoint", list(arguments)) as context:
            answered = cli.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as wrong:
        wrong.show()
        return EXIT_CODES["invalid"]
    return answered if isinstance(answered, int) else 0


def refused(refusal: CounterpointError) -> int:
    """Say what was refused and what to do next; answer the exit code of its kind."""
    out = output_for()
    out.aside(f"counterpoint: {refusal.message}", style="red")
    out.aside(refusal.hint_in(PHRASES))
    return EXIT_CODES[refusal.kind]


def _unforeseen(fault: Exception) -> int:
    sort = type(fault).__name__
    output_for().aside(
        f"counterpoint: something went wrong inside ({sort}: {plain(str(fault))[:200]}). Sorry."
        " Run it again as `counterpoint --debug …` and report what it prints.",
        style="red",
    )
    return UNFORESEEN


def _leave_the_pipe() -> None:
    """Give the interpreter a place for what is still unwritten, so that its end is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
