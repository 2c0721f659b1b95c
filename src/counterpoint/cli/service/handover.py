"""Gives a ledger and its signer to an account of their own, and back.

1. Until the copy has verified where it arrives, whatever fails puts everything back as it was. `handed-over.db` is the ledger
   on its way: nobody opens it under that name, so nothing is written that would stay behind.
2. The record (`kernel/places.py`, `SERVICES`) is written first and taken away last. While it stands, clients go to the socket and
   begin nothing in the tree. Its stage says how far a command came that was killed; the next one goes on from there.
3. Each side is touched by its own account only (accounts.py), and both are verified by `audit verify` before the other is emptied.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from counterpoint.app import open_app
from counterpoint.cli.server.serving import end_server
from counterpoint.cli.service.accounts import Account, find_account, hand_files, run_as
from counterpoint.evidence.trust.known import KnownLedgers
from counterpoint.evidence.trust.personal import adopt_notes, folder_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.durable import sync
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    LedgerBroken,
    ProgramMissing,
    Unavailable,
)
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.places import LEDGERS, SERVICES, config_folder, service_file, state_folder
from counterpoint.kernel.starting.programs import find_program
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.storage.sqlite.replacement import withdraw_database

Stage = Literal["moving", "served", "returned"]

HOMES: Final = Path("/var/lib")
SOCKETS: Final = Path("/run")
HANDED: Final = "handed-over.db"
_BESIDE: Final = ("checkpoints", "cursors", "templates", "phases", "batches")
"""What is copied along with a ledger; of it only what nobody else wrote goes from the tree."""
_GOES: Final = ("checkpoints",)
_PATIENCE: Final = 3_600.0
_TAIL: Final = 2_000
_LEDGER: Final = re.compile(r"led_[0-9a-z]+")


@frozen
class Service:
    """A ledger in the keeping of an account of its own.

    tree: the folder that had it, whose `database` agents still look for. state: where its owner's signer keeps its state. makes: whether the
    account was made for services of ours.
    """

    name: str
    project: str
    ledger: str
    account: str
    owner: str
    tree: str
    database: str
    state: str
    users: tuple[str, ...]
    program: tuple[str, ...]
    makes: bool = False
    stage: Stage = "moving"

    @property
    def home(self) -> Path:
        """The home of the account."""
        return HOMES / self.account

    @property
    def folder(self) -> Path:
        """Where the ledger lies."""
        return self.home / self.name

    @property
    def file(self) -> Path:
        """The ledger."""
        return self.folder / "ledger.db"

    @property
    def socket(self) -> Path:
        """Where agents come in."""
        return SOCKETS / f"{self.account}-{self.name}" / "agents.sock"

    @property
    def command(self) -> list[str]:
        """The command that serves it."""
        users = [word for user in self.users for word in ("--allow-user", user)]
        words = ("serve", "--db", str(self.file), "--project", self.project)
        return [*self.program, *words, "--socket", str(self.socket), *users]

    @property
    def person(self) -> str:
        """The beginning of the commands by which a person acts."""
        return f"sudo -u {self.account} -H counterpoint"

    def to_json(self) -> dict[str, Json]:
        """Return what is written of it, with all that clients and commands ask for."""
        places = {"socket": str(self.socket), "file": str(self.file), "person": self.person}
        return {**asdict(self), **places}


def load_service(value: dict[str, Any]) -> Service:
    """Return a service from its record; Unavailable for one that this version cannot read."""
    try:
        fields: dict[str, Any] = {name: value[name] for name in Service.__dataclass_fields__}
        fields.update(users=tuple(value["users"]), program=tuple(value["program"]))
    except KeyError as missing:
        raise Unavailable(f"the record of the service has no {missing}") from None
    except TypeError:
        raise Unavailable("the record of the service is none") from None
    check_ledger_name(fields["ledger"])
    return Service(**fields)


def check_ledger_name(ledger: object) -> None:
    """Refuse a name of a ledger that is none, since folders are removed by it; it comes out of a file of another account. LedgerBroken."""
    if not (isinstance(ledger, str) and _LEDGER.fullmatch(ledger)):
        raise LedgerBroken(f"the ledger calls itself {ledger!r}, which is no name of one")


def write_record(service: Service) -> None:
    """Write down which service has a ledger, for root alone to change."""
    file = Path(service_file(service.database))
    Path(SERVICES).mkdir(parents=True, exist_ok=True)
    for folder in (Path(SERVICES), Path(SERVICES).parent):
        # Whatever root's umask takes away: every client looks for its service there.
        folder.chmod(0o755)
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(service.to_json(), indent=1), encoding="utf-8")
    draft.chmod(0o644)
    sync(draft)
    draft.replace(file)
    sync(file.parent)


class Step(NamedTuple):
    """One step: what it does, in words, and how."""

    text: str
    do: Callable[[], None]


@frozen
class Handover:
    """The two sides of a service."""

    service: Service
    owner: Account

    @property
    def account(self) -> Account:
        """The account that serves; Unavailable before it is made."""
        if account := find_account(self.service.account):
            return account
        raise Unavailable(f"there is no account {self.service.account}")

    # To the account.

    def steps(self) -> Iterator[Step]:
        """Return what gives the ledger away; until the last of them, `put_back` undoes it."""
        service = self.service
        folder, tree = service.folder, Path(service.database).parent
        if find_account(service.account) is None:
            yield Step(
                f"make the account {service.account}, home {service.home}", self._add_account
            )
        yield Step(
            f"make {folder} (0700) and {service.socket.parent} (0755) for it", self.make_folders
        )
        yield Step(
            f"write {service_file(service.database)}: clients go to the socket", self._record
        )
        yield Step(
            f"stop the server of {service.database}, and keep others from opening it",
            self._withdraw,
        )
        yield Step(
            f"copy the ledger and what lies beside it from {tree} to {folder}", self._give_ledger
        )
        yield Step(
            f"copy the signer's key and memory from {service.state}/signer", self._give_signer
        )
        yield Step(
            f"copy the keys that {self.owner.name} signs with, under their passphrases",
            self._give_keys,
        )
        yield Step("verify the copy as that account", self._verify_given)
        yield Step(
            f"remove the ledger from {tree}, and the signer's key from {service.state}", self.finish
        )

    def put_back(self) -> None:
        """Undo what was done before the copy was verified."""
        service, tree = self.service, Path(self.service.database).parent
        run_as(self.owner, lambda: _rename(tree / HANDED, Path(service.database)))
        if not run_as(self.owner, Path(service.database).exists):
            # Then that of the service is the only one.
            raise Conflict(f"the ledger is neither {tree / HANDED} nor {service.database}")
        if find_account(service.account) is not None:
            signer = Path(state_folder(self._environ)) / "signer" / service.ledger
            run_as(self.account, lambda: shutil.rmtree(signer, ignore_errors=True))
        self._remove_places()

    def finish(self) -> None:
        """Say that it is served from now on, and empty the side of its owner."""
        service = replace(self.service, stage="served")
        write_record(service)
        tree, signer = Path(service.database).parent, Path(service.state) / "signer"

        def empty() -> None:
            for name in (HANDED, *_GOES):
                _remove(tree / name)
            _remove(signer / service.ledger)

        run_as(self.owner, empty)

    def _add_account(self) -> None:
        # Its home is made below, with a mode of ours.
        words = ("--system", "--user-group", "--no-create-home", "--shell", _NOLOGIN)
        run_program("useradd", *words, "--home-dir", str(self.service.home), self.service.account)

    def make_folders(self) -> None:
        """Make the folders of the service, unless they are there and of its account; Conflict."""
        service, account = self.service, self.account
        _make_folder(service.home, 0o700, account)
        # Root makes nothing by name in a folder of the account, which could lay a link there.
        run_as(account, lambda: _make_folder(service.folder, 0o700, account))
        _make_folder(service.socket.parent, 0o755, account)

    def _record(self) -> None:
        write_record(self.service)

    def _withdraw(self) -> None:
        run_as(self.owner, lambda: _withdraw(Path(self.service.database)))

    def _give_ledger(self) -> None:
        tree = Path(self.service.database).parent
        hand_files(self.owner, tree, self.account, self.service.folder, (HANDED, *_BESIDE))

    def _give_signer(self) -> None:
        source, target = Path(self.service.state), Path(state_folder(self._environ))
        names = (f"signer/{self.service.ledger}",)
        hand_files(self.owner, source, self.account, target, names)
        database = Path(self.service.database)
        self._hand_trust((self.owner, source, database), (self.account, target, self.service.file))

    def _give_keys(self) -> None:
        source = Path(config_folder({"HOME": self.owner.home}))
        target = folder_of(self._environ)
        hand_files(self.owner, source, self.account, target.parent, ("keys",))
        run_as(self.account, lambda: adopt_notes(target))

    def _verify_given(self) -> None:
        service = self.service
        run_as(self.account, lambda: _verify(service, service.folder / HANDED))
        run_as(self.account, lambda: _rename(service.folder / HANDED, service.file))

    # Back to its owner.

    def steps_back(self) -> Iterator[Step]:
        """Return what gives the ledger back; until the last of them, `leave_served` undoes it."""
        service, tree = self.service, Path(self.service.database).parent
        yield Step(
            f"stop the server, and keep others from opening {service.file}", self._withdraw_served
        )
        yield Step(
            f"copy the ledger and what lies beside it from {service.folder} to {tree}",
            self._return_ledger,
        )
        yield Step(
            f"copy the signer's key and memory to {service.state}/signer", self._return_signer
        )
        yield Step(f"verify the copy as {self.owner.name}", self._verify_returned)
        yield Step(
            f"remove {service.folder}, {service.socket.parent} and what was written below {Path(SERVICES).parent}",
            self.finish_back,
        )

    def leave_served(self) -> None:
        """Undo what was done before the copy was verified."""
        file = self.service.file
        run_as(self.account, lambda: _rename(file.with_name(HANDED), file))
        tree = Path(self.service.database).parent
        run_as(self.owner, lambda: _remove(tree / HANDED))

    def finish_back(self) -> None:
        """Say that its owner has it from now on, and empty the side of the account."""
        write_record(replace(self.service, stage="returned"))
        database = Path(self.service.database)
        run_as(self.owner, lambda: _rename(database.with_name(HANDED), database))
        self._remove_places()

    def _withdraw_served(self) -> None:
        file = self.service.file
        run_as(self.account, lambda: _withdraw(file))

    def _return_ledger(self) -> None:
        tree, database = Path(self.service.database).parent, Path(self.service.database)
        if os.path.lexists(database):
            raise Conflict(
                f"there is another ledger in {database}, which this one would replace",
                hint="Look whose it is, and move it away: this one is brought back to its place.",
            )
        hand_files(self.account, self.service.folder, self.owner, tree, (HANDED, *_GOES))

    def _return_signer(self) -> None:
        source, target = Path(state_folder(self._environ)), Path(self.service.state)
        names = (f"signer/{self.service.ledger}",)
        hand_files(self.account, source, self.owner, target, names)
        database = Path(self.service.database)
        self._hand_trust((self.account, source, self.service.file), (self.owner, target, database))

    def _hand_trust(
        self, giver: tuple[Account, Path, Path], taker: tuple[Account, Path, Path]
    ) -> None:
        """Have one account trust the ledger in its place as the other did, by the folder of its state."""
        giving, taking = (
            KnownLedgers(folder=state / LEDGERS, place=str(place))
            for _, state, place in (giver, taker)
        )
        ledger, project = self.service.ledger, self.service.project
        digest = run_as(giver[0], lambda: giving.trusted(ledger))

        def trust() -> None:
            taking.trust(project, ledger, SystemClock().now(), str(digest))

        if digest is not None:
            run_as(taker[0], trust)

    def _verify_returned(self) -> None:
        database = Path(self.service.database)
        run_as(self.owner, lambda: _verify(self.service, database.with_name(HANDED)))

    def _remove_places(self) -> None:
        service = self.service
        if find_account(service.account) is not None:
            # What lies below is the account's, and may be a link to anywhere: it has no rights there that root has.
            signer = Path(state_folder(self._environ)) / "signer" / service.ledger
            run_as(self.account, lambda: shutil.rmtree(signer, ignore_errors=True))
        uid = account.uid if (account := find_account(service.account)) else None
        for folder in (service.folder, service.socket.parent):
            _remove_folder(folder, uid)
        file = Path(service_file(service.database))
        goes = service.makes and not _pass_on(service)
        for path in (file, file.with_suffix(".draft")):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            Path(SERVICES).rmdir()
            Path(SERVICES).parent.rmdir()
        if goes and uid is not None:
            run_program("userdel", service.account)
            _remove_folder(service.home, uid)

    @property
    def _environ(self) -> dict[str, str]:
        return {"HOME": str(self.service.home)}


_SYSTEM: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
_NOLOGIN: Final = "/usr/sbin/nologin"


def run_program(name: str, *words: str) -> None:
    """Run a program of the system; ProgramMissing, Unavailable with what it said."""
    program = find_program(name, _SYSTEM)
    if program is None:
        raise ProgramMissing(f"there is no `{name}` on this machine")
    ran = subprocess.run(  # noqa: S603 -- a program of the system, with words of ours
        [program, *words], capture_output=True, text=True, check=False, timeout=_PATIENCE
    )
    if ran.returncode:
        raise Unavailable(f"`{name}` ended with {ran.returncode}: {ran.stderr.strip()[-_TAIL:]}")


def list_services() -> list[Service]:
    """Return the services that root has written down, as far as that can be read."""
    services: list[Service] = []
    for file in sorted(Path(SERVICES).glob("*.json")):
        with suppress(CounterpointError, OSError, ValueError):
            services.append(load_service(json.loads(file.read_bytes())))
    return services


def list_other_ledgers(service: Service) -> list[Path]:
    """Return the ledgers of the account of a service but its own, also those whose record cannot be read."""
    files = (
        file for name in (service.file.name, HANDED) for file in service.home.glob(f"*/{name}")
    )
    return sorted(file for file in files if file.parent != service.folder)


def _pass_on(service: Service) -> bool:
    """Return whether the account of a service stays for others, which remove it with the last of them."""
    others = [
        other
        for other in list_services()
        if other.account == service.account and other.database != service.database
    ]
    for other in others:
        if not other.makes:
            write_record(replace(other, makes=True))
    return bool(others or list_other_ledgers(service))


def _make_folder(folder: Path, mode: int, account: Account) -> None:
    """Make a folder for an account, unless it is there and of that account; Conflict. A link is never followed."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchown(descriptor, account.uid, account.gid)
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
    if not _is_folder_of(folder, account.uid):
        raise Conflict(
            f"{folder} is there, and is no folder of {account.name}",
            hint="Look whose it is, and take it away, or give another `--name` or `--account`.",
        )


def _remove_folder(folder: Path, uid: int | None) -> None:
    """Remove a folder of an account, and nothing that was there before it: undoing comes here too. None: it is gone."""
    if uid is not None and _is_folder_of(folder, uid):
        # It follows no link, nor what is laid in the place of a folder meanwhile.
        shutil.rmtree(folder, ignore_errors=True)


def _is_folder_of(folder: Path, uid: int) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == uid


def look_into(database: str) -> Json:
    """Return the projects of a ledger in a file, to be called as the account that has it."""
    app = open_app(Path(database).parent.parent, os.environ, db=database)
    try:
        return [
            {"project": project.project, "ledger": project.ledger, "key": project.public_key}
            for project in app.store.projects()
        ]
    finally:
        app.close()


def _withdraw(database: Path) -> None:
    if database.exists():
        # Relays that find no server wait for this turn before they start one.
        with find_rendezvous(database).turn("starting"):
            end_server(database)
            withdraw_database(database, database.with_name(HANDED))


def _verify(service: Service, handed: Path) -> None:
    """Verify a ledger that was handed over; LedgerBroken."""
    words = ("audit", "verify", "--db", str(handed), "--project", service.project)
    ran = subprocess.run(  # noqa: S603 -- this program itself
        [*service.program, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
        cwd="/",
    )
    if ran.returncode:
        words_of_it = (ran.stdout + ran.stderr).strip()[-_TAIL:]
        raise LedgerBroken(f"the copy of the ledger does not verify: {words_of_it}")


def _rename(source: Path, target: Path) -> None:
    if source.exists() and not target.exists():
        withdraw_database(source, target)
        # Verifying may have left files of a meeting point under the name of the way.
        for path in source.parent.glob(f"{HANDED}-*"):
            path.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
