"""What witnesses have of a ledger, with real repositories, servers and witnesses."""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

HEADS = "refs/counterpoint/heads/"
Ran = subprocess.CompletedProcess[str]


class Project:
    """A repository whose ledger is written by a real server, which ends with its only client."""

    def __init__(
        self, folder: Path, connect: Callable[..., Any], counterpoint: Callable[..., Ran]
    ) -> None:
        self.folder = folder
        self._connect, self._counterpoint = connect, counterpoint

    def beside(self, folder: Path) -> Project:
        """Give a project in another folder."""
        folder.mkdir()
        return Project(folder, self._connect, self._counterpoint)

    def write(self, text: str, **environ: str) -> None:
        """Let an agent write a note and leave; the server signs, tells the witnesses and ends."""
        self.call("note", kind="comment", text=text, **environ)

    def call(self, tool: str, *, kind: str = "", text: str = "", **environ: str) -> None:
        """Let an agent call a tool and leave, and wait until the server is gone."""
        client = self._connect(self.folder, environ=environ)
        client.call(tool, **({"kind": kind, "text": text} if kind else {}))
        assert client.close() == 0
        assert self.run("down").returncode == 0

    def run(self, *words: str, **environ: str) -> Ran:
        """Run the command line in the folder."""
        return self._counterpoint(*words, cwd=self.folder, env=dict(os.environ) | environ)

    def verify(
        self, *words: str, code: int = 0, environ: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Verify, and answer what was found."""
        ran = self.run("audit", "verify", "--json", *words, **(environ or {}))
        assert ran.returncode == code, ran.stdout + ran.stderr
        return json.loads(ran.stdout)

    def git(self, *words: str) -> str:
        """Run git in the folder."""
        return git(self.folder, *words)

    def ref(self) -> str:
        """Answer the name of the only ref of a ledger."""
        (ref,) = self.git("for-each-ref", "--format=%(refname)", HEADS).split()
        return ref


def git(folder: Path, *words: str) -> str:
    """Run git in a folder; answer what it said."""
    ran = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout


def state() -> Path:
    """Answer the folder of the signer's state."""
    return Path(os.environ["XDG_STATE_HOME"]) / "counterpoint"


@pytest.fixture
def project(
    repository: Path, connect: Callable[..., Any], counterpoint: Callable[..., Ran]
) -> Project:
    """Give a repository with an empty ledger."""
    return Project(repository, connect, counterpoint)


def taken(*folders: Path, to: Path) -> Callable[[], None]:
    """Copy folders away; answers what puts the copies back in their places."""
    for number, folder in enumerate(folders):
        shutil.copytree(folder, to / str(number))

    def back() -> None:
        for number, folder in enumerate(folders):
            shutil.rmtree(folder)
            shutil.copytree(to / str(number), folder)

    return back


def test_a_rollback_of_database_and_signer_is_found_by_the_git_ref(
    project: Project, tmp_path: Path
) -> None:
    """Older copies of both are sound in themselves; the repository has seen more."""
    project.write("first")
    roll_back = taken(project.folder / ".counterpoint", state(), to=tmp_path / "old")
    project.write("second")
    before = project.verify()
    (has,) = before["witnesses"]
    assert (has["witness"], has["size"]) == ("git ref", before["size"])
    assert 0 <= has["age_seconds"] < 120
    assert before["remarks"] == []
    roll_back()
    for words in ((), ("--quick",)):
        found = project.verify(*words, code=1)
        (fault,) = found["faults"]
        assert fault["code"] == "fork_refused"
        assert fault["message"].startswith("git ref: the ledger has ")
        assert "an older copy is in its place" in fault["message"]
    checks = json.loads(project.run("doctor", "--json").stdout)["checks"]
    (doctor,) = [one for one in checks if one["name"] == "witness"]
    assert doctor["verdict"] == "fail"
    # What goes on from there overwrites nothing of what the witness has.
    tip = project.git("rev-parse", project.ref())
    project.write("another second")
    assert project.git("rev-parse", project.ref()) == tip
    project.verify(code=1)


@pytest.mark.long
def test_heads_in_a_repository_touch_nothing_else_of_it(project: Project) -> None:
    """No branch, commit, index, work tree, hook or reflog; each head is a child of the one before."""
    folder = project.folder
    hook = folder / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\nexit 1\n")
    hook.chmod(0o755)
    project.git("config", "core.logAllRefUpdates", "always")
    project.git("config", "commit.gpgSign", "true")

    def rest() -> Mapping[str, object]:
        kept = folder / ".git"
        return {
            "refs": project.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"),
            "head": (kept / "HEAD").read_bytes(),
            "index": (kept / "index").read_bytes(),
            "logs": sorted(p.as_posix() for p in (kept / "logs").rglob("*")),
            "status": project.git("status", "--porcelain", "--untracked-files=all"),
        }

    before = rest()
    project.write("first")
    project.write("second")
    assert rest() == before
    ref = project.ref()
    told = project.git("log", "--format=%an %ae %cn %G? %s", ref).splitlines()
    assert len(told) == len(set(told)) == 2
    assert all(one.startswith("counterpoint counterpoint@localhost counterpoint N") for one in told)
    assert project.git("ls-tree", "--name-only", ref) == "checkpoint\n"
    assert (
        project.git("show", f"{ref}:checkpoint")
        == project.run("audit", "prove", "--checkpoint").stdout
    )
    # Who only reads gives a witness nothing to hear of.
    project.call("next")
    assert len(project.git("rev-list", ref).split()) == 2
    found = project.verify()
    assert found["witnesses"][0]["size"] == found["size"]


def test_the_git_witness_is_turned_off_by_a_variable_and_absent_without_a_repository(
    project: Project, tmp_path: Path
) -> None:
    """Then nothing is written, and nothing is said to be missing."""
    project.write("first", COUNTERPOINT_GIT_WITNESS="off")
    assert project.git("for-each-ref", HEADS) == ""
    found = project.verify(environ={"COUNTERPOINT_GIT_WITNESS": "off"})
    assert (found["witnesses"], found["remarks"]) == ([], [])
    # Whoever turns it on again is told that it has nothing, which a deleted ref would look like.
    assert "git ref: it has no head of this ledger yet" in project.verify()["remarks"]
    plain = project.beside(tmp_path / "plain")
    plain.write("first")
    found = plain.verify()
    assert (found["witnesses"], found["remarks"]) == ([], [])
    assert [path.name for path in plain.folder.iterdir()] == [".counterpoint"]


def test_a_ref_that_somebody_else_wrote_is_a_fault(project: Project) -> None:
    """Another thing under its name, or a head whose signature does not fit."""
    project.write("first")
    ref = project.ref()
    project.git("update-ref", ref, "HEAD")
    (fault,) = project.verify(code=1)["faults"]
    assert fault["message"].startswith("git ref: it names something that is no head")


def test_heads_are_pushed_only_where_configured_and_compared_there(
    project: Project, tmp_path: Path
) -> None:
    """A remote keeps what the whole machine forgets: the repository's own ref as well."""
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    project.git("remote", "add", "origin", str(remote))
    project.write("first")
    assert git(remote, "for-each-ref") == ""
    configured = {"COUNTERPOINT_WITNESS_PUSH": "origin"}
    project.write("second", **configured)
    roll_back = taken(
        project.folder / ".counterpoint", state(), project.folder / ".git", to=tmp_path / "old"
    )
    project.write("third", **configured)
    assert git(remote, "for-each-ref", "--format=%(refname)").split() == [project.ref()]
    found = project.verify(environ=configured)
    assert [(one["witness"], one["size"]) for one in found["witnesses"]] == [
        ("git ref", found["size"]),
        ("git remote origin", found["size"]),
    ]
    roll_back()
    objects = sorted(p.name for p in (project.folder / ".git").rglob("*"))
    assert project.verify()["sound"]
    (fault,) = project.verify(code=1, environ=configured)["faults"]
    assert fault["message"].startswith("git remote origin: the ledger has ")
    assert sorted(p.name for p in (project.folder / ".git").rglob("*")) == objects
    shutil.rmtree(remote)
    (remark,) = project.verify(environ=configured)["remarks"]
    assert remark.startswith("git remote origin: git does not reach it")


class Witness:
    """A witness in a process of its own, started as its operator starts it."""

    def __init__(self, folder: Path, *keys: str) -> None:
        self.folder, self.keys = folder, keys
        self.key = self.url = ""

    def start(self) -> None:
        """Start it, and read what it says of itself."""
        words = ["witness", "--state", str(self.folder), "--port", "0", "--json"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "counterpoint", *words, *(f"--log={key}" for key in self.keys)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline())
        self.key, self.url = str(said["key"]), str(said["url"])

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait(20)
        if self.process.stdout is not None:
            self.process.stdout.close()

    @property
    def setting(self) -> str:
        """Answer how the settings name it."""
        return f"{self.key} {self.url}"

    def post(self, body: bytes, path: str = "/add-checkpoint") -> tuple[int, str, bytes]:
        """Submit something by hand."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=20)
        connection.request("POST", path, body)
        answer = connection.getresponse()
        found = answer.status, answer.headers.get_content_type(), answer.read()
        connection.close()
        return found


@pytest.fixture
def appoint(tmp_path: Path) -> Iterator[Callable[..., Witness]]:
    """Give what starts witnesses; they are ended with the test."""
    started: list[Witness] = []

    def start(*keys: str) -> Witness:
        started.append(Witness(tmp_path / f"witness{len(started)}", *keys))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        one.kill()


Appoint = Callable[..., Witness]


def whole(project: Project) -> tuple[Path, ...]:
    """Answer all that the account of a project has: ledger, signer and repository."""
    return project.folder / ".counterpoint", state(), project.folder / ".git"


@pytest.mark.long
def test_a_witness_elsewhere_finds_what_the_whole_account_forgot(
    project: Project, appoint: Appoint, tmp_path: Path
) -> None:
    """Ledger, signer and repository are older copies; the witness cosigned more, and cosigns no other."""
    project.write("first")
    witness = appoint(project.verify()["key"])
    configured = {"COUNTERPOINT_WITNESSES": witness.setting}
    project.write("second", **configured)
    roll_back = taken(*whole(project), to=tmp_path / "old")
    project.write("third", **configured)
    before = project.verify(environ=configured)
    assert (before["remarks"], before["faults"]) == ([], [])
    has = before["witnesses"][-1]
    assert has["witness"] == witness.key.split("+")[0]
    assert has["size"] == before["size"]
    assert 0 <= has["age_seconds"] < 120
    # The cosignature goes along with the checkpoint, which still verifies.
    note = project.run("audit", "prove", "--checkpoint", **configured).stdout
    assert f"— {has['witness']} " in note
    (tmp_path / "note").write_text(note)
    project.verify("--checkpoint", str(tmp_path / "note"))
    roll_back()
    assert project.verify()["sound"]
    for words in ((), ("--quick",)):
        (fault,) = project.verify(*words, code=1, environ=configured)["faults"]
        assert fault["message"].startswith(f"{has['witness']}: it has the head of ")
    # It goes on as another history of the same length, and of a greater one.
    for text in ("another third", "fourth"):
        project.write(text, **configured)
        found = project.verify("--quick", code=1, environ=configured)
        assert {one["facts"]["witness"] for one in found["faults"]} == {has["witness"]}
        assert found["faults"][0]["code"] == "fork_refused"
    assert f"— {has['witness']} " not in project.run("audit", "prove", "--checkpoint").stdout
    (kept,) = (project.folder / ".counterpoint" / "checkpoints" / "cosigned").iterdir()
    assert int(kept.read_text().split("\n")[1]) < found["size"]


@pytest.mark.long
def test_two_witnesses_one_away_the_other_counts(
    project: Project, appoint: Appoint, tmp_path: Path
) -> None:
    """Who cannot be reached is named; what it cosigned before is compared all the same."""
    project.write("first")
    key = project.verify()["key"]
    here, away = appoint(key), appoint(key)
    configured = {"COUNTERPOINT_WITNESSES": f"{away.setting}, {here.setting}"}
    project.write("second", **configured)
    away.kill()
    project.write("third", **configured)
    found = project.verify(environ=configured)
    (remark,) = found["remarks"]
    assert remark.startswith(f"{away.key.split('+')[0]}: it does not answer")
    sizes = {one["witness"]: one["size"] for one in found["witnesses"]}
    assert sizes[here.key.split("+")[0]] == found["size"]
    assert 0 < sizes[away.key.split("+")[0]] < found["size"]
    # What is kept of a witness is believed only with its signature.
    kept = project.folder / ".counterpoint" / "checkpoints" / "cosigned"
    for file in kept.iterdir():
        lines = file.read_text().split("\n")
        file.write_text("\n".join([lines[0], "1", *lines[2:]]))
    faults = project.verify(code=1, environ=configured)["faults"]
    assert [one["message"].split(": ", 1)[1][:24] for one in faults] == [
        "what is kept of it is no"
    ] * len(faults)
    assert faults


def test_a_witness_that_is_killed_forgets_nothing(project: Project, appoint: Appoint) -> None:
    """Key, name and heads are on the disk before anybody hears of them."""
    project.write("first")
    key = project.verify()["key"]
    note = project.run("audit", "prove", "--checkpoint").stdout
    size = int(note.split("\n")[1])
    witness = appoint(key)
    status, _, line = witness.post(f"old 0\n\n{note}".encode())
    assert (status, line.decode().split(" ")[1]) == (200, witness.key.split("+")[0])
    before = witness.key
    witness.kill()
    witness.start()
    assert witness.key == before
    stale = witness.post(f"old 0\n\n{note}".encode())
    assert stale == (409, "text/x.tlog.size", f"{size}\n".encode())
    assert witness.post(f"old {size}\n\n{note}".encode())[0] == 200


def test_a_witness_answers_as_the_specification_says(
    project: Project, appoint: Appoint, tmp_path: Path
) -> None:
    """Malformed 400, unknown 404, unsigned 403, stale 409 with its size, forked 409 or 422."""
    project.write("first")
    key = project.verify()["key"]
    older = project.run("audit", "prove", "--checkpoint").stdout
    roll_back = taken(*whole(project), to=tmp_path / "old")
    project.write("second")
    newer = project.run("audit", "prove", "--checkpoint").stdout
    since = project.run("audit", "prove", "--since", older.split("\n")[1], "--json").stdout
    proof = [base64.b64encode(bytes.fromhex(one)).decode() for one in json.loads(since)["path"]]
    roll_back()
    project.write("another second")
    forked = project.run("audit", "prove", "--checkpoint").stdout
    first, second = (int(one.split("\n")[1]) for one in (older, newer))
    assert int(forked.split("\n")[1]) == second
    witness = appoint(key)

    def answers(old: int, note: str, *lines: str) -> int:
        asked = "".join(f"{line}\n" for line in (f"old {old}", *lines, "")) + note
        return witness.post(asked.encode())[0]

    assert witness.post(b"nonsense")[0] == 400
    assert witness.post(b"x" * 70_000)[0] == 400
    assert witness.post(b"", "/other")[0] == 404
    assert answers(second + 1, newer) == 400
    assert answers(0, newer.replace("counterpoint/demo\n", "counterpoint/other\n", 1)) == 404
    assert answers(0, newer.replace(f"\n{second}\n", f"\n{second + 1}\n")) == 403
    assert answers(0, older) == 200
    assert answers(first, newer) == 422
    assert answers(first, forked, *proof) == 422
    assert answers(first, newer, *proof) == 200
    assert witness.post(f"old {first}\n\n{newer}".encode()) == (
        409,
        "text/x.tlog.size",
        f"{second}\n".encode(),
    )
    assert answers(second, forked) == 409
    assert answers(second, newer) == 200
    # Its operator may let a log begin anew, and nobody else.
    said = project.run("witness", "--state", str(witness.folder), "--forget", "counterpoint/demo")
    assert said.returncode == 0, said.stderr
    assert answers(0, forked) == 200
