"""A ledger that is given to an account of its own by one command, and taken back by another: real accounts of this machine."""

from __future__ import annotations

import json
import os
import pwd
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import counterpoint
from builders import git
from counterpoint.cli.service.accounts import Account
from counterpoint.cli.service.handover import Handover, Service
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.places import SERVICES, service_file

PATIENCE = 60
PERSON, SERVER = f"cptp{os.getpid()}", f"cpts{os.getpid()}"
PLAN = "# Orchard\n## Planting\n- [ ] Plant the walnut\n"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make accounts"),
    pytest.mark.skipif(not shutil.which("useradd"), reason="no `useradd` makes accounts here"),
    pytest.mark.skipif(
        Path("/run/systemd/system").exists(), reason="no units are added to a real systemd"
    ),
]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A person with a project, and a program that root has installed for all accounts."""

    program: Path
    tree: Path

    @property
    def database(self) -> Path:
        """Where the person's ledger is."""
        return self.tree / ".counterpoint" / "ledger.db"

    @property
    def served(self) -> Path:
        """Where it is while the other account has it."""
        return Path("/var/lib", SERVER, "shop", "ledger.db")

    def command(self, account: str, *words: str) -> tuple[str, ...]:
        """Answer the command line of an account, as after a login."""
        home = pwd.getpwnam(account).pw_dir
        environ = (f"HOME={home}", f"USER={account}", "PATH=/usr/bin:/bin", "LANG=C.UTF-8")
        idle = "COUNTERPOINT_IDLE_MINUTES=0"
        login = () if account == "root" else ("runuser", "-u", account, "--")
        return (*login, "env", "-i", *environ, idle, str(self.program), *words)

    def run(self, account: str, *words: str, given: str | None = None) -> Ran:
        """Run a command in the tree."""
        ran = subprocess.run(
            self.command(account, *words),
            cwd=self.tree,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    """Give a program that every account can start and only root can change: the package, copied."""
    folder = Path(tempfile.mkdtemp(prefix="counterpoint-program-"))
    folder.chmod(0o755)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = shutil.which(version, path="/usr/local/bin:/usr/bin")
    if interpreter is None:
        pytest.skip(f"no {version} here that every account can start")
    making = (interpreter, "-m", "venv", "--without-pip", str(folder / "own"))
    subprocess.run(making, check=True, timeout=PATIENCE)
    own = folder / "own" / "lib" / version / "site-packages"
    shutil.copytree(Path(counterpoint.__file__).parent, own / "counterpoint")
    libraries = next(path for path in sys.path if path.endswith("site-packages"))
    (own / "libraries.pth").write_text(f"{libraries}\n")
    file = folder / "own" / "bin" / "counterpoint"
    file.write_text(f"#!{file.parent}/python -P\nfrom counterpoint.__main__ import main\nmain()\n")
    file.chmod(0o755)
    tried = ("runuser", "-u", "nobody", "--", str(file), "version")
    ran = subprocess.run(
        tried, cwd="/", capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    if ran.returncode:
        shutil.rmtree(folder)
        pytest.skip(f"no account but root can start this program: {ran.stderr}")
    yield file
    shutil.rmtree(folder)


@pytest.fixture
def machine(program: Path) -> Iterator[Machine]:
    """Give a person, of whom nobody else may look into the home, with a project and its ledger."""
    subprocess.run(
        ("useradd", "--create-home", "--user-group", PERSON), check=True, timeout=PATIENCE
    )
    home = Path(pwd.getpwnam(PERSON).pw_dir)
    home.chmod(0o700)
    tree = home / "shop"
    tree.mkdir()
    git(tree, "init", "-q")
    for path in (tree, *tree.rglob("*")):
        shutil.chown(path, PERSON, PERSON)
    machine = Machine(program, tree)
    assert machine.run(PERSON, "init", "--yes").code == 0
    assert machine.run(PERSON, "plan", "-", given=PLAN).code == 0
    yield machine
    # Whatever a test left, nothing of it stays on this machine.
    for account in (PERSON, SERVER):
        subprocess.run(("userdel", account), check=False, capture_output=True, timeout=PATIENCE)
    for path in (home, Path("/var/lib", SERVER), Path("/run", f"{SERVER}-shop")):
        shutil.rmtree(path, ignore_errors=True)
    Path(service_file(str(machine.database))).unlink(missing_ok=True)
    with suppress(OSError):
        Path(SERVICES).rmdir()
        Path(SERVICES).parent.rmdir()


def install(machine: Machine, *words: str) -> Any:
    """Give the ledger away; answer what the command says."""
    ran = machine.run("root", "service", "install", "--account", SERVER, "--json", *words)
    if "others than root can change" in ran.err:
        pytest.skip(ran.err)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def is_whole(machine: Machine) -> bool:
    """Tell whether the person has the ledger and its key as before, and nothing of the other account is left."""
    verified = machine.run(PERSON, "audit", "verify")
    assert verified.out.startswith("Sound"), verified.err
    note = machine.run(PERSON, "note", "It goes on", "--kind", "decision")
    assert note.code == 0, note.err
    left = [
        Path("/var/lib", SERVER),
        Path("/run", f"{SERVER}-shop"),
        Path(service_file(str(machine.database))),
    ]
    with pytest.raises(KeyError):
        pwd.getpwnam(SERVER)
    return not any(path.exists() for path in left)


def test_an_account_of_its_own_serves_and_gives_all_back(machine: Machine, wire: Any) -> None:
    """One command gives it away, agents go on with their settings as they were, and one takes it back."""
    refused = machine.run(PERSON, "service", "install", "--account", SERVER)
    assert (refused.code, refused.out) == (1, "")
    assert (
        f"sudo {machine.program.parent}/python -P -m counterpoint service install --account {SERVER}"
        in refused.err
    )
    tried = machine.run(PERSON, "service", "install", "--account", SERVER, "--dry-run")
    assert tried.out.startswith(f"1. Make the account {SERVER}")
    assert "Nothing was done." in tried.out
    started = install(machine)
    assert started["done"]

    # Neither ledger nor key is within reach of what runs as the person.
    signer = Path("/var/lib", SERVER, ".local/state/counterpoint/signer")
    assert [path.stat().st_uid for path in (machine.served, signer)] == [
        pwd.getpwnam(SERVER).pw_uid
    ] * 2
    for path in (machine.served, signer):
        looked = subprocess.run(
            ("runuser", "-u", PERSON, "--", "ls", str(path)),
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
        assert b"Permission denied" in looked.stderr
    assert not machine.database.exists()
    assert not list(
        (Path(pwd.getpwnam(PERSON).pw_dir) / ".local/state/counterpoint/signer").glob("*/ed25519")
    )

    with serving(machine, started["start"]):
        agent = wire.Client(machine.tree, machine.command(PERSON, "mcp"), only=dict(os.environ))
        agent.greet("claude-code")
        claim = agent.call("next", claim=True)["claim"]
        agent.call("finish", id=claim["item"], token=claim["token"], outcome="done", summary="!")
        agent.close()
        # Who did it is what the kernel said, and a person acts from a folder that the account cannot look into.
        log = machine.run(SERVER, "log", "--json", "--db", str(machine.served))
        (done,) = (
            entry for entry in json.loads(log.out)["entries"] if entry["action"] == "task.finished"
        )
        assert done["actor"]["principal"]["strength"] == "connection"
        status = machine.run(PERSON, "status")
        assert status.code == 3
        assert f"sudo -u {SERVER} -H counterpoint COMMAND --db {machine.served}" in status.err
        doctor = machine.run(PERSON, "doctor", "--json")
        (account,) = (
            one["found"] for one in json.loads(doctor.out)["checks"] if one["name"] == "account"
        )
        assert f"ledger and signer are of the account {SERVER}" in account
        again = install(machine, "--allow-user", "nobody")
        assert again["users"] == [PERSON, "nobody"]
        back = machine.run("root", "service", "remove", "--json")
        assert back.code == 0, back.err
    assert is_whole(machine)
    assert "finished" in machine.run(PERSON, "log").out


def serving(machine: Machine, start: str) -> Any:
    """Start the server as the command says, without `sudo`, which this machine need not have."""
    folder, _, command = start.partition(" && ")
    assert folder == f"sudo install -d -o {SERVER} -m 0755 /run/{SERVER}-shop"
    words = command.removeprefix(f"sudo -u {SERVER} -H ").split()
    assert words[:4] == [f"{machine.program.parent}/python", "-P", "-m", "counterpoint"]
    return Serving(machine, words[4:])


class Serving:
    """A server while it runs; it has ended by itself when it is left."""

    def __init__(self, machine: Machine, words: list[str]) -> None:
        """Say how it is started."""
        self._machine, self._words = machine, words

    def __enter__(self) -> None:
        """Start it, and wait until it listens."""
        ready, listens = os.pipe()
        words = (*self._words, "--ready-fd", str(listens))
        self._process = subprocess.Popen(
            self._machine.command(SERVER, *words), cwd=self._machine.tree, pass_fds=[listens]
        )
        os.close(listens)
        assert select.select([ready], [], [], PATIENCE)[0]
        assert os.read(ready, 1) == b"+"
        os.close(ready)

    def __exit__(self, *fault: object) -> None:
        """See that it was ended."""
        if fault[0] is not None:
            self._process.terminate()
        assert self._process.wait(PATIENCE) == 0


def test_what_fails_on_the_way_is_undone(machine: Machine) -> None:
    """A ledger that does not verify stays where it is, with its key; so does one that another process has open."""
    intact = machine.database.read_bytes()
    edited = intact.replace(b"Plant the walnut", b"Plant the hazel!")
    assert edited != intact
    machine.database.write_bytes(edited)
    ran = machine.run("root", "service", "install", "--account", SERVER)
    if "others than root can change" in ran.err:
        pytest.skip(ran.err)
    assert ran.code == 3
    assert "could not verify the copy" in ran.err
    assert "Nothing was changed: what was done was undone." in ran.err
    machine.database.write_bytes(intact)
    assert is_whole(machine)


def another_project(machine: Machine) -> Machine:
    """Give a second project of the person."""
    tree = machine.tree.with_name("mill")
    tree.mkdir()
    git(tree, "init", "-q")
    for path in (tree, *tree.rglob("*")):
        shutil.chown(path, PERSON, PERSON)
    other = Machine(machine.program, tree)
    assert other.run(PERSON, "init", "--yes").code == 0
    return other


@pytest.mark.parametrize(
    "is_first", [True, pytest.param(False, marks=pytest.mark.long)], ids=["as made", "backwards"]
)
def test_the_last_service_of_an_account_takes_it_along(machine: Machine, is_first: bool) -> None:
    """In whatever order they go; a record that cannot be read takes no account from a ledger."""
    other = another_project(machine)
    install(machine)
    install(other)
    first, last = (machine, other) if is_first else (other, machine)
    record = Path(service_file(str(last.database)))
    content = record.read_text()
    record.write_text("{")
    back = first.run("root", "service", "remove")
    assert back.code == 0, back.err
    assert f"The account {SERVER} stays: it has /var/lib/{SERVER}/" in back.err
    assert pwd.getpwnam(SERVER)
    for words in ("remove", "install"):
        refused = last.run("root", "service", words)
        assert (refused.code, f"{record} says" in refused.err) == (3, True), refused.err
    record.write_text(content)
    back = last.run("root", "service", "remove")
    assert back.code == 0, back.err
    assert is_whole(machine)
    assert is_whole(other)
    Path(service_file(str(other.database))).unlink(missing_ok=True)


def test_no_folder_is_given_away_or_removed_that_was_there_before(machine: Machine) -> None:
    """Neither the home of no account, nor where another service is met; a link in the account's folder is not followed."""
    home, met = Path("/var/lib", SERVER), Path("/run", f"{SERVER}-shop")
    for folder in (home, met):
        folder.mkdir()
        (folder / "precious").touch()
        ran = machine.run("root", "service", "install", "--account", SERVER)
        assert ran.code != 0
        assert f"{folder} is there" in ran.err
        assert (folder / "precious").exists()
        shutil.rmtree(folder)
    owner = Account("root", 0, 0, "/root")
    service = replace(_service(machine), owner=PERSON)
    subprocess.run(("useradd", "--system", SERVER), check=True, timeout=PATIENCE)
    home.mkdir(mode=0o700)
    shutil.chown(home, SERVER, SERVER)
    target = met.with_name(f"{SERVER}-target")
    target.mkdir()
    try:
        service.folder.symlink_to(target)
        with pytest.raises(Unavailable, match="is no folder of"):
            Handover(service=service, owner=owner).make_folders()
        assert target.stat().st_uid == 0
    finally:
        target.rmdir()


def _service(machine: Machine) -> Service:
    return Service(
        **dict.fromkeys(("project", "ledger", "owner", "state"), "x"),
        name="shop",
        account=SERVER,
        tree=str(machine.tree),
        database=str(machine.database),
        users=(),
        program=(),
    )


@pytest.mark.long
@pytest.mark.parametrize(("count", "goes_on"), [(4, False), (6, True), (8, False)])
def test_what_was_killed_on_the_way_is_ended_by_the_next_command(
    machine: Machine, count: int, goes_on: bool
) -> None:
    """Whatever step was the last, `remove` puts all back, and `install` ends it."""
    script = (
        "import sys; from itertools import islice; from counterpoint.cli.service import command as c\n"
        f"handover = c._prepare({str(machine.database)!r}, {SERVER!r}, None, (), None)\n"
        f"[step.do() for step in islice(handover.steps(), {count})]"
    )
    python = str(machine.program.with_name("python"))
    ran = subprocess.run(
        (python, "-P", "-c", script), cwd=machine.tree, check=False, timeout=PATIENCE
    )
    assert ran.returncode == 0
    if goes_on:
        assert install(machine)["done"]
        assert machine.served.exists()
    back = machine.run("root", "service", "remove")
    assert back.code == 0, back.err
    assert is_whole(machine)


@pytest.mark.long
def test_links_that_lie_in_the_tree_give_nothing_of_others_away(
    machine: Machine, tmp_path: Path
) -> None:
    """What the person cannot read is not copied by root for him."""
    secret = tmp_path / "secret"
    secret.write_text("of root")
    (machine.database.parent / "templates").mkdir()
    (machine.database.parent / "templates" / "mine.yaml").symlink_to(secret)
    shutil.chown(machine.database.parent / "templates", PERSON, PERSON)
    ran = machine.run("root", "service", "install", "--account", SERVER)
    if "others than root can change" in ran.err:
        pytest.skip(ran.err)
    assert ran.code == 3
    assert "Nothing was changed" in ran.err
    assert is_whole(machine)
