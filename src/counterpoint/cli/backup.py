"""Backups of the ledger, and the way back to one.

A file is restored if and only if (1) it is a database of this program that SQLite finds sound,
(2) the ledger of each project in it verifies, (3) every table is what its ledger says, and (4) no
process has the present database open, and (5) every ledger that is there now is in it, unless a person says
`--other-ledger`: a backup of another project would be taken for this one's. All of (1)-(3) is found out on a copy,
in a folder of its own beside the database, before anything is touched. What the backup lacks is always told. The database
that was replaced, and the checkpoints that vouched for it, stay beside it under names that end in `replaced-<time>`.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Final

import click

from counterpoint.app import App
from counterpoint.cli.context import open_context, open_here, project_options
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import Output, output_for
from counterpoint.cli.trust import file_arguments
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.ports.store import Store
from counterpoint.evidence.directories import FileAnchors
from counterpoint.evidence.places import open_folder
from counterpoint.kernel.durable import make_folder
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    ForkRefused,
    InvalidInput,
    LedgerBroken,
    StoreCorrupt,
    StoreNewer,
    StoreOlder,
    StoreReadOnly,
    Unavailable,
)
from counterpoint.kernel.places import DATABASE
from counterpoint.kernel.plurals import counted
from counterpoint.settings import Settings
from counterpoint.storage.sqlite.replacement import replace_database

_CHUNK: Final = 1 << 20
_BACKUPS: Final = "backups"
_CHECKPOINTS: Final = "checkpoints"
_OTHER: Final = "Nothing was replaced. Try an older backup."
_RESTORER: Final = Actor(kind="system", name="counterpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedProject:
    """One project of a backup that verified. known: entries that were signed here."""

    project: str
    ledger: str
    size: int
    known: int
    same_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentLedger:
    """A ledger that is to be replaced. size: its entries; None if it cannot be read, or is lost already."""

    project: str
    ledger: str
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What of a ledger would be gone. is_other: whether that is all of it, because it is another ledger."""

    project: str
    words: str
    is_other: bool = False


@click.command("backup", epilog=examples("counterpoint backup monday.db"))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@project_options
def backup_command(file: Path | None, as_json: bool, db: str | None, project: str | None) -> None:
    """Write a copy of the database while it is in use.

    Without FILE the copy goes to .counterpoint/backups/, named by the time. It does not contain the key.
    """
    with open_context(as_json=as_json, db=db, project=project, from_anywhere=True) as context:
        target = file or _default(context.app)
        if target.exists():
            raise Conflict(f"{target} is there already", hint="Choose another name.")
        if not (folder := target.absolute().parent).is_dir():
            raise InvalidInput(f"there is no folder {folder}", hint="Make it, or name another.")
        context.app.record_copy("command backup")
        with context.out.counting("Copying the database"):
            context.app.store.backup(target.absolute())
        size = target.stat().st_size
        if context.out.json:
            context.out.answer({"file": str(target), "bytes": size})
            return
        context.out.line(f"Wrote {target} ({size:,} bytes).")
        context.out.aside("It holds no key: keep the state of the signer safe by other means.")


def _default(app: App) -> Path:
    folder = app.folder / _BACKUPS
    try:
        make_folder(folder)
    except OSError as fault:
        raise StoreReadOnly(
            f"{folder} cannot be made ({fault.strerror})",
            hint="Name a place that can be written: `counterpoint backup FILE`.",
        ) from fault
    return folder / f"ledger-{_time(app)}.db"


def _time(app: App) -> str:
    return re.sub(r"[-:.]", "", app.clock.now())


@click.command("restore", epilog=examples("counterpoint restore monday.db"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--yes", is_flag=True, help="Replace the current ledger without asking.")
@click.option(
    "--other-ledger",
    "other",
    is_flag=True,
    help="Allow a backup that does not contain the current ledger.",
)
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
@click.option("--db", metavar="PATH", help="The database to replace.")
def restore_command(file: Path, yes: bool, other: bool, as_json: bool, db: str | None) -> int:
    """Replace the ledger by a backup.

    The backup is verified in full before anything is replaced.

    Stop every agent and server first: the command refuses while one has the ledger open. It lists what the backup lacks and
    keeps the replaced file beside the new one.
    """
    app, out = open_here(db=db), output_for(json=as_json)
    if app.is_remote:
        raise InvalidInput(
            "a database on a server is not replaced by a file",
            hint=f"Use `counterpoint storage move {file} postgresql://…` with an empty database.",
        )
    if not app.settings.db:
        open_folder(app.folder)
    app.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _copied(app, file) as copy:
        with out.counting("Verifying the backup"):
            projects, present = _verified(app, copy), _present(app)
        lost = _lost(projects, present)
        for loss in lost:
            out.aside(f"{loss.project}: {loss.words}.")
        if not other:
            _refuse_other(projects, lost)
        if app.exists and not yes:
            _ask(app, projects, present)
        time = _time(app)
        aside = replace_database(app.database, copy, f"replaced-{time}")
    # A ledger that was not here before is signed by whoever goes on with it: the signer would miss it after the way back.
    ledgers = {copied.ledger for copied in present} or {copied.ledger for copied in projects}
    refused = _anchor(app, [copied for copied in projects if copied.ledger in ledgers], time)
    if out.json:
        shapes = [
            {"project": copied.project, "size": copied.size, "known": copied.known}
            for copied in projects
        ]
        out.answer(
            {
                "restored": str(app.database),
                "replaced": str(aside or ""),
                "projects": shapes,
                "lost": [{"project": loss.project, "what": loss.words} for loss in lost],
                "not_signed": refused,
            }
        )
        return 0
    _tell(out, projects, refused)
    if aside is not None:
        out.line(f"The replaced database is {aside}.")
        if any(ledger.size is not None for ledger in present):
            flags = [
                "--yes",
                *(
                    ()
                    if all(copied.ledger in ledgers for copied in projects)
                    else ("--other-ledger",)
                ),
                *(("--db", quote(db)) if db else ()),
            ]
            way_back = " ".join(("counterpoint restore", *flags, quote(str(aside))))
            out.line(f"The way back to it: `{way_back}`")
    return 0


def _tell(out: Output, projects: Sequence[VerifiedProject], refused: Sequence[str]) -> None:
    for verified in projects:
        out.line(f"Restored {verified.project}: {counted(verified.size, 'entry')}, verified.")
        if not verified.same_key:
            out.aside(f"The signer has not the key that {verified.project} began with.")
    for why in refused:
        out.aside(f"It is not signed: {why}")


def _present(app: App) -> list[PresentLedger]:
    """Return the ledgers that are to be replaced; where none can be read those that are known to have been here."""
    if app.exists:
        app_there = _beside(app, app.database, "")
        try:
            with suppress(CounterpointError):
                ledgers: list[PresentLedger] = []
                for project in app_there.store.projects():
                    with app_there.store.reading(project.project) as view:
                        size = view.head().size
                    ledgers.append(
                        PresentLedger(project=project.project, ledger=project.ledger, size=size)
                    )
                return ledgers
        finally:
            app_there.close()
    missing = app.past.missing() if app.past else ()
    return [PresentLedger(project=ledger.project, ledger=ledger.ledger) for ledger in missing]


def _strange(
    present: Sequence[PresentLedger], projects: Sequence[VerifiedProject]
) -> list[PresentLedger]:
    """Return the ledgers here that a backup has not."""
    ledgers = {verified.ledger for verified in projects}
    return [ledger for ledger in present if ledger.ledger not in ledgers]


def _lost(projects: Sequence[VerifiedProject], present: Sequence[PresentLedger]) -> list[Lost]:
    """Return what a backup has not of what is here, or was signed here."""
    losses: list[Lost] = []
    for ledger in _strange(present, projects):
        many = "" if ledger.size is None else f", {counted(ledger.size, 'entry')}"
        words = f"its ledger ({ledger.ledger}{many}) is not in the backup at all"
        losses.append(Lost(project=ledger.project, words=words, is_other=True))
    sizes = {ledger.ledger: ledger.size for ledger in present}
    for ledger in projects:
        size = sizes.get(ledger.ledger)
        lost = max(ledger.known, size or 0) - ledger.size
        if lost > 0:
            more = " or more" if size is None else ""
            last = f"{counted(lost, 'entry')}{more} are" if lost > 1 or more else "entry is"
            words = f"the last {last} not in the backup"
            losses.append(Lost(project=ledger.project, words=words))
    return losses


def _refuse_other(projects: Sequence[VerifiedProject], lost: Sequence[Lost]) -> None:
    """Raise Conflict if a ledger that is here would be gone altogether."""
    if gone := [loss.project for loss in lost if loss.is_other]:
        theirs = " and ".join(verified.project for verified in projects)
        raise Conflict(
            f"this backup is of another ledger, that of {theirs}: the ledger of {' and '.join(gone)}, which"
            " belongs here, would be gone",
            hint="Take a backup of this project. If you mean it, repeat it with `--other-ledger`.",
        )


@contextmanager
def _copied(app: App, file: Path) -> Generator[Path]:
    """Return a copy on the same disk, in a folder that passes away."""
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=app.folder) as folder:
        copy = Path(folder) / DATABASE
        with file_arguments.open_file(file) as source, copy.open("xb") as sink:
            shutil.copyfileobj(source, sink, _CHUNK)
        copy.chmod(0o600)
        yield copy


def _verified(app: App, copy: Path) -> list[VerifiedProject]:
    """Return the projects of a copy; StoreCorrupt, StoreNewer, StoreOlder, LedgerBroken if it is not sound."""
    copy_app = _beside(app, copy, "")
    try:
        # What differs from the ledger is told with it; here only what nobody can read.
        wrong = [fault for fault in _opened(copy_app).faults() if isinstance(fault, StoreCorrupt)]
        if wrong:
            raise StoreCorrupt(
                "the backup is damaged: " + "; ".join(fault.message for fault in wrong[:5]),
                hint=_OTHER,
            )
        projects = copy_app.store.projects()
    finally:
        copy_app.close()
    if not projects:
        raise StoreCorrupt("the backup holds no ledger", hint=_OTHER)
    return [_verified_project(app, copy, project) for project in projects]


def _opened(copy_app: App) -> Store:
    """Return the store of a copy; its faults are raised as those of the backup."""
    try:
        return copy_app.store
    except (StoreCorrupt, StoreNewer, StoreOlder) as fault:
        message = fault.message.replace(str(copy_app.database), "the backup")
        hint = _OTHER if isinstance(fault, StoreCorrupt) else fault.hint
        raise type(fault)(message, hint=hint) from fault


def _verified_project(app: App, copy: Path, project: Project) -> VerifiedProject:
    name = project.project
    copy_app = _beside(app, copy, name)
    try:
        anchors = FileAnchors(folder=app.folder / _CHECKPOINTS)
        ports = replace(copy_app.ports, anchors=anchors)
        core = Core(ports, Caller(actor=_RESTORER, root=app.places.tree))
        verbs, last = core.audit, core.signing.last()
        known_size, size = last.size if last else 0, verbs.verify(extent="entries", alone=True).size
        audit = verbs.verify((last.note,) if last and known_size <= size else (), alone=True)
        key = copy_app.signer.known_key(project.ledger)
        same_key = key is not None and key.hex() == project.public_key
        if key is None and not project.public_key and app.past is not None:
            # So young that it was never signed: this account remembers it, and no key could be another.
            same_key = project.ledger in {ledger.ledger for ledger in app.past.missing()}
        if not audit.sound:
            faults = "; ".join(fault.message for fault in audit.faults[:5])
            raise LedgerBroken(f"the backup does not verify: {faults}", hint=_OTHER)
    finally:
        copy_app.close()
    return VerifiedProject(
        project=name, ledger=project.ledger, size=size, known=known_size, same_key=same_key
    )


def _beside(app: App, copy: Path, project: str) -> App:
    """Return an app of a copy: its checkpoints and keys are those of the copy's own folder."""
    return _looking(app, Settings(db=str(copy), project=project))


def _looking(app: App, settings: Settings) -> App:
    """Return an app of other settings in the same place, whose ledger may be that of any repository and is left as it is."""
    return App(
        settings=settings,
        places=app.places,
        environ=app.environ,
        clock=app.clock,
        only_looks=True,
        is_from_anywhere=True,
    )


def _ask(app: App, projects: Sequence[VerifiedProject], present: Sequence[PresentLedger]) -> None:
    """Ask whether to go on, on a terminal; InvalidInput elsewhere."""
    if not sys.stdin.isatty():
        raise InvalidInput(
            "there is a ledger already, which would be replaced", hint="Repeat it with `--yes`."
        )
    names = " and ".join(ledger.project for ledger in present)
    whose = " and ".join(
        f"{verified.project} ({counted(verified.size, 'entry')})" for verified in projects
    )
    old = f"the ledger of {names}" if names else "what is"
    if not click.confirm(
        f"The backup is sound. Replace {old} in {app.folder} by that of {whose}?", err=True
    ):
        output_for().aside("Nothing was replaced.")
        raise click.exceptions.Exit(1)


def _anchor(app: App, projects: list[VerifiedProject], time: str) -> list[str]:
    """Put checkpoints that vouch for more than there is now aside, and have the ledgers signed anew.

    Answers what keeps the signer from that: it does not go back, unless a person says so.
    """
    refused: list[str] = []
    for verified in projects:
        note = app.folder / _CHECKPOINTS / f"{verified.project}.note"
        if verified.known > verified.size and note.exists():
            note.rename(note.with_name(f"{note.name}.replaced-{time}"))
        project_app = _looking(app, replace(app.settings, project=verified.project))
        try:
            project_app.person().signing.sign()
        except (ForkRefused, Unavailable) as fault:
            refused.append(f"{verified.project}: {fault.message}. {fault.hint}")
        finally:
            project_app.close()
    return refused
