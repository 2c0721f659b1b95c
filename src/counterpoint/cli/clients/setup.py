"""The command `init`.

Finds the commands that test and check a project, from its files.
Nothing is run to find out. `*` stands where words may follow: of what runs the project's own code anyway. Of a Makefile and of the
scripts of a package only the plain targets are taken, since words after those could be programs.

Setting a project up, and undoing that: ledger, clients, a section in AGENTS.md.
Files of others are edited in place, never written anew: entries that are not ours stay byte for
byte. What cannot be edited so is shown, to be done by hand. An entry of ours that names a program
that is there is left as its owner made it. What is written is the same for everybody who has the file: a shared file names
`counterpoint` and no place on a machine.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from counterpoint.app import NOUNS, App
from counterpoint.cli.checks.configured import trust_text
from counterpoint.cli.clients.edits import (
    Setup,
    by_file,
    find_configured_dialect,
    is_left_empty,
    removals,
)
from counterpoint.cli.clients.files import Change, remove, write
from counterpoint.cli.clients.known import CLIENTS, SERVER, Client
from counterpoint.cli.clients.toml import set_table
from counterpoint.cli.context import SILENT, is_served, open_anyones, sign_written
from counterpoint.cli.grouping import RenamedOption, examples
from counterpoint.cli.output import Output, output_for
from counterpoint.cli.phrases import HOW_APART
from counterpoint.dialects.registry import names as dialects
from counterpoint.dialects.registry import surface as surface_of
from counterpoint.evidence.git.excluding import keep_out
from counterpoint.evidence.mirrored import ledger_patterns
from counterpoint.evidence.places import check_state, open_folder
from counterpoint.evidence.running.configuration import NAME, TABLE, read_checking
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.durable import sync
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, MalformedDocument
from counterpoint.kernel.listing_cache import find_listing
from counterpoint.kernel.places import DATABASE, FOLDER, find_git_fault, find_service, hint_in_bare
from counterpoint.kernel.plurals import counted
from counterpoint.storage.sqlite.store import fresh_file

_LARGEST: Final = 1_000_000
_NAMED: Final = ("test", "lint", "check", "typecheck")
_TARGET: Final = re.compile(r"^([\w-]+)[ \t]*:(?!=)", re.MULTILINE)
_LOCKS: Final = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun"}
_PYTHON: Final = ("pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "requirements-dev.txt")

Words = tuple[str, ...]


def detect(tree: Path) -> list[Words]:
    """Return the commands that the files of a project propose."""
    python = "\n".join(_text(tree / name) for name in _PYTHON)
    commands: list[Words] = []
    if "pytest" in python or (tree / "pytest.ini").exists():
        commands += [("pytest", "*"), ("python", "-m", "pytest", "*")]
    if "ruff" in python:
        commands += [("ruff", "check", "*"), ("ruff", "format", "--check", "*")]
    commands += _scripts(tree)
    targets = dict.fromkeys(_TARGET.findall(_text(tree / "Makefile")))
    commands += [("make", name) for name in targets if name in _NAMED]
    if (tree / "Cargo.toml").exists():
        commands += [("cargo", "test", "*"), ("cargo", "clippy", "*")]
    if (tree / "go.mod").exists():
        commands += [("go", "test", "*"), ("go", "vet", "*")]
    return commands


def _scripts(tree: Path) -> list[Words]:
    """Return what a package's scripts of the usual names are run by."""
    scripts: Any = {}
    with suppress(ValueError, AttributeError):
        scripts = json.loads(_text(tree / "package.json")).get("scripts", {})
    runner = next((name for lock, name in _LOCKS.items() if (tree / lock).exists()), "npm")
    return [
        (runner, "run", name) for name in _NAMED if isinstance(scripts, dict) and name in scripts
    ]


def _text(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read as one."""
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode()
    except (OSError, UnicodeDecodeError):
        return ""


def begin_anew(app: App, out: Output, reason: str) -> None:
    """Begin a ledger where another one was: an epoch names what is gone, here and with the signer.

    Forbidden to an agent, InvalidInput without a reason, Conflict where nothing is missing. What is refused leaves nothing.
    """
    refusal = app.past.gone() if app.past is not None else None
    if app.past is None or refusal is None:
        raise Conflict("no ledger is missing here", hint="Leave `--new-ledger` and `--reason` out.")
    gone = app.past.missing()
    if not reason.strip():
        raise InvalidInput("a new ledger has a reason", hint="Say why with `--reason TEXT`.")
    if app.folder.name == FOLDER:
        open_folder(app.folder)
    app.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with fresh_file(app.database, NOUNS) as store:
        anew = replace(app, begins_anew=True)
        anew.store = store
        anew.person().signing.open_epoch(f"{reason.strip()}. Before: {refusal.message}")
        # A log that the other one left would be taken for that of this one.
        for part in ("-wal", "-shm"):
            old_log = app.database.with_name(f"{app.database.name}{part}")
            if old_log.exists():
                old_log.rename(old_log.with_name(f"{old_log.name}.left-{anew.clock.now()}"))
        # Before the database has its name: a cut of power must not leave the log beside it.
        sync(app.folder)
    app.past.forget(gone, reason.strip(), app.clock.now())
    out.line("It is a new ledger: an epoch in it names what was here before, and why that is gone.")


_ABSENT: Final = (
    f"`{SERVER}` is not on the PATH here, and that is the name by which clients start it, on every machine of a team. Install"
    f" it for yourself: `pipx install {SERVER}` or `uv tool install {SERVER}`."
)

_DIALECT_VARIABLES: Final = ("COUNTERPOINT_SURFACE", "COUNTERPOINT_DIALECT")


@click.command(
    "init", epilog=examples("counterpoint init --yes", "counterpoint init --client claude --hooks")
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@click.option(
    "--client",
    "names",
    multiple=True,
    type=click.Choice([client.name for client in CLIENTS]),
    help="Configure this client, even if it is not found; repeatable.  [default: those that are found]",
)
@click.option(
    "--dialect",
    "surface",
    cls=RenamedOption,
    before="--surface",
    type=click.Choice(dialects()),
    help="The dialect that agents speak.  [default: as it stands there, else native]",
)
@click.option(
    "--hooks",
    is_flag=True,
    help="Have clients run `counterpoint prime` when a session begins, and allow Counterpoint's tools, where they can.",
)
@click.option(
    "--events",
    "reports",
    is_flag=True,
    help="With --hooks: have each call of a tool reported too, masked, as an event of the session.",
)
@click.option("--remove", "is_over", is_flag=True, help="Remove from all files what `init` wrote.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--db", metavar="PATH", help="Keep the ledger in this file, or at postgresql://….")
@click.option("--project", metavar="NAME", help="The project's id.  [default: the folder's name]")
@click.option(
    "--new-ledger",
    "anew",
    is_flag=True,
    help="Begin a new ledger in place of a lost one; for people only.",
)
@click.option(
    "--reason",
    default="",
    metavar="TEXT",
    help="Why the old ledger is gone; it stays in the new one.",
)
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON: what was or would be done.")
def init_command(
    dry_run: bool,
    names: tuple[str, ...],
    surface: str | None,
    hooks: bool,
    reports: bool,
    is_over: bool,
    yes: bool,
    db: str | None,
    project: str | None,
    anew: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Set up this repository: its ledger and your agents' settings.

    It connects the MCP clients that it finds, and tells agents in AGENTS.md how to work.
    """
    app = open_anyones(db=db, project=project)
    out = output_for(json=as_json)
    app.begins_at_home = True
    if is_over:
        _refuse_more(bool(names or surface or hooks or reports or anew))
        _take_out(app, out, dry_run=dry_run, yes=yes)
        return
    _refuse_alone(reports=reports, hooks=hooks)
    _refuse_anew(app, anew=anew)
    if app.past is not None and not is_served(app):
        # Before anything is shown that could not be done.
        check_state(app.database, app.environ)
    tree = app.places.tree
    _look_for_git(tree, out)
    clients = [
        client for client in CLIENTS if client.name in names or (not names and _used(app, client))
    ]
    dialect = surface or next(filter(None, map(app.environ.get, _DIALECT_VARIABLES)), "")
    speaks = dialect or find_configured_dialect(tree) or app.settings.surface
    setup = Setup(
        tree=tree,
        environ=app.environ,
        clients=tuple(clients),
        surface=surface_of(speaks, app.settings),
        name="" if speaks == "native" else speaks,
        is_asked=bool(dialect),
        hooks=hooks,
        reports=reports,
        is_free=_lets_any_run(app),
    )
    checks = _checks(app)
    changes = [*setup.changes(), *checks]
    pending = [change for change in changes if change.after != change.before]
    _print(changes, out, tree)
    if not (anew or is_served(app)):
        _refuse_gone(app)
    answer = _answer(app, clients, changes, is_written=not dry_run)
    if dry_run:
        state = "is there" if is_served(app) or app.exists else "would be made"
        out.line(f"The ledger {app.place} {state}. Nothing was written.")
        out.result(answer)
        return
    if pending and not yes:
        _ask(len(pending), out)
    if anew:
        begin_anew(app, out, reason)
    has_work = _open_ledger(app, out, checks)
    _write_all(out, tree, pending)
    out.result(answer)
    _say_what_lacks(app, out, clients)
    _say_what_next(app, out, has_work=has_work)
    if clients:
        # Working a list out takes seconds at the first time: an agent that does not wait so long would
        # begin its first conversation without our tools.
        find_listing(speaks, app.environ)


def _look_for_git(tree: Path, out: Output) -> None:
    """Say that a folder has no git; InvalidInput for a bare repository, which has no files to write to."""
    if hint := hint_in_bare(str(tree)):
        raise InvalidInput(
            f"{tree} is a bare repository: it has no files that agents could read or change",
            hint=hint,
        )
    if fault := find_git_fault(str(tree)):
        out.aside(f"{fault}. Until then evidence will be hashes of files.")
    elif not (tree / ".git").exists():
        out.aside(f"{tree} is not in a git repository: evidence will be hashes of files.")


def _refuse_more(is_more: bool) -> None:
    if is_more:
        raise click.UsageError("--remove takes out what stands there for every client.")


def _refuse_alone(*, reports: bool, hooks: bool) -> None:
    if reports and not hooks:
        raise click.UsageError("--events goes with --hooks.")


def _refuse_anew(app: App, *, anew: bool) -> None:
    if anew and is_served(app):
        raise Conflict(
            f"the ledger is at {app.settings.db}, in the keeping of another account",
            hint="Take it back first: `sudo counterpoint service remove`.",
        )


def _say_what_lacks(app: App, out: Output, clients: list[Client]) -> None:
    if not (is_served(app) or (app.places.home / NAME).exists()):
        out.line(
            f"No test command was found, so no {NAME} was written and checks run nothing. Let one be run:"
            " `counterpoint trust --allow 'pytest *'`."
        )
    if not clients:
        names = ", ".join(client.name for client in CLIENTS)
        out.line(f"No MCP client was found; name one with `--client`: {names}.")
    elif not shutil.which(SERVER, path=app.environ.get("PATH", "")):
        out.line(_ABSENT, style="yellow")


def _say_what_next(app: App, out: Output, *, has_work: bool) -> None:
    """End with the line to type next, and with what keeps agents from the ledger's files."""
    if is_served(app):
        return
    plan = next((name for name in _PLANS if (app.places.tree / name).is_file()), "")
    first = f"counterpoint plan {plan}" if plan else "counterpoint add 'Your first task'"
    out.line(f"Next: `{'counterpoint status' if has_work else first}`")
    if not app.is_remote:
        out.line(
            "Whatever runs as you can write the ledger's files, agents too. To give them and the signer an account of their"
            f" own: {HOW_APART}"
        )


_PLANS: Final = ("PLAN.md", "plan.md", "docs/PLAN.md")
"""Where a plan is looked for that is not made yet."""


def _take_out(app: App, out: Output, *, dry_run: bool, yes: bool) -> None:
    """Take out of every file what says something for us; the ledger stays where it is."""
    tree = app.places.tree
    changes = removals(tree)
    pending = [change for change in changes if change.after != change.before]
    _print(
        [change for change in changes if change.fault or change.after != change.before],
        out,
        tree,
        "Take out",
    )
    if pending and not (yes or dry_run):
        _ask(len(pending), out)
    for pending_change in () if dry_run else pending:
        is_empty = is_left_empty(pending_change)
        if is_empty:
            remove(pending_change.path)
        else:
            write(pending_change.path, pending_change.after)
        out.line(f"{'Removed' if is_empty else 'Wrote'} {pending_change.path.relative_to(tree)}.")
    if not pending:
        out.line("No file says anything for Counterpoint.")
    if app.exists:
        out.line(
            f"The ledger stays: {app.place}. It is the only copy; remove it by hand if you mean that."
        )
    if (app.places.home / NAME).exists():
        out.line(
            f"{NAME} stays: it says what checks may run. Remove it by hand if nothing needs it."
        )
    out.result(
        {
            "files": [str(change.path.relative_to(tree)) for change in pending],
            "by_hand": by_file(changes, tree),
            "ledger": app.place if app.exists else None,
            "written": not dry_run,
        }
    )


def _answer(
    app: App, clients: Iterable[Client], changes: Iterable[Change], *, is_written: bool
) -> Json:
    """Return what was or would be done, before it is done: `made` says whether there was no ledger before."""
    tree = app.places.tree
    files = [
        str(change.path.relative_to(tree)) for change in changes if change.after != change.before
    ]
    return {
        "ledger": app.place,
        "project": app.project,
        "made": not app.exists,
        "clients": [client.name for client in clients],
        "files": files,
        "by_hand": by_file(changes, tree),
        "written": is_written,
    }


def _refuse_gone(app: App) -> None:
    if app.past is not None and (gone := app.past.gone()):
        raise gone


def _write_all(out: Output, tree: Path, pending: list[Change]) -> None:
    for change in pending:
        write(change.path, change.after)
        out.line(f"Wrote {change.path.relative_to(tree)}.")
    for change in pending:
        if change.note:
            out.line(change.note)
    if not pending:
        out.line("There is nothing to change in the configuration.")


def _used(app: App, client: Client) -> bool:
    return client.is_used(app.places.tree, app.environ)


def _lets_any_run(app: App) -> bool:
    """Return whether the project lets any command be run; by a file that cannot be read none is."""
    with suppress(MalformedDocument):
        return read_checking(app.places.home).free
    return False


def _checks(app: App) -> list[Change]:
    """Return the configuration of a project that has none, with the commands that its files propose."""
    home = app.places.home
    # What another account serves runs nothing of the tree.
    commands = [] if is_served(app) or (home / NAME).exists() else detect(home)
    if not commands:
        return []
    values: dict[str, Json] = {"commands": [[*words] for words in commands]}
    return [Change(path=home / NAME, before="", after=set_table("", (TABLE,), values))]


def _open_ledger(app: App, out: Output, checks: list[Change]) -> bool:
    """Open the ledger, made unless it is there, and say where it is; return whether it has work."""
    if is_served(app):
        service = find_service(str(app.places.folder / DATABASE))
        whose = f"the account {service['account']}" if service else "another account"
        out.line(f"The ledger is that of {whose}, at {app.settings.db}.")
        return True
    had = app.exists
    try:
        name = app.ports.project
        if why := app.itself().projects.why_elsewhere():
            out.line(f"Look at the ledger first: {why}. `counterpoint doctor` says what to do.")
            checks = []
        for change in checks:
            _trust(app, out, change.after)
        sign_written(app, with_head=app.settings.signer == SILENT)
        has_work = any(app.person(by_git_name=False).overview.counts().values())
    finally:
        app.close()
    state = "The ledger is there already" if had else "Made the ledger"
    out.line(f"{state}: {app.place}, project {name}.")
    if not app.is_remote and (patterns := ledger_patterns(app.places.tree, app.database, name)):
        try:
            keep_out(app.places.tree, patterns, app.environ)
        except Conflict as fault:
            out.aside(f"{fault.message}. {fault.hint}")
    if app.is_remote:
        # An address may hold a password, and what clients read is often committed.
        out.line("Its address is not written: give agents COUNTERPOINT_DB in their environment.")
    elif app.settings.db:
        # What clients read is the same on every machine, and a path is not.
        out.line(
            "Its path is not written into these files: set it for agents and yourself,"
            f" `export COUNTERPOINT_DB={shlex.quote(str(app.database))}`."
        )
    return has_work


def _trust(app: App, out: Output, text: str) -> None:
    """Let the commands that are about to be written be run, if it is a person who sets this up."""
    try:
        trust_text(app, app.person(), text)
    except Forbidden:
        out.line("Its commands are run once a person has called `counterpoint trust`.")


def _ask(count: int, out: Output) -> None:
    """Ask whether files are to be written; InvalidInput where nobody can be asked, Exit with 1 for a no."""
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"{counted(count, 'file')} would be changed, and there is nobody to ask; nothing was written",
            hint="Look at the changes above, then repeat it with `--yes`.",
        )
    files = "this file" if count == 1 else f"these {count} files"
    if not click.confirm(f"Write {files}?", default=True, err=True):
        out.aside("Nothing was written.")
        raise click.exceptions.Exit(1)


def _print(changes: Iterable[Change], out: Output, tree: Path, by_hand: str = "Add") -> None:
    for change in changes:
        name = str(change.path.relative_to(tree))
        if change.fault:
            out.line(f"{name}: {change.fault}. {by_hand} this by hand:", style="yellow")
            out.line(change.by_hand)
        elif change.before == change.after:
            out.line(f"{name}: nothing to change.")
        else:
            _print_difference(out, name, change)


def _print_difference(out: Output, name: str, change: Change) -> None:
    before, after = change.before.splitlines(), change.after.splitlines()
    lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        out.line(line, style=styles.get(line[:1], ""))
