"""Where a command sits: the app, the core as a person may use it, and the output.

A reading command makes nothing: without a ledger, or with a project that the ledger does not have,
it is refused before anything is opened that could be made by opening it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Concatenate, TypeVar

from counterpoint.app import App, open_app
from counterpoint.cli.checks.mirrored import has_files, look
from counterpoint.cli.output import Output, output_for
from counterpoint.core.coordinator import Core
from counterpoint.evidence.directories import FileAnchors
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound, Unavailable
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.places import DATABASE, SOCKET, find_database, find_service

_MANY = 256
"""Entries that wait for a signature when a command has them signed itself."""

SILENT = "file"
"""The signer that never asks anybody anything."""

F = TypeVar("F", bound=Callable[..., Any])


@frozen
class CommandContext:
    """What a command works with.

    signed: the acts that a person has signed in it, by their actions. decided: the reason, or nothing, of each act that a person decides. keys: the keys that signed them. remarks: what is
    said once the command has done what it was asked for, and not if it was refused. shows_name: whether the name of
    whoever calls is used.
    """

    app: App
    out: Output
    signed: list[str] = field(default_factory=list[str])
    decided: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])
    remarks: list[str] = field(default_factory=list[str])
    shows_name: bool = True

    @property
    def core(self) -> Core:
        """The core, for whoever sits at the command line."""
        return self.app.person(by_git_name=self.shows_name)


def open_here(**flags: str | None) -> App:
    """Return the app of the folder the command was started in; InvalidInput, Unavailable."""
    app = open_anyones(**flags)
    if is_served(app):
        service = find_service(str(app.places.folder / DATABASE))
        acts = f": `{service['person']} COMMAND --db {service['file']}`" if service else "."
        raise Unavailable(
            f"the ledger behind {app.settings.db} belongs to the account that serves it",
            hint="An agent connects with plain `counterpoint mcp`; run other commands as that account, with"
            f" the path of its database{acts}",
        )
    return app


def is_served(app: App) -> bool:
    """Return whether a ledger is in the keeping of another account, so that this one cannot open it."""
    return app.settings.db.startswith(SOCKET)


def open_anyones(**flags: str | None) -> App:
    """Return the app of the folder the command was started in, also if another account has its ledger; InvalidInput, Unavailable."""
    try:
        folder = Path.cwd()
    except FileNotFoundError as gone:
        raise Unavailable(
            "the folder that this was started in is not there any more",
            hint="Go to a folder of the project, and repeat it there.",
        ) from gone
    if not os.access(folder, os.R_OK | os.X_OK):
        folder = _leave_folder(flags.get("db") or os.environ.get("COUNTERPOINT_DB", ""))
    app = open_app(folder, os.environ, **flags)
    if "://" in app.settings.db and not app.is_remote:
        raise InvalidInput(
            "a ledger is kept in a file or on a PostgreSQL server, nowhere else",
            hint="Give `--db` (or COUNTERPOINT_DB) a path or `postgresql://user@host/database`.",
        )
    return app


def _leave_folder(db: str) -> Path:
    """Go to the folder of a database from one that this account may not look into, as `sudo -u` has it; Unavailable."""
    folder = Path(find_database("/", db)).parent if db and "://" not in db else Path("/")
    try:
        os.chdir(folder)
    except OSError as fault:
        raise Unavailable(
            f"this account may look neither into the folder that this was started in, nor into {folder}",
            hint="Go to a folder that it may look into, and name the ledger: `--db PATH`.",
        ) from fault
    return folder


def require(app: App) -> None:
    """Refuse an app without a ledger, or without the project, before anything is made; Unavailable."""
    try:
        app.require()
    except NotFound as missing:
        raise Unavailable(missing.message, hint=_way_to_named(app) or missing.hint) from None
    projects = [project.project for project in app.store.projects()]
    if projects and app.project not in projects:
        raise Unavailable(
            f"the ledger in {app.place if app.is_remote else app.folder} has no project"
            f" {app.project!r}",
            hint=f"Name one that it has with `--project`: {', '.join(sorted(projects))}.",
        )


def _way_to_named(app: App) -> str:
    """Return what to do where a ledger was named that is not there: `init` would make none in its place; empty for others."""
    if not app.settings.db or app.is_remote:
        return ""
    if not app.folder.is_dir():
        return f"Check the path {app.database}: there is no such folder."
    from shlex import quote

    return f"Check the path; `counterpoint init --db {quote(app.settings.db)}` begins one there."


@contextmanager
def open_context(
    *,
    as_json: bool,
    db: str | None,
    project: str | None,
    shows_name: bool = True,
    from_anywhere: bool = False,
) -> Generator[CommandContext]:
    """Open a context for a command that only looks, and leave it; Unavailable without a ledger.

    from_anywhere: whether that may be in the repository of another project: a person adopts it, or looks at nothing but the ledger.
    """
    app = open_here(db=db, project=project)
    app.is_from_anywhere, app.only_looks = from_anywhere, True
    try:
        require(app)
        before = _size(app)
        context = CommandContext(app=app, out=output_for(json=as_json), shows_name=shows_name)
        try:
            yield context
            for key in dict.fromkeys(context.keys):
                app.person().people.take_along(key)
            for remark in dict.fromkeys((*app.remarks, *context.remarks)):
                context.out.aside(remark)
        finally:
            # Also of what Ctrl-C or a refusal has cut off: what is written stays, and nobody else can sign it.
            if _size(app) > before and not app.settings.is_read_only:
                app.remember_repository()
                keep_files(app)
                # Of an act the person has signed no rows: the head above them says which they are, and that an older copy lacks what was taken back.
                # Where so much waits no server can have been here.
                with_head = bool(context.signed or context.decided) or _waiting(app) >= _MANY
                sign_written(app, with_head=with_head)
    finally:
        app.close()


def keep_files(app: App, *, waits: bool = False) -> None:
    """Write the files of specs that this command has changed: there may be no server that would.

    waits: until whoever writes them now has ended, so that they say what the ledger does.
    """
    if has_files(app):
        # The command has succeeded; `doctor` tells of what keeps the files from being written.
        with suppress(CounterpointError):
            look(app, waits=waits)


def _size(app: App) -> int:
    with app.store.reading(app.project) as view:
        return view.head().size


def sign_written(app: App, *, with_head: bool) -> None:
    """Have signed what this command wrote for whoever called it: no other process can do that.

    with_head: the head of the ledger too, whatever signs. A signer that could ask a question is else left alone.
    """
    core = app.itself()
    # The command has succeeded; `status` tells what keeps the signer from signing.
    if with_head:
        with suppress(CounterpointError):
            core.signing.sign()
    if with_head or app.settings.signer == SILENT:
        with suppress(CounterpointError):
            core.writers.sign()


def _waiting(app: App) -> int:
    """Return how many entries the checkpoint beside the database does not have."""
    lines = FileAnchors(folder=app.checkpoints).last(app.project).split("\n")[1:2]
    return _size(app) - (int(lines[0]) if lines and lines[0].isdecimal() else 0)


def project_options(command: F) -> F:
    """Give a command the options that say which ledger it is about."""
    import click

    command = click.option("--project", metavar="NAME", help="This project of the database.")(
        command
    )
    return click.option("--db", metavar="PATH", help="This database: a path or postgresql://….")(
        command
    )


def with_context(
    command: Callable[Concatenate[CommandContext, ...], int | None],
) -> Callable[..., int | None]:
    """Give a command `--json`, `--db` and `--project`, and an opened context in place of them."""
    # Whoever looks at arguments has loaded it; who reads none of them does without.
    import click

    @click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
    @project_options
    @functools.wraps(command)
    def opened(
        *args: Any, as_json: bool, db: str | None, project: str | None, **options: Any
    ) -> int | None:
        with open_context(as_json=as_json, db=db, project=project) as context:
            return command(context, *args, **options)

    return opened
