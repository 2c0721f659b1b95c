"""What a sandbox hides from a command, and what it says where there is none."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.model.evidence import Command, Execution
from counterpoint.core.model.trust.checking import Checking
from counterpoint.evidence.local import LocalEvidence
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.evidence.running.guarding import guarded_paths
from counterpoint.evidence.running.hidden import hidden_paths
from counterpoint.evidence.trust.known import KnownLedgers
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import MalformedDocument, SandboxMissing
from counterpoint.runner import namespaces, starting

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="other systems have no namespaces"),
]

Run = Callable[..., Execution]


class Mapped:
    """A runner that says one thing."""

    def __init__(self, said: dict[str, Any]) -> None:
        """Take what it says."""
        self._said = said

    def attend(self, _order: object) -> dict[str, Any]:
        """Say it."""
        return self._said


SANDBOX: dict[str, Any] = {"hidden": [], "fixed": [], "read_only": [], "partial": []}
SANDBOX |= {"network": True, "bubblewrap": ""}
ORDER: dict[str, Any] = {"program": "/bin/sh", "argv": ["sh", "-c", "echo ran > ran"]}
ORDER |= {"environ": {}, "file_bytes": 1 << 20}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Answer what runs a script in a tree, beside a ledger and the state of a signer."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for folder in ("tree/.counterpoint", "state/counterpoint", "config/counterpoint/keys"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "ledger.db").write_text("secret")

    def run_(script: str, **said: Any) -> Execution:
        evidence = LocalEvidence(
            clock=SystemClock(),
            checking=lambda: Checking(**said),
            database=tmp_path / "tree/.counterpoint/ledger.db",
        )
        return evidence.run(tmp_path / "tree", Command(argv=("sh", "-c", script)))

    if run_("true").sandbox == "none":
        pytest.skip("this system lets nobody make a namespace")
    return run_


def test_ledger_and_keys_and_other_processes_are_not_seen(run: Run, tmp_path: Path) -> None:
    """Nor can any of that be undone or written over; the tree can be worked in, and the exit code is its own."""
    hidden = "../state/counterpoint ../config/counterpoint/keys .counterpoint"
    looks = f"cat /proc/{os.getpid()}/environ; ls -A {hidden}; echo made > made"
    undoes = f"for one in {hidden}; do umount $one; unshare -Urm umount $one; touch $one/x; done; "
    found = run(f"({undoes} {looks}; kill -9 {os.getpid()}; cat {hidden}/ledger.db) 2>&1; exit 3")
    assert (found.sandbox, found.exit_code) == ("namespaces", 3)
    assert "secret" not in found.output
    assert "\nledger.db" not in found.output
    assert (tmp_path / "tree/made").read_text() == "made\n"
    assert not (tmp_path / "tree/.counterpoint/x").exists()


def test_keys_of_the_person_and_who_uses_them_for_others_are_not_seen(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the variable, not by the path; what tools keep in the home is seen, and can be written."""
    home, agent = tmp_path / "home", tmp_path / "ssh-x"
    for folder in (home / ".ssh", home / ".gnupg", home / ".cache", agent):
        folder.mkdir(mode=0o700, parents=True)
        (folder / "held").write_text("held")
    (home / ".git-credentials").write_text("https://ada:secret@example.org")
    for name in (".pgpass", ".pg_service.conf", "passwords"):
        (home / name).write_text("*:*:*:ledger:opensesame")
    monkeypatch.setenv("PGPASSFILE", str(home / "passwords"))
    monkeypatch.setenv("PGPASSWORD", "opensesame")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)
        listening.bind("ssh-x/agent.1")
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("SSH_AUTH_SOCK", str(agent / "agent.1"))
        looks = f"ls -A ~/.ssh ~/.gnupg {agent}; cat ~/.git-credentials ~/.pg* ~/passwords; test -S {agent}/agent.1"
        found = run(f"env; {looks} && echo seen; cat ~/.cache/held > ~/.cache/more")
    assert "SSH_AUTH_SOCK" not in found.output
    assert "\nheld" not in found.output
    assert not {"seen", "secret"} & set(found.output.split())
    assert "secret@" not in found.output
    assert "opensesame" not in found.output
    assert (home / ".cache/more").read_text() == "held"


def test_what_a_command_works_in_is_not_hidden(tmp_path: Path) -> None:
    """A tree in the runtime folder of the account, or where somebody keeps a program that has keys."""
    (tmp_path / "tree").mkdir()
    tmp_path.chmod(0o700)
    environ = {"XDG_RUNTIME_DIR": str(tmp_path), "SSH_AUTH_SOCK": str(tmp_path / "agent")}
    (tmp_path / "agent").touch()
    assert str(tmp_path) not in hidden_paths(None, tmp_path / "tree", environ)
    assert str(tmp_path) in hidden_paths(None, Path("/"), environ)


def test_signals_time_and_orphans_are_as_without_one(run: Run) -> None:
    """A command that kills itself says so, and what it left in another session is gone."""
    assert run("kill -9 $$").exit_code == -9
    assert run("setsid -f sleep 60; exit 4").exit_code == 4


def test_a_project_can_have_commands_without_a_network(run: Run) -> None:
    """There is no interface that leads anywhere; unless that is said there is."""
    script = "grep -c : /proc/net/dev; grep -v lo: /proc/net/dev | grep -c :"
    alone, usual = run(script, network=False), run(script)
    assert (alone.output, alone.network) == ("1\n0\n", False)
    assert usual.network


def test_where_none_can_be_had_it_is_refused_or_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`require` runs nothing and names the reason; `auto` runs the command and names it too."""

    def refuse(_sandbox: object) -> None:
        raise namespaces.Refused(1, "Operation not permitted", "unshare")

    monkeypatch.setattr(namespaces, "enter", refuse)
    sandbox = SANDBOX
    order = ORDER | {"folder": str(tmp_path)}
    why = "unshare: Operation not permitted; bubblewrap is not installed"
    found = starting.start(order | {"sandbox": sandbox | {"mode": "require"}}, 1)
    assert (found.pid, found.sandbox, found.refused) == (0, "refused", why)
    assert not (tmp_path / "ran").exists()
    found = starting.start(order | {"sandbox": sandbox | {"mode": "auto"}}, 1)
    os.waitpid(found.pid, 0)
    assert (found.sandbox, found.refused, found.status(0)) == ("none", why, 0)
    assert (tmp_path / "ran").exists()
    said = {"sandbox": "refused", "refused": why}
    monkeypatch.setattr(
        "counterpoint.evidence.running.commands._Attendance.attend", Mapped(said).attend
    )
    evidence = LocalEvidence(clock=SystemClock())
    with pytest.raises(SandboxMissing, match="unshare: Operation not permitted"):
        evidence.run(tmp_path, Command(argv=("sh",)))


def test_a_database_among_files_of_others_hides_its_own(tmp_path: Path) -> None:
    """Not the folder that it lies in, which others need."""
    for name in ("work.db", "work.db-wal", "other"):
        (tmp_path / name).touch()
    (tmp_path / "tree").mkdir()
    found = hidden_paths(tmp_path / "work.db", tmp_path / "tree")
    assert {path for path in found if path.startswith(str(tmp_path))} == {
        str(tmp_path / "work.db"),
        str(tmp_path / "work.db-wal"),
    }


def test_logins_are_hidden_but_those_that_a_project_shows(tmp_path: Path) -> None:
    for folder in (".claude", ".aws", ".config/gcloud", ".cargo", ".cache"):
        (tmp_path / folder).mkdir(parents=True)
    files = (".npmrc", ".pypirc", ".cargo/credentials.toml", ".pgpass", ".my.cnf")
    files += (".m2/settings.xml", ".config/rclone", "lent/key")
    for file in (*files, ".claude/login", ".aws/config", ".aws/credentials"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    environ = {"HOME": str(tmp_path), "PGSSLKEY": str(tmp_path / "lent/key"), "PGSSLCERT": "here"}

    def hidden(*shown: str) -> set[str]:
        found = hidden_paths(None, Path("/tree"), environ, exposed=shown)
        return {
            str(Path(one).relative_to(tmp_path))
            for one in found
            if Path(one).is_relative_to(tmp_path)
        }

    all_hidden = {
        *(*files, ".claude", ".aws", ".config/gcloud"),
        # Made if they are not there.
        *(".local/state/counterpoint", ".config/counterpoint", ".cache/counterpoint"),
    }
    assert hidden() == all_hidden
    assert hidden(".npmrc") == all_hidden - {".npmrc"}
    assert hidden(".aws/config") == all_hidden - {".aws"} | {".aws/credentials"}


def test_every_ledger_that_the_account_knows_is_hidden(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    places = [
        tmp_path / "one/.counterpoint/ledger.db",
        tmp_path / "elsewhere/work.db",
        tmp_path / "gone/.counterpoint/ledger.db",
    ]
    for place in places[:2]:
        place.parent.mkdir(parents=True)
        place.touch()
    (tmp_path / "tree").mkdir()
    # What cannot be read, and comes before all others, hides none of them.
    (tmp_path / "state/counterpoint/ledgers/!").mkdir(parents=True, mode=0o700)
    (tmp_path / "state/counterpoint/ledgers").chmod(0o700)
    (tmp_path / "state/counterpoint").chmod(0o700)
    (tmp_path / "state").chmod(0o700)
    for place in places:
        KnownLedgers(folder=tmp_path / "state/counterpoint/ledgers", place=str(place)).remember(
            "p", "led_x", "2026-01-01T00:00:00.000Z"
        )
    found = hidden_paths(None, tmp_path / "tree", environ)
    assert str(places[0].parent) in found
    assert str(places[1]) in found
    assert str(places[1].parent) not in found
    assert str(places[0].parent) not in hidden_paths(
        None, places[0].parent / "worktrees/x", environ
    )


def test_a_check_reaches_no_other_project_of_the_account(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other/.counterpoint"
    other.mkdir(parents=True)
    (other / "ledger.db").write_text("theirs")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "known"))
    KnownLedgers(
        folder=tmp_path / "known/counterpoint/ledgers", place=str(other / "ledger.db")
    ).remember("p", "led_x", "2026-01-01T00:00:00.000Z")
    found = run(f"cat {other}/ledger.db; echo more >> {other}/ledger.db; ls -A {other}; echo ran")
    assert found.output.splitlines()[-1] == "ran"
    assert "theirs" not in found.output
    assert (other / "ledger.db").read_text() == "theirs"


def git(folder: Path, *words: str) -> None:
    own = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, run: Run) -> Path:
    """A repository in the tree of `run`, with one commit, and without a folder of hooks."""
    tree = tmp_path / "tree"
    git(tree, "init", "-q", "--template=")
    git(tree, "commit", "-q", "--allow-empty", "-m", "first")
    return tree


@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("echo evil > .git/hooks/pre-commit", ".git/hooks"),
        ("git config core.fsmonitor ./evil", ".git/config"),
        ("mv .git other; mkdir .git", ""),
        (
            "mv .git/hooks .git/old; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
            ".git/hooks",
        ),
        ("mv ../tree ../other; mkdir ../tree", ""),
        (
            "umount .git/hooks; unshare -rm umount .git/hooks; echo evil > .git/hooks/x",
            ".git/hooks",
        ),
    ],
)
def test_what_git_starts_programs_by_is_read_only(
    run: Run, repository: Path, script: str, path: str
) -> None:
    config = (repository / ".git/config").read_bytes()
    found = run(f"{script}; git status >&2")
    assert (repository / ".git/config").read_bytes() == config
    assert list((repository / ".git/hooks").iterdir()) == []
    assert not (repository.parent / "other").exists()
    assert list(found.protected) == ([path] if path else [])


@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("cp -r .git ../evil; echo ../../evil > .git/commondir", ".git/commondir"),
        ("git config -f .git/config.worktree core.fsmonitor ./evil", ".git/config.worktree"),
        ("git config --global core.fsmonitor ./evil", "../home/.gitconfig"),
        (
            "mkdir -p ~/.config/git; echo '[core]' > ~/.config/git/config",
            "../home/.config/git/config",
        ),
        ("rm -f .git/logs; ln -s /nowhere .git/commondir", ".git/commondir"),
    ],
)
def test_settings_that_were_not_there_are_put_aside(
    run: Run,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    path: str,
) -> None:
    """As soon as the command has ended; what was in them is kept."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    place = Path(os.path.normpath(repository / path))
    found = run(script)
    assert not os.path.lexists(place)
    assert os.path.lexists(f"{place}.left-by-a-check")
    assert found.protected == (str(place),)
    git(repository, "status")


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("echo registry=http://evil > ~/.npmrc", ".npmrc"),
        ("mkdir -p ~/.aws; echo '[default]' > ~/.aws/credentials", ".aws"),
        ("mkdir -p ~/.config/gh; echo evil > ~/.config/gh/hosts.yml", ".config/gh"),
        ("ln -s /nowhere ~/.netrc", ".netrc"),
    ],
)
def test_logins_that_were_not_there_are_put_aside(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, name: str
) -> None:
    """Each time, in a folder without a repository too; one that is to be seen stays."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for _ in range(2):
        found = run(script)
        assert not os.path.lexists(home / name)
        assert os.path.lexists(home / f"{name}.left-by-a-check")
        assert found.protected == (str(home / name),)
    assert run(script, home=(name,)).protected == ()
    assert os.path.lexists(home / name)


MAKES_SETTINGS = """
import os, sys
os.makedirs(sys.argv[1])
file = open(sys.argv[1] + "/config.toml", "w")
file.write("mine")
file.flush()
sys.argv[2] == "holds" or file.close()
print(flush=True)
input()
"""


@pytest.mark.parametrize(
    ("name", "home", "way", "stays"),
    [
        ("codex", "home", "closes", True),
        ("another", "home", "holds", True),
        ("codex", "", "closes", False),
        ("another", "home", "closes", False),
    ],
)
def test_settings_that_a_program_outside_has_come_to_use_stay(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    home: str,
    way: str,
    stays: bool,
) -> None:
    """A client that is started for the first time while a check runs; the receipt says whose they may be."""
    folder = tmp_path / "home/.codex"
    folder.parent.mkdir()
    monkeypatch.setenv("HOME", str(folder.parent))
    program, go = tmp_path / f"{name}.py", tmp_path / "tree/go"
    program.write_text(MAKES_SETTINGS)
    evidence = LocalEvidence(clock=SystemClock(), checking=Checking)
    started = list[subprocess.Popen[bytes]]()

    def watch(_words: str) -> None:
        if started:
            return
        words = [sys.executable, str(program), str(folder), way]
        environ = {"HOME": str(tmp_path / home) if home else "/nowhere"}
        started.append(subprocess.Popen(words, stdin=-1, stdout=-1, env=environ))
        assert started[0].stdout is not None
        started[0].stdout.readline()
        go.touch()

    script = "while ! [ -e go ]; do sleep 0.05; done"
    execution = evidence.run(tmp_path / "tree", Command(argv=("sh", "-c", script)), watch)
    started[0].communicate(b"\n")
    assert (folder / "config.toml").exists() == stays
    (leftover,) = execution.leftovers or ("",)
    assert (f"{folder} ({name}, process {started[0].pid}, uses it" in leftover) == stays
    assert (execution.put_aside == ()) == stays


def test_links_to_logins_stay_what_they_are(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that leads nowhere too: what a command makes there is put aside."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "own").write_text("token")
    (home / ".npmrc").symlink_to("own")
    (home / ".pypirc").symlink_to("nowhere")
    monkeypatch.setenv("HOME", str(home))
    run("rm ~/.npmrc; echo evil > ~/.npmrc; echo evil > ~/.pypirc")
    assert (home / ".npmrc").read_text() == "token"
    assert (home / ".pypirc").readlink() == Path("nowhere")
    assert not (home / "nowhere").exists()


@pytest.mark.usefixtures("run")
def test_what_a_cancelled_command_left_is_put_aside_too(repository: Path) -> None:
    class Cancelled(Exception):
        pass

    def watch(_words: str) -> None:
        if (repository / ".git/commondir").exists():
            raise Cancelled

    evidence = LocalEvidence(clock=SystemClock(), checking=Checking)
    script = "echo ../evil > .git/commondir; exec sleep 50"
    with pytest.raises(Cancelled):
        evidence.run(repository, Command(argv=("sh", "-c", script)), watch)
    assert not (repository / ".git/commondir").exists()


def test_settings_of_the_account_are_guarded_under_another_home(repository: Path) -> None:
    guarded = guarded_paths(repository, {"HOME": str(repository.parent)})
    home = os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    for folder in (home, str(repository.parent)):
        for name in (".gitconfig", ".config/git/config"):
            path = os.path.realpath(f"{folder}/{name}")
            assert any(f"{path}/".startswith(f"{absent}/") for absent in guarded.absent) or (
                path in guarded.read_only
            )


def test_links_to_settings_and_hooks_stay_what_they_are(
    run: Run, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "dotfiles").write_text("[user]\nname = a\n")
    (home / ".gitconfig").symlink_to("dotfiles")
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "scripts").mkdir()
    (repository / ".git/hooks").symlink_to(tmp_path / "scripts")
    found = run(
        "echo evil > evil; ln -sf $PWD/evil ~/.gitconfig; rm .git/hooks; mkdir .git/hooks; touch .git/hooks/x;"
        " mv ../scripts ../moved"
    )
    assert (home / ".gitconfig").readlink() == Path("dotfiles")
    assert (repository / ".git/hooks").readlink() == tmp_path / "scripts"
    assert list((tmp_path / "scripts").iterdir()) == []
    assert {Path(one).name for one in found.protected} >= {".gitconfig", "hooks"}


def test_other_linked_trees_and_their_submodules_are_guarded(
    run: Run, repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
    own = repository / ".git/worktrees/linked"
    before = {
        file: file.read_bytes()
        for file in (own / "commondir", own / "gitdir", tmp_path / "linked/.git")
    }
    run("; ".join(f"echo evil > {file}" for file in before) + "; mv .git/worktrees .git/other")
    assert {file: file.read_bytes() for file in before} == before


def test_no_check_loses_its_sandbox_because_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are guarded and gone are left; where what is hidden keeps changing, nothing is run at all."""

    def never_settles(_path: str) -> None:
        raise namespaces.Unsettled(16, "it keeps changing", "/hidden")

    gone = {"fixed": [str(tmp_path / "gone")], "read_only": [str(tmp_path / "gone/too")]}
    sandbox = SANDBOX | gone | {"mode": "auto"}
    order = ORDER | {"folder": str(tmp_path)}
    found = starting.start(order | {"sandbox": sandbox}, 1)
    os.waitpid(found.pid, 0)
    assert (found.sandbox, found.refused) == ("namespaces", "")
    (tmp_path / "ran").unlink()
    monkeypatch.setattr(namespaces, "_hide", never_settles)
    found = starting.start(order | {"sandbox": sandbox | {"hidden": ["/hidden"]}}, 1)
    assert (found.sandbox, found.refused) == ("refused", "/hidden: it keeps changing")
    assert not (tmp_path / "ran").exists()


def test_git_works_in_a_check_as_before(run: Run, repository: Path) -> None:
    script = """
    echo text > file && git add file && git -c user.name=a -c user.email=a@b commit -qm second
    git branch more && git worktree add -q ../more more && git worktree remove ../more && git stash list
    git -c user.name=a -c user.email=a@b tag -m one v1 && git gc -q && git log --oneline | wc -l
    """
    found = run(f"set -e; {script}")
    assert (found.exit_code, found.output.split()[-1]) == (0, "2")
    assert (found.protected, found.missed) == ((), ())


def test_a_linked_tree_and_submodules_are_guarded_as_well(
    run: Run, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are hooks that lie elsewhere by a setting, and settings of the user."""
    module = tmp_path / "module"
    module.mkdir()
    git(module, "init", "-q")
    git(module, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "submodule", "add", "-q", str(module), "parts/one")
    git(repository, "config", "core.hooksPath", ".husky")
    (repository / ".husky").mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = a\n")
    monkeypatch.setenv("HOME", str(home))
    writes = [
        ".husky/pre-commit",
        ".git/modules/parts/one/hooks/x",
        ".git/modules/parts/one/config",
        "parts/one/.git",
        str(home / ".gitconfig"),
    ]
    before = {
        path: (repository / path).read_bytes() for path in writes if (repository / path).exists()
    }
    run("; ".join(f"echo evil > {path}" for path in writes))
    assert {
        path: (repository / path).read_bytes() for path in writes if (repository / path).exists()
    } == before
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
    evidence = LocalEvidence(clock=SystemClock(), checking=Checking)
    script = "echo evil > .git; echo evil > ../tree/.git/hooks/x; mv .git other"
    found = evidence.run(tmp_path / "linked", Command(argv=("sh", "-c", script)))
    assert not (repository / ".git/hooks/x").exists()
    assert (tmp_path / "linked/.git").read_text().startswith("gitdir: ")
    assert ".git" in found.protected


@pytest.mark.parametrize(
    ("script", "missed"),
    [
        ("echo 'npm ERR! code E401'; exit 1", (".npmrc",)),
        ("cat ~/.npmrc; echo 'no such token in .npmrc'; exit 1", (".npmrc",)),
        ("echo 'npm ERR! 3 tests failed'; exit 1", ()),
        ("echo 'npm ERR! code E401'", ()),
        ("echo 'aws: Unable to locate credentials'; exit 255", (".aws",)),
        ("echo 'gh: not logged in'; exit 4", ()),
    ],
)
def test_a_check_that_failed_for_a_hidden_login_names_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, missed: tuple[str, ...]
) -> None:
    """One that this home has; nothing where it passed, or failed for something else."""
    (tmp_path / "home/.aws").mkdir(parents=True)
    (tmp_path / "home/.npmrc").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert run(script).missed == missed
    assert run(script, home=(".npmrc", ".aws")).missed == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[checks]\nhome = ['.bashrc']\n",
            r"`home` below \[checks\] lists \".bashrc\", which is none of",
        ),
        ("[checks]\nhome = ['.ssh/../.bashrc']\n", "is none of"),
        ("[checks]\nhome = [7]\n", "is none of"),
        ("[checks]\nhome = '.npmrc'\n", "must be a list"),
        (
            "[checks]\nsandbox = 'much'\n",
            r"`sandbox` below \[checks\] must be one of auto, require, off",
        ),
        (
            "[checks]\nnetwork = 'no'\ncolour = 1\n",
            r"`colour` is not known below \[checks\]; `network` below \[checks\] must be true",
        ),
        ("checks = 1\n", "is not a table"),
        (
            "sandbox = 'require'\nnetwork = false\n",
            "`network` belongs below .checks.; `sandbox` bel",
        ),
        ("[sandbxo]\n", r"\[sandbxo\] is not known \(did you mean `sandbox` below \[checks\]"),
        ("[check]\nfree = true\n", r"\[check\] is not known \(did you mean \[checks\]\?\)"),
        (
            "[checks]\ncomands = []\n",
            r"`comands` is not known below \[checks\] \(did you mean `commands`",
        ),
        (
            "version = 1\n[checks]\nfree = 2\n",
            r"outside of \[checks\].*; `free` below \[checks\] must be true",
        ),
        ("[checks\n", "cannot be read"),
        # With a time that grows with the square, or a stack that does with the depth, the test would not end.
        ("[checks]\na=" + "[" * 200_000, "cannot be read: it is nested too deep"),
        ("a" + ".a" * 40_000 + "=1", "cannot be read: a line has more than 500 dots"),
    ],
)
def test_a_configuration_with_faults_is_refused_whole(
    tmp_path: Path, text: str, words: str
) -> None:
    """Each of them is named; a link is not followed."""
    file = tmp_path / "counterpoint.toml"
    assert read_checking(tmp_path) == Checking()
    file.write_text("[checks]\nsandbox = 'require'\nnetwork = false\n")
    assert read_checking(tmp_path) == Checking(sandbox="require", network=False)
    file.write_text(text)
    with pytest.raises(MalformedDocument, match=words):
        read_checking(tmp_path)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to("elsewhere")
    with pytest.raises(MalformedDocument, match="is a link, where a file is meant"):
        read_checking(tmp_path)


def test_no_other_login_is_laid_in_the_place_of_one_that_is_hidden(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders that hidden ones lie in stay where they are, in a folder without a repository too."""
    home = tmp_path / "home"
    for name in (".config/gh", ".cargo", ".local/share/keyrings"):
        (home / name).mkdir(parents=True)
    for name in (".config/gh/hosts.yml", ".cargo/credentials", ".local/share/keyrings/login"):
        (home / name).write_text("own")
    monkeypatch.setenv("HOME", str(home))
    run(
        "cd ~; mv .config a; mv .cargo b; mv .local c; cd ..; mv home d; mv state e; cd $HOME"
        "; mkdir -p .config/gh .cargo .local/share/keyrings; echo evil > .config/gh/hosts.yml"
        "; echo evil > .cargo/credentials; echo evil > .local/share/keyrings/login"
    )
    for name in (".config/gh/hosts.yml", ".cargo/credentials", ".local/share/keyrings/login"):
        assert (home / name).read_text() == "own"
    assert (tmp_path / "state/counterpoint/ledger.db").read_text() == "secret"


def test_a_command_reaches_no_terminal_of_others_and_can_make_its_own(run: Run) -> None:
    """Else it could ask a person there for a passphrase, and read what is typed."""
    leader, follower = os.openpty()
    name = os.ttyname(follower)
    own = f"{sys.executable} -c 'import os; print(os.ttyname(os.openpty()[1]))'"
    execution = run(f"echo stolen > {name}; ls /dev/pts; {own}", sandbox="require")
    os.set_blocking(leader, False)
    with pytest.raises(BlockingIOError):
        os.read(leader, 100)
    os.close(leader)
    os.close(follower)
    assert execution.output.split()[-2:] == ["ptmx", "/dev/pts/0"]


@pytest.mark.parametrize("folder", ["tmux-{uid}", "screens/S-ann"])
def test_sockets_of_shared_terminals_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    sockets = tmp_path / "temporary" / folder.format(uid=os.getuid())
    sockets.mkdir(parents=True)
    sockets.chmod(0o700)
    assert str(sockets) in hidden_paths(None, tmp_path / "tree", {})
