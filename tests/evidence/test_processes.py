"""What the kernel says of processes: of this one, of children, of those that have ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from builders import known_connection
from counterpoint.core.model.identity import Process
from counterpoint.evidence import processes
from counterpoint.evidence.processes import ConnectedAgents, boot, lineage, look, namespace, peer

WAITING = "import sys; print(flush=True); sys.stdin.read()"
ORPHAN = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {WAITING!r}], stdin=sys.stdin, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    """Give a process that waits until it is told to end."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.communicate()


def test_a_process_is_seen_as_it_is(child: subprocess.Popen[str]) -> None:
    """Its number, its parent, its owner, its program; the one that started it began before."""
    seen, mine = look(child.pid), look(os.getpid())
    assert seen is not None
    assert mine is not None
    assert (seen.pid, seen.parent, seen.uid) == (child.pid, os.getpid(), os.getuid())
    assert Path(seen.executable) == Path(sys.executable).resolve()
    assert seen.session == os.getsid(child.pid)
    assert mine.started <= seen.started
    assert look(child.pid) == seen


def test_the_ancestors_are_told_from_the_nearest_on(child: subprocess.Popen[str]) -> None:
    """Each is the parent of the one before it."""
    found = lineage(child.pid)
    assert [one.pid for one in found[:3]] == [child.pid, os.getpid(), os.getppid()]
    assert all(one.parent == above.pid for one, above in pairwise(found))


def test_who_has_ended_is_nobody() -> None:
    """Also to a socket that still names him."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert look(process.pid) is None
    assert lineage(process.pid) == ()
    assert peer(process.pid).lineage == ()
    assert peer(0).lineage == ()


def test_an_orphan_has_no_longer_the_parent_that_it_had() -> None:
    """Its lineage goes on at whoever has taken it up."""
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        orphan = int(starter.stdout.readline())
        starter.wait()
        found = lineage(orphan)
        assert found[0].pid == orphan
        assert starter.pid not in {one.pid for one in found}
        starter.communicate()


def test_a_number_that_was_given_again_ends_the_lineage(monkeypatch: pytest.MonkeyPatch) -> None:
    """No parent begins after its child: it is another process that has its number now."""
    told = {
        7: Process(
            pid=7, parent=5, uid=1, session=7, has_terminal=False, started=70, executable="/a"
        ),
        5: Process(
            pid=5, parent=1, uid=1, session=5, has_terminal=False, started=90, executable="/b"
        ),
    }
    monkeypatch.setattr(processes, "look", told.get)
    assert [one.pid for one in lineage(7)] == [7]


def test_a_peer_that_changes_while_it_is_looked_at_is_not_attested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever has its number at the second look may be somebody else."""
    first = Process(
        pid=7, parent=0, uid=1, session=7, has_terminal=False, started=70, executable="/a"
    )
    later = Process(
        pid=7, parent=0, uid=1, session=7, has_terminal=False, started=71, executable="/a"
    )
    answers = iter([first, later])
    monkeypatch.setattr(processes, "look", lambda _pid: next(answers))
    assert peer(7).lineage == ()


def test_the_boot_is_told_the_same_each_time() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "from counterpoint.evidence.processes import boot; print(boot())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == boot()


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["-P", "{folder}/npx"], "npx"),
        (["-X", "utf8", "{folder}/pipx.py"], "utf8"),
        (["-c", WAITING], "-c"),
        (["-m", "runner"], "runner"),
    ],
)
def test_what_an_interpreter_runs_is_told(tmp_path: Path, words: list[str], script: str) -> None:
    """By its file name, without an ending; an option with a word of its own hides it, and that is all it does."""
    for name in ("npx", "pipx.py", "runner.py"):
        (tmp_path / name).write_text(WAITING)
    with subprocess.Popen(
        [sys.executable, *(word.format(folder=tmp_path) for word in words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen = look(process.pid)
        process.communicate()
    assert seen is not None
    assert seen.script == script


def test_a_program_that_calls_itself_otherwise_is_known_by_that() -> None:
    """As npm does, which is node to the kernel."""
    with subprocess.Popen(
        ["npm exec counterpoint", "-c", WAITING],
        executable=sys.executable,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen = look(process.pid)
        process.communicate()
    assert seen is not None
    assert seen.script == "npm"


def test_a_process_in_another_namespace_is_not_looked_into() -> None:
    """Its number here is not the one that it knows itself by."""
    alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel lets nobody open a namespace of processes")
    with subprocess.Popen(
        [*alone, sys.executable, "-c", f"import os; print(os.readlink('/proc/self')); {WAITING}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = peer(int(process.stdout.readline()))
        process.communicate()
    assert (found.lineage, found.is_foreign) == ((), True)
    assert not peer(os.getpid()).is_foreign


def test_numbers_of_another_namespace_are_not_taken_for_ours() -> None:
    """Whoever sees the /proc of another one sees somebody else under his own number."""
    alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel lets nobody open a namespace of processes")
    said = subprocess.run(
        [
            *(*alone, sys.executable, "-c"),
            "import os; from counterpoint.evidence.processes import peer; print(peer(os.getpid())[0:4:3])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "((), True)\n"


def test_the_namespace_is_told_the_same_to_all_in_it() -> None:
    """It is a number where there are namespaces."""
    assert namespace() == peer(os.getpid()).namespace
    assert namespace().isdecimal() == sys.platform.startswith("linux")


@pytest.mark.parametrize(
    ("said", "uid", "unit"),
    [
        ("0::/system.slice/agent.service\n", 7, "system.slice/agent.service"),
        ("1:name=systemd:/x\n0::/system.slice/agent.service\n", 7, "system.slice/agent.service"),
        ("0::/mine/app.scope\n", os.getuid() or 1, ""),
        ("0::/system.slice/agent.service\n", 0, ""),
        ("0::/\n", 7, ""),
        ("0::/../other\n", 7, ""),
        ("1:name=systemd:/x\n", 7, ""),
        ("0::/gone\n", 7, ""),
    ],
)
def test_a_control_group_tells_only_where_no_user_can_go_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, uid: int, unit: str
) -> None:
    """One of the system's, and none that the user owns, nor any to root."""
    for group in ("system.slice/agent.service", "mine/app.scope"):
        (tmp_path / group).mkdir(parents=True)
        for folder in (tmp_path / group, (tmp_path / group).parent):
            (folder / "cgroup.procs").touch()
    if not os.getuid():
        os.chown(tmp_path / "mine" / "cgroup.procs", 1, -1)
    monkeypatch.setattr(processes.procfs, "read", lambda _path: said.encode())
    monkeypatch.setattr(processes, "_GROUPS", tmp_path)
    # Where nobody but root may give files away, they are those of whoever runs this: of no other user.
    assert processes._unit(os.getpid(), uid) == unit


def test_of_agents_that_connected_only_those_that_live_are_kept(
    child: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many come to a server in its life; who lives is never forgotten, and who has its number is another."""
    monkeypatch.setattr(processes, "FEW", 3)
    living = look(child.pid)
    assert living is not None
    connected = ConnectedAgents()
    agent = known_connection("cn_living", "", pid=living.pid, started=living.started)
    connected.add(agent)
    connected.add(replace(agent, id="cn_host"), hosts=True)
    for number in range(20):
        connected.add(replace(agent, id=f"cn_{number}", started=number))
        assert "cn_living" in connected
        assert f"cn_{number}" in {*connected} or len(connected) == 1
        assert len(connected) <= 3
    # Of who brings a credential, what it starts may be others.
    assert "cn_host" not in connected
    assert {"cn_living", "cn_host"} <= {one.id for one in connected.agents()}
