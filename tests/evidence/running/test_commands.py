"""Commands in real processes: ended in time, kept within bounds, never with a secret."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from counterpoint.core.model.evidence import Command, Execution, Quotas, Sandbox
from counterpoint.evidence.environment import for_command, for_git, looks_secret
from counterpoint.evidence.local import LocalEvidence
from counterpoint.evidence.running import commands
from counterpoint.evidence.running.allowance import quotas_here
from counterpoint.evidence.running.commands import Attention
from counterpoint.kernel.clock import SystemClock, elapsed_ms
from counterpoint.kernel.errors import InvalidInput, PathOutside, ProgramMissing

pytestmark = pytest.mark.e2e


@pytest.fixture
def evidence() -> LocalEvidence:
    """The port, with the variables of this test run."""
    return LocalEvidence(clock=SystemClock())


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits two seconds in a test."""
    monkeypatch.setattr(commands, "GRACE_SECONDS", 0.3)


def sh(evidence: LocalEvidence, root: Path, script: str, **more: Any) -> Execution:
    """Run a script of the shell."""
    return evidence.run(root, Command(argv=("sh", "-c", script), **more))


def is_running(pid: int) -> bool:
    """Answer whether a process lives; one that only waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def ends(pid: int, seconds: float = 5) -> bool:
    """Wait, no longer than that, for the end of a process that is not our child."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            select.select([descriptor], [], [], seconds)
        finally:
            os.close(descriptor)
    return not is_running(pid)


@pytest.fixture
def stray() -> Iterator[list[int]]:
    """Process ids that must not outlive the test."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_output_code_and_times_come_back(evidence: LocalEvidence, tmp_path: Path) -> None:
    found = sh(evidence, tmp_path, "echo out; echo err >&2; exit 3")
    assert (found.exit_code, found.output, found.timed_out) == (3, "out\nerr\n", False)
    assert found.output_sha256 == hashlib.sha256(b"out\nerr\n").hexdigest()
    assert found.output_bytes == 8
    assert 0 <= elapsed_ms(found.started_at, found.ended_at) < 10_000


def test_no_shell_reads_the_arguments(evidence: LocalEvidence, tmp_path: Path) -> None:
    """Words with signs of the shell arrive as they are."""
    words = ("$HOME", "`id`", "; exit 9", "a b", "*", "ünï")
    argv = (sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert evidence.run(tmp_path, Command(argv=argv)).output == f"{list(words)}\n"


def test_a_command_runs_in_its_folder_with_closed_input(
    evidence: LocalEvidence, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    found = sh(evidence, tmp_path, "pwd; cat; ps -o sid= -p $$ | tr -d ' '; echo $$", folder="sub")
    folder, session, pid = found.output.split()
    assert folder == str((tmp_path / "sub").resolve())
    assert session == pid


def test_a_signal_is_told_as_its_negative_number(evidence: LocalEvidence, tmp_path: Path) -> None:
    assert sh(evidence, tmp_path, "kill -9 $$").exit_code == -9


def test_a_command_over_its_time_ends_with_all_its_children(
    evidence: LocalEvidence, tmp_path: Path, stray: list[int]
) -> None:
    script = (
        "(trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 60; done') & wait"
    )
    began = monotonic()
    found = sh(evidence, tmp_path, script, limit_seconds=1)
    pid = int((tmp_path / "pid").read_text())
    stray.append(pid)
    assert found.timed_out
    assert found.exit_code == -signal.SIGTERM
    assert ends(pid)
    assert monotonic() - began < 8


def test_a_command_may_say_goodbye_within_the_grace(
    evidence: LocalEvidence, tmp_path: Path
) -> None:
    """What it writes on the polite signal is kept, and its own exit code; it is still late."""
    script = "trap 'echo bye; exit 4' TERM; while :; do sleep 0.05; done"
    found = sh(evidence, tmp_path, script, limit_seconds=1)
    assert found.output.endswith("bye\n")
    assert (found.exit_code, found.timed_out) == (4, True)


def test_a_command_that_ignores_the_polite_signal_is_killed(
    evidence: LocalEvidence, tmp_path: Path
) -> None:
    script = "trap '' TERM; while :; do sleep 0.05; done"
    found = sh(evidence, tmp_path, script, limit_seconds=1)
    assert (found.exit_code, found.timed_out) == (-signal.SIGKILL, True)


def test_a_child_left_behind_is_killed_and_does_not_hold_us_up(
    evidence: LocalEvidence, tmp_path: Path, stray: list[int]
) -> None:
    """It held the pipe open; the leader's end is the command's end."""
    began = monotonic()
    found = sh(evidence, tmp_path, "sleep 60 & echo $!")
    stray.append(int(found.output))
    assert (found.exit_code, found.timed_out) == (0, False)
    assert ends(int(found.output))
    assert monotonic() - began < 5


@pytest.mark.faults
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only a group can be reached")
def test_whatever_a_command_has_started_is_gone_when_it_has_ended(
    evidence: LocalEvidence, tmp_path: Path, stray: list[int]
) -> None:
    """What left its group, its session and its parent, and writes without end or is silent, also at the time limit."""
    left = "setsid sh -c '(sh -c \"echo \\$\\$ >> pids; exec {}\" &)' & "
    script = f"{left.format('yes')}{left.format('sleep 60')}"
    waits = "while [ $(cat pids | wc -l) -lt 2 ]; do sleep 0.01; done"
    began = monotonic()
    for number, (end, statuses) in enumerate(
        ((f"{waits}; exit 3", {3}), ("wait; sleep 60", {-15, -9}))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "pids").touch()
        limit = 20 if statuses == {3} else 1
        found = sh(evidence, folder, script + end, limit_seconds=limit, output_limit=100)
        pids = [int(line) for line in (folder / "pids").read_text().split()]
        stray += pids
        assert len(pids) == 2
        # Asked first, and ended where it does not hear in time.
        assert found.exit_code in statuses
        assert not any(map(is_running, pids))
    assert monotonic() - began < 15


@pytest.mark.faults
def test_a_command_ends_with_the_process_that_asked_for_it(
    tmp_path: Path, stray: list[int]
) -> None:
    """Killed without a word: what it had started is ended, in another session too."""
    os.mkfifo(tmp_path / "told")
    script = "setsid sleep 61 & echo $! $$ > told; sleep 60"
    asks = (
        "import sys\nfrom pathlib import Path\n"
        "from counterpoint.core.model.evidence import Command\n"
        "from counterpoint.evidence.local import LocalEvidence\n"
        "from counterpoint.kernel.clock import SystemClock\n"
        "LocalEvidence(clock=SystemClock()).run(Path.cwd(), Command(argv=('sh', '-c', sys.argv[1])))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", asks, script], cwd=tmp_path)
    stray += map(int, (tmp_path / "told").read_text().split())
    process.kill()
    process.wait()
    assert all(map(ends, stray))


def test_a_command_has_three_descriptors_and_is_no_child_of_the_server(
    evidence: LocalEvidence, tmp_path: Path
) -> None:
    secret = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        found = sh(evidence, tmp_path, "ls -l /proc/$$/fd; echo $PPID")
    finally:
        os.close(secret)
    *listed, parent = found.output.split("\n")[:-1]
    assert [line.split(" -> ")[0].split()[-1] for line in listed[1:]] == ["0", "1", "2"]
    assert int(parent) != os.getpid()


@pytest.mark.faults
@pytest.mark.parametrize(
    ("quotas", "script", "ended_for"),
    [
        (Quotas(processes=6), "for n in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait", "processes"),
        (Quotas(memory_bytes=100_000_000), "exec {python} -c {hoard}", "memory"),
        (Quotas(output_bytes=100_000), "exec yes", "output"),
        (Quotas(file_bytes=10_000), "yes > much; ls -l much", ""),
    ],
)
def test_a_command_that_takes_too_much_is_ended(
    tmp_path: Path, quotas: Quotas, script: str, ended_for: str
) -> None:
    """At once, long before its time: too many processes, too much memory or output; a file ends at its size."""
    evidence = LocalEvidence(clock=SystemClock(), quotas=quotas)
    hoard = "'import time; hoard = bytearray(300_000_000); time.sleep(60)'"
    found = sh(evidence, tmp_path, script.format(python=sys.executable, hoard=hoard))
    assert (found.ended_for, found.timed_out) == (ended_for, False)
    assert found.exit_code == -9 if ended_for else " 10000 " in found.output


def test_a_command_has_half_of_the_memory_that_there_is_and_no_more(tmp_path: Path) -> None:
    """Of the machine or of the container, whichever is less, and never more than the usual; the receipt tells it."""
    found = sh(LocalEvidence(clock=SystemClock()), tmp_path, "true")
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < found.quotas.memory_bytes <= min(8 << 30, whole // 2)
    group = tmp_path / "memory.max"
    group.write_text("200000000\n")
    assert quotas_here(group).memory_bytes == 100_000_000
    group.write_text("max\n")
    assert quotas_here(group) == quotas_here(tmp_path / "none")


def test_a_command_that_closes_its_output_is_still_waited_for(
    evidence: LocalEvidence, tmp_path: Path
) -> None:
    found = sh(evidence, tmp_path, "echo first; exec >&- 2>&-; sleep 0.2; exit 5")
    assert (found.output, found.exit_code) == ("first\n", 5)


def test_a_flood_is_hashed_whole_and_kept_in_part(evidence: LocalEvidence, tmp_path: Path) -> None:
    found = sh(evidence, tmp_path, "seq 1 400000", output_limit=1000)
    whole = "".join(f"{number}\n" for number in range(1, 400_001)).encode()
    assert found.output_bytes == len(whole)
    assert found.output_sha256 == hashlib.sha256(whole).hexdigest()
    assert found.output.startswith("1\n2\n")
    assert found.output.endswith("399999\n400000\n")
    assert "bytes left out]" in found.output
    assert len(found.output.encode()) <= 1000


def test_output_that_is_not_text_is_shown_with_marks(
    evidence: LocalEvidence, tmp_path: Path
) -> None:
    found = sh(evidence, tmp_path, "printf 'a\\377b'")
    assert found.output == "a\ufffdb"
    assert found.output_sha256 == hashlib.sha256(b"a\xffb").hexdigest()


def test_the_watcher_hears_about_once_a_second(
    evidence: LocalEvidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_TELL_SECONDS", 0.1)
    heard: list[str] = []
    argv = ("sh", "-c", "head -c 3401 /dev/zero; sleep 0.55")
    evidence.run(tmp_path, Command(argv=argv), heard.append)
    assert 3 <= len(heard) <= 6
    # Its process may still be starting when the first second ends.
    assert set(heard) <= {"0 s, 0 bytes", "0 s, 3,401 bytes", "1 s, 3,401 bytes"}


def test_a_watcher_that_raises_ends_the_command(
    evidence: LocalEvidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stray: list[int]
) -> None:
    monkeypatch.setattr(commands, "_TELL_SECONDS", 0.2)

    def cancel(words: str) -> None:
        raise KeyError(words)

    argv = ("sh", "-c", "echo $$ > pid; sleep 60")
    with pytest.raises(KeyError, match="0 s"):
        evidence.run(tmp_path, Command(argv=argv), cancel)
    stray.append(int((tmp_path / "pid").read_text()))
    assert ends(stray[0])


def attended(folder: Path, script: str, attention: Attention) -> Execution:
    """Run a script of the shell for a caller who attends to it."""
    return commands.run(
        folder,
        Command(argv=("sh", "-c", script), limit_seconds=30, output_limit=100),
        environ=dict(os.environ),
        clock=SystemClock(),
        attention=attention,
        quotas=Quotas(),
        sandbox=Sandbox(),
    )


def test_a_command_that_is_asked_to_end_may_say_goodbye(tmp_path: Path) -> None:
    """Long before its time, with the code that it gives itself; what it had started ends with it."""
    script = "trap 'echo bye; exit 4' TERM; sleep 60 & echo $!; while :; do sleep 0.05; done"
    heard = bytearray()
    said = Attention(heard=heard.extend, ends=lambda: b"\n" in heard, grace=20)
    found = attended(tmp_path, script, said)
    assert (found.exit_code, found.ended_for, found.timed_out) == (4, "asked", False)
    # The shell may tell of its child's end as well.
    child, *words = heard.decode().split()
    assert words[-1] == "bye"
    assert ends(int(child))


def test_a_command_that_does_not_hear_is_killed_after_the_grace(tmp_path: Path) -> None:
    script = "trap '' TERM; echo on; while :; do sleep 0.05; done"
    heard = bytearray()
    said = Attention(heard=heard.extend, ends=lambda: b"on" in heard, grace=0.3)
    found = attended(tmp_path, script, said)
    assert (found.ended_for, found.exit_code) == ("asked", -signal.SIGKILL)


def test_a_command_that_is_to_end_before_it_has_begun_is_asked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_TELL_SECONDS", 0)
    found = attended(tmp_path, "sleep 60", Attention(ends=lambda: True, grace=20))
    assert (found.ended_for, found.exit_code) == ("asked", -signal.SIGTERM)


def test_a_command_that_ends_as_it_is_asked_is_answered(tmp_path: Path) -> None:
    """Its own end counts, whoever was first."""
    found = attended(tmp_path, "exit 3", Attention(ends=lambda: True, grace=20))
    assert found.exit_code in {3, -signal.SIGTERM}


def test_all_that_a_command_writes_is_heard(tmp_path: Path) -> None:
    heard = bytearray()
    found = attended(tmp_path, "seq 1 10000", Attention(heard=heard.extend))
    assert heard == "".join(f"{number}\n" for number in range(1, 10_001)).encode()
    assert len(found.output) <= 100


def test_no_descriptor_is_left_open(evidence: LocalEvidence, tmp_path: Path) -> None:
    """Many commands, ended in every way, leave as many open files as before."""
    sh(evidence, tmp_path, "true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for script in ("true", "exit 1", "sleep 60 &", "exec >&-"):
        sh(evidence, tmp_path, script)
    with pytest.raises(ProgramMissing):
        evidence.run(tmp_path, Command(argv=("no-such-program",)))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_only_listed_variables_reach_a_command(tmp_path: Path) -> None:
    """And none whose name looks secret, or leads to who has keys, even if it was asked for."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": "/h",
        "LC_TIME": "C",
        "PYTHONPATH": "p",
        "NODE_ENV": "n",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_DIR": "/elsewhere",
        "AWS_REGION": "r",
        "MY_FLAG": "f",
        "NPM_TOKEN": "t",
        "PYTHON_API_KEY": "k",
        "NODE_AUTH_TOKEN": "t",
        "DATABASE_URL": "u",
        "SSH_AUTH_SOCK": "/run/ssh-x/agent.1",
    }
    passed = {"MY_FLAG", "NPM_TOKEN", "SSH_AUTH_SOCK"}
    evidence = LocalEvidence(clock=SystemClock(), environ=environ, passed=passed)
    seen = dict(
        line.split("=", 1)
        for line in evidence.run(tmp_path, Command(argv=("env",))).output.splitlines()
    )
    names = {"PATH", "HOME", "LC_TIME", "NODE_ENV", "GIT_AUTHOR_NAME", "MY_FLAG"}
    assert set(seen) == names


@pytest.mark.parametrize(
    "name", ["GITHUB_TOKEN", "api_key", "Secret", "DB_PASSWORD", "PGPASSWD", "CREDENTIALS", "PAT",
     "GITHUB_PAT", "my-pat-2", "MYSQL_PWD"],
)  # fmt: skip
def test_names_of_secrets_are_known(name: str) -> None:
    assert looks_secret(name)
    assert for_command({name: "x"}, {name}) == {}
    assert name not in for_git({name: "x"})


def test_an_ordinary_name_is_no_secret() -> None:
    assert not any(map(looks_secret, ("HOME", "PWD", "OLDPWD", "PATH", "COMPAT", "NAME_PATTERN")))
    assert for_git({"HOME": "/h", "LANGUAGE": "de", "GIT_DIR": "x"})["HOME"] == "/h"
    assert {"LANGUAGE", "GIT_DIR"}.isdisjoint(for_git({"LANGUAGE": "de", "GIT_DIR": "x"}))


def test_a_missing_program_is_named_with_a_hint(evidence: LocalEvidence, tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing) as caught:
        evidence.run(tmp_path, Command(argv=("no-such-program", "x")))
    assert caught.value.facts == {"program": "no-such-program"}
    assert "PATH" in caught.value.hint


def test_a_file_that_is_no_program_is_refused(evidence: LocalEvidence, tmp_path: Path) -> None:
    """Not executable, no interpreter, or no format that the system knows."""
    for name, text, mode in (
        ("plain", "x", 0o600),
        ("lost", "#!/no/such/interpreter\n", 0o700),
        ("odd", "no first line", 0o700),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
        with pytest.raises(ProgramMissing):
            evidence.run(tmp_path, Command(argv=(f"./{name}",)))


def test_arguments_too_long_for_the_system_are_invalid(
    evidence: LocalEvidence, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="too long"):
        evidence.run(tmp_path, Command(argv=("echo", "x" * 10_000_000)))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Command(argv=()), "names no program"),
        (Command(argv=("",)), "names no program"),
        (Command(argv=("echo", "a\0b")), "NUL"),
        (Command(argv=("echo", "\ud800")), "Unicode"),
        (Command(argv=("true",), limit_seconds=0), "time limit"),
        (Command(argv=("true",), output_limit=-1), "output limit"),
        (Command(argv=("true",), folder="nowhere"), "not a folder"),
        (Command(argv=("\0",), limit_seconds=-1), "NUL.*; the time limit"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    evidence: LocalEvidence, tmp_path: Path, command: Command, words: str
) -> None:
    """All its faults come back together."""
    with pytest.raises(InvalidInput, match=words):
        evidence.run(tmp_path, command)


def test_a_command_outside_the_root_is_refused(evidence: LocalEvidence, tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/")
    for folder in ("..", "out", "/"):
        with pytest.raises(PathOutside):
            evidence.run(tmp_path, Command(argv=("true",), folder=folder))
