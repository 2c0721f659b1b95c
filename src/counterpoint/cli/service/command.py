"""The commands that give a ledger and its signer to an account of their own, and back."""

from __future__ import annotations

import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import click

import counterpoint
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.output import Output, output_for
from counterpoint.cli.service import unit
from counterpoint.cli.service.accounts import Account, find_account, run_as
from counterpoint.cli.service.handover import (
    HANDED,
    HOMES,
    Handover,
    Service,
    Step,
    check_ledger_name,
    list_other_ledgers,
    list_services,
    load_service,
    look_into,
    write_record,
)
from counterpoint.evidence.places import find_places, slug
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    Forbidden,
    InvalidInput,
    NotFound,
    Unavailable,
)
from counterpoint.kernel.places import DATABASE, find_service, service_file, state_folder
from counterpoint.kernel.starting.programs import own_command

_NAME: Final = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
_WRITE_FOR_OTHERS: Final = 0o022


@click.group("service", cls=Group)
def service_command() -> None:
    """Give the ledger an account of its own, or take it back."""


@service_command.command(
    "install",
    epilog=examples("sudo counterpoint service install", "counterpoint service install --dry-run"),
)
@click.option(
    "--account",
    default="counterpoint",
    show_default=True,
    metavar="NAME",
    help="The account that serves.",
)
@click.option("--name", metavar="NAME", help="The service's name.  [default: the project's]")
@click.option(
    "--allow-user",
    "users",
    multiple=True,
    metavar="NAME",
    help="Another account whose agents may connect; repeatable.  [default: the ledger's owner alone]",
)
@click.option(
    "--state",
    metavar="FOLDER",
    help="Where the owner's signer keeps its state.  [default: as its home says]",
)
@click.option("--dry-run", is_flag=True, help="Show each step, and do none.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def install_command(
    account: str,
    name: str | None,
    users: tuple[str, ...],
    state: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Give the ledger and its signer to an account of their own, which serves your agents.

    What runs as you reaches a socket then, and neither the ledger nor the key. It needs root, once. Called again it goes on where it was
    interrupted, or lets further accounts in. `counterpoint service remove` undoes it.
    """
    out, database = output_for(json=as_json), _database()
    if record := _find_record(database):
        service = load_service(record)
        if service.stage == "served":
            _serve_more(out, service, users, dry_run=dry_run)
            return
    handover = _prepare(database, account, name, users, state)
    steps = [*handover.steps(), *_starting(handover.service)]
    if dry_run:
        _show(out, handover.service, steps)
        return
    # Before the line for root is shown: whoever can change this program would be root by it.
    _check_program(handover.service)
    _require_root("install", account, name, users, state)
    if record:
        # A command that was killed left it half way.
        Handover(service=load_service(record), owner=handover.owner).put_back()
    *before, last = handover.steps()
    _do(out, before, handover.put_back)
    _do(out, [last, *_starting(handover.service)], None)
    _tell(out, handover.service)


@service_command.command("remove", epilog=examples("sudo counterpoint service remove"))
@click.option("--dry-run", is_flag=True, help="Show each step, and do none.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def remove_command(dry_run: bool, as_json: bool) -> None:
    """Take the ledger and its signer back, and remove what `counterpoint service install` made.

    The account goes too if it was made for this and serves nothing else.
    """
    out, database = output_for(json=as_json), _database()
    record = _find_record(database)
    if not record:
        raise NotFound(
            f"no service has the ledger of {Path(database).parent.parent}",
            hint="Go to the folder of a project that has one; `counterpoint service install` makes one.",
        )
    service = load_service(record)
    handover = Handover(service=service, owner=_owner(service.owner))
    before, after = _steps_back(handover)
    if dry_run:
        _show(out, service, [*before, *after])
        return
    _check_program(service)
    _require_root("remove")

    def leave() -> None:
        handover.leave_served()
        if unit.has_systemd():
            unit.start(service)

    _do(out, before, leave)
    _do(out, after, None)
    if service.makes and find_account(service.account) is not None:
        files = ", ".join(map(str, list_other_ledgers(service)))
        out.aside(f"The account {service.account} stays: it has {files or 'another service'}.")
    out.result(
        {"removed": service.name, "ledger": service.database},
        f"The ledger is {service.owner}'s again: {service.database}. Start connected agents anew.",
    )


def _database() -> str:
    return str(find_places(Path.cwd()).folder / DATABASE)


def _find_record(database: str) -> dict[str, Any]:
    """Return the record of the service that has a ledger; empty without one. Unavailable for one that cannot be read."""
    record, file = find_service(database), service_file(database)
    if not record and os.path.lexists(file):
        raise Unavailable(
            f"{file} says which service has this ledger, and cannot be read",
            hint="Have root look at it: it must be JSON, and a file that root alone can write. Put it right, then repeat the command.",
        )
    return record


def _prepare(
    database: str, account: str, name: str | None, users: Iterable[str], state: str | None
) -> Handover:
    """Return what is to be handed over, after all that can be found out beforehand; InvalidInput, Conflict, Unavailable."""
    if not sys.platform.startswith("linux"):
        raise Unavailable(
            "this command sets up accounts of Linux",
            hint="`docs/service.md` says what to do by hand on other systems.",
        )
    owner = _owner_of(database)
    if _NAME.fullmatch(account) is None or account in {owner.name, "root"}:
        raise InvalidInput(
            f"{account!r} is no account that the ledger of {owner.name} could be given to",
            hint="Give `--account` a name of its own, such as `counterpoint`.",
        )
    present = find_account(account)
    if present is not None and present.home != str(HOMES / account):
        raise Conflict(
            f"the account {account} has its home in {present.home}, not in {HOMES / account}",
            hint="Give `--account` a name that no account has: it is made.",
        )
    if missing := [user for user in users if find_account(user) is None]:
        raise InvalidInput(
            f"there is no account {missing[0]}", hint="Give `--allow-user` a name of this machine."
        )
    record = find_service(database)
    project, ledger = _look(owner, database, state)
    short = name or slug(project)
    if _NAME.fullmatch(short) is None:
        raise InvalidInput(
            f"{short!r} is no name of a service",
            hint="Give one of small letters, digits and `-`: `--name shop`.",
        )
    makers = [other for other in list_services() if other.account == account and other.makes]
    service = Service(
        name=short,
        project=project,
        ledger=ledger,
        account=account,
        owner=owner.name,
        tree=str(Path(database).parent.parent),
        database=database,
        state=state or state_folder({"HOME": owner.home}),
        users=tuple(dict.fromkeys((owner.name, *users))),
        program=tuple(own_command()),
        makes=present is None
        or bool(makers)
        or bool(record and record["stage"] == "moving" and record["makes"]),
    )
    _check_words(service)
    if not record:
        _check_places(service, is_account_there=present is not None)
    return Handover(service=service, owner=owner)


def _check_places(service: Service, *, is_account_there: bool) -> None:
    """Refuse to make what is there already, since undoing it removes it; Conflict."""
    account = service.account
    if not is_account_there and os.path.lexists(service.home):
        raise Conflict(
            f"{service.home} is there, and there is no account {account} that it could be the home of",
            hint="Give `--account` a name that has neither account nor folder: both are made.",
        )
    # `a-b` and `c` make the same names as `a` and `b-c`.
    for path in (service.folder, service.socket.parent, unit.unit_file(service)):
        if os.path.lexists(path):
            raise Conflict(
                f"{path} is there already, so there is another service {service.name} of {account}",
                hint="Give this one another name: `--name NAME`.",
            )


def _check_words(service: Service) -> None:
    """Refuse names and paths with control characters: they would stand in files of the system and in lines to type. InvalidInput."""
    for word in (*service.command, service.state):
        if not word.isprintable():
            raise InvalidInput(
                f"{word!r} has characters that cannot be printed, and would stand in what starts the service",
                hint="Give the project, or the folder, a name without them.",
            )


def _owner_of(database: str) -> Account:
    """Return the account that has a ledger; NotFound without one, Conflict for root's."""
    folder = Path(database).parent
    try:
        status = folder.lstat()
        names = [name for name in (DATABASE, HANDED) if (folder / name).exists()]
    except OSError:
        names, status = [], None
    if status is None or not names or not stat.S_ISDIR(status.st_mode):
        raise NotFound(
            f"there is no ledger in {folder}",
            hint="Run it in a project's folder. A ledger in PostgreSQL is the server's account's already (docs/postgresql.md).",
        )
    if not status.st_uid:
        raise Conflict(
            f"{folder} belongs to root: agents that run as root can read and write everything",
            hint="Have agents and ledger be of an account of a person, then repeat the command.",
        )
    return _owner(status.st_uid)


def _owner(name: str | int) -> Account:
    if account := find_account(name):
        return account
    raise Unavailable(f"there is no account {name} on this machine")


def _look(owner: Account, database: str, state: str | None) -> tuple[str, str]:
    """Return the project and the ledger of a database; Conflict for several, Unavailable without its signer's key."""
    folder = Path(database).parent
    file = next(folder / name for name in (DATABASE, HANDED) if (folder / name).exists())
    # As its owner, whoever calls: neither root nor another account reads what may be a link.
    is_own = os.geteuid() == owner.uid
    value = look_into(str(file)) if is_own else run_as(owner, lambda: look_into(str(file)))
    projects = cast("list[dict[str, Any]]", value)
    if len(projects) != 1:
        names = ", ".join(project["project"] for project in projects) or "none"
        raise Conflict(
            f"a service serves one project, and this ledger has {names}",
            hint="Move the others into databases of their own: `counterpoint storage move FROM TO --project NAME`.",
        )
    (project,) = projects
    check_ledger_name(project["ledger"])
    signer = (
        Path(state or state_folder({"HOME": owner.home})) / "signer" / project["ledger"] / "ed25519"
    )
    has_key = signer.exists() if is_own else run_as(owner, signer.exists)
    if project["key"] and not has_key:
        raise Unavailable(
            f"the key that signs this ledger is not in {signer.parent}",
            hint="Name the folder that COUNTERPOINT's state of its owner is in: `--state FOLDER`. Where a program or a"
            " keyring signs, set the service up by hand (docs/service.md).",
        )
    return project["project"], project["ledger"]


def _require_root(
    word: str,
    account: str = "counterpoint",
    name: str | None = None,
    users: Iterable[str] = (),
    state: str | None = None,
) -> None:
    """Refuse whoever is not root, with the whole line to type; Forbidden."""
    if not os.geteuid():
        return
    words = [*own_command(), "service", word]
    if account != "counterpoint":
        words += ["--account", account]
    words += [part for user in users for part in ("--allow-user", user)]
    for option, value in (("--name", name), ("--state", state)):
        words += [option, value] if value else []
    raise Forbidden(
        "only root can make accounts and give files to them; nothing was changed",
        hint=f"Run `sudo {shlex.join(words)}`; with `--dry-run` it shows each step first.",
    )


def _check_program(service: Service) -> None:
    """Refuse a program that others than root can change, since whoever can would be the service; Forbidden."""
    interpreter = Path(service.program[0])
    folders = {Path(counterpoint.__file__).parent, *(Path(entry) for entry in sys.path if entry)}
    files = {interpreter, interpreter.resolve(), *(folder for folder in folders if folder.exists())}
    above = {folder for file in files for folder in file.parents}
    inside = {path for folder in folders if folder.is_dir() for path in folder.rglob("*")}
    for path in sorted(path for path in files | above | inside if path.exists()):
        status = path.stat()
        is_open = status.st_mode & _WRITE_FOR_OTHERS and not status.st_mode & stat.S_ISVTX
        if status.st_uid or is_open:
            raise Forbidden(
                f"others than root can change {path}, a part of the program that would serve the ledger",
                hint="Install it for the whole machine, and repeat it with that: `sudo pipx install --global counterpoint`.",
            )


def _starting(service: Service) -> list[Step]:
    if not unit.has_systemd():
        return []
    text = f"write {unit.unit_file(service)}, start it, and start it with the machine"
    return [Step(text, lambda: unit.start(service))]


def _ending(service: Service) -> Iterator[Step]:
    if unit.has_systemd():
        text = f"stop {unit.unit_file(service).name}, and remove it"
        yield Step(text, lambda: unit.stop(service))


def _steps_back(handover: Handover) -> tuple[list[Step], list[Step]]:
    """Return what takes a service back: first what is undone where it fails, then what is repeated."""
    service = handover.service
    *before, last = handover.steps_back()
    if service.stage == "moving":
        text = "put back what an interrupted `counterpoint service install` has moved"
        return [], [Step(text, handover.put_back)]
    if service.stage == "returned":
        return [], [last]
    # A unit that was removed is made again by `counterpoint service install`.
    return before, [*_ending(service), last]


def _serve_more(out: Output, service: Service, users: Iterable[str], *, dry_run: bool) -> None:
    """Go on with a service that is there: let further accounts in, and start it if it does not run."""
    if missing := [user for user in users if find_account(user) is None]:
        raise InvalidInput(
            f"there is no account {missing[0]}", hint="Give `--allow-user` a name of this machine."
        )
    more = replace(service, users=tuple(dict.fromkeys((*service.users, *users))))
    handover = Handover(service=more, owner=_owner(more.owner))
    steps = [
        Step(f"let in {', '.join(more.users)}", lambda: write_record(more)),
        Step(f"see that {more.socket.parent} is there", handover.make_folders),
        Step("remove what its owner still has of it", handover.finish),
        *_starting(more),
    ]
    if dry_run:
        _show(out, more, steps)
        return
    _check_program(more)
    _require_root("install", users=users)
    _do(out, steps, None)
    _tell(out, more)


def _do(out: Output, steps: Iterable[Step], undo: Callable[[], None] | None) -> None:
    """Do steps; undo them all if one fails or is interrupted. Without an undo say what is done, and how to go on."""
    current, is_done = "", False
    try:
        for step in steps:
            current = step.text
            step.do()
            out.aside(f"Done: {step.text}.")
        is_done = True
    except (CounterpointError, OSError) as fault:
        message = fault.message if isinstance(fault, CounterpointError) else str(fault)
        hint = fault.hint if isinstance(fault, CounterpointError) else ""
        outcome = (
            "Nothing was changed: what was done was undone."
            if undo
            else "What is said above is done. Repeat the command to go on, or undo it: `sudo counterpoint service remove`."
        )
        raise Unavailable(
            f"could not {current}: {message}", hint=f"{hint} {outcome}".strip()
        ) from fault
    finally:
        if not is_done and undo is not None:
            undo()


def _show(out: Output, service: Service, steps: Iterable[Step]) -> None:
    texts = [step.text for step in steps]
    start = [] if unit.has_systemd() else [unit.start_line(service)]
    lines = [f"{number}. {text[0].upper()}{text[1:]}." for number, text in enumerate(texts, 1)]
    if service.stage != "served" and start:
        lines.append(f"Then, since systemd does not run here, start it: `{start[0]}`")
    out.result({"steps": [*texts], "start": start, "done": False}, *lines, "Nothing was done.")


def _tell(out: Output, service: Service) -> None:
    """Say what is there now, and what to type from now on."""
    acts = f"{service.person} COMMAND --db {service.file}"
    lines = [
        f"The ledger is {service.account}'s: {service.file}. Agents of {', '.join(service.users)} reach it at {service.socket}.",
        "Their settings stay as they are: `counterpoint mcp` finds it. Start connected agents anew.",
        f"Act as a person: `{acts}`",
        "Undo it: `sudo counterpoint service remove`",
    ]
    start = "" if unit.has_systemd() else unit.start_line(service)
    if start:
        lines.insert(
            1,
            f"systemd does not run here. Start it, also after each start of the machine: `{start}`",
        )
    answer = {**service.to_json(), "start": start, "done": True}
    out.result(answer, *lines)
