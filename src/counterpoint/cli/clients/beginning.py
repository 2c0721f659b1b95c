"""A new ledger in the place of one that is gone, because a person says so."""

from __future__ import annotations

from dataclasses import replace

from counterpoint.app import NOUNS, App
from counterpoint.cli.output import Output
from counterpoint.evidence.places import open_folder
from counterpoint.kernel.durable import sync
from counterpoint.kernel.errors import Conflict, InvalidInput
from counterpoint.kernel.places import FOLDER
from counterpoint.storage.sqlite.store import fresh_file


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
