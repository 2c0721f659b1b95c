"""Whoever makes what he sees of the kernel himself is nobody: he decides nothing that is another's or a person's."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint import __version__
from counterpoint.app import App
from counterpoint.core.model.evidence import Command, Quotas, Sandbox
from counterpoint.evidence.running import commands
from counterpoint.kernel.clock import SystemClock
from counterpoint.protocol.rendezvous import find_rendezvous
from fakes.windows import Agent, work

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(240),
    # Out of a namespace nobody comes to a PostgreSQL server that runs under another account.
    pytest.mark.parametrize("where", ["sqlite"], indirect=True),
]

APPROVES = {"verdict": "approve", "reason": "it stands"}
COMMAND = (sys.executable, "-m", "counterpoint")
_STAT = "sed 's/([^)]*) S [0-9]*/(bash) S 1/' /proc/$$/stat >stat; mount --bind stat /proc/$$/stat"
HOSTILE = {
    "boot_id": "cat /proc/sys/kernel/random/uuid >id; mount --bind id /proc/sys/kernel/random/boot_id",
    "boot_id by another file of /proc": "mount --bind /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id",
    "random": "mkdir r; cat /proc/sys/kernel/random/uuid >r/boot_id; mount --bind r /proc/sys/kernel/random",
    "own stat": _STAT,
    "own stat by another's": "mount --bind /proc/1/stat /proc/$$/stat",
    "own folder": "mount --bind /proc/1 /proc/$$",
    "own status": "cp /proc/1/status s; mount --bind s /proc/$$/status",
    "own ns": "mkdir ns; mount --bind ns /proc/$$/ns",
    "own cgroup": "echo 0::/ >g; mount --bind g /proc/$$/cgroup",
    "own list of mounts": "cp /proc/1/mountinfo m; mount --bind m /proc/$$/mountinfo",
    "own map of users": "cp /proc/1/uid_map u; mount --bind u /proc/$$/uid_map",
    "parent's stat": "cp /proc/1/stat p; mount --bind p /proc/$PPID/stat",
    "parent's words": "echo bash >w; mount --bind w /proc/$PPID/cmdline",
    "all that tells of it, by that of its parent": (
        "for f in mountinfo uid_map ns cgroup; do mount --bind /proc/$PPID/$f /proc/$$/$f; done;"
        " mount --bind /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id"
    ),
    "all of /proc": "mount -t tmpfs none /proc",
    "an ended /proc": "umount -l /proc || true",
    "/proc of processes alone": "mount -t proc -o subset=pid none /proc || true",
    "nothing": "true",
    "hidden sockets": "mount -t tmpfs none /tmp/.X11-unix 2>/dev/null || mkdir t && mount -t tmpfs none t",
}
"""What an agent does in a namespace of mounts of its own, before it becomes the command that decides."""
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private")
DECIDES = (
    ("approve", "PHASE"),
    ("reject", "PHASE", "-m", "no", "--fix", "x"),
    ("agent", "create", "second", "--maintain"),
    ("token", "create", "second"),
    ("trust", "--allow", "make"),
    ("policy", "--reviews", "declared"),
    ("profile", "set", "judge", "--deny", "verify"),
    ("audit", "redact", "PHASE", "--reason", "x", "--yes"),
    ("audit", "epoch", "--reason", "x"),
    ("plans", "prune", "--older-than", "1", "--yes"),
    ("release", "HELD"),
    ("waive", "PHASE", "-m", "x"),
)
"""Acts for people, and for another than who worked; HELD: what another agent is at."""


_FILTER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Rule(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint))
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("rules", ctypes.POINTER(Rule)))
# The number of the call; openat2 answers that there is no such call; every other goes on.
rules = (Rule * 4)(Rule(0x20, 0, 0, 0), Rule(0x15, 0, 1, 437), Rule(0x06, 0, 0, 0x50000 | 38), Rule(0x06, 0, 0, 0x7FFF0000))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, rules)), 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Becomes a command for which there is no openat2."""
AROUND = {
    "a terminal of its own": ("script", "-qefc", "WORDS", "/dev/null"),
    "folders of its own": (
        *(
            "sh",
            "-c",
            'd=$(mktemp -d); HOME=$d XDG_STATE_HOME=$d XDG_RUNTIME_DIR=$d TMPDIR=$d exec "$@"',
            "sh",
            "WORDS",
        ),
    ),
    "a kernel without openat2": (sys.executable, "-c", _FILTER, "WORDS"),
}
"""What becomes a command in other surroundings; WORDS: the command, as one text where it stands after `-c`."""


@pytest.fixture(autouse=True)
def _can_mount() -> None:
    if subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this kernel lets nobody open a namespace of mounts")


def inside(what: str, command: tuple[str, ...]) -> list[str]:
    """Answer the words that become a command once something has been mounted; $$ is its number."""
    script = f'set -e; top="$PWD"; cd "$(mktemp -d)"; {what}; cd "$top"; exec "$@"'
    return [*NAMESPACE, "sh", "-c", script, "sh", *command]


def told(words: tuple[str, ...], phase: str, held: str) -> tuple[str, ...]:
    """Answer the words of an act with the ids that it is about."""
    return tuple({"PHASE": phase, "HELD": held}.get(word, word) for word in words)


@pytest.fixture
def held(hire: Callable[[], Agent]) -> str:
    """Answer the id of a task that another agent is at."""
    other = hire()
    other.does("plan", markdown="# Held\n- [ ] Hold it\n")
    return str(other.does("next", claim=True)["claim"]["item"])


def _acts(app: App) -> list[str]:
    done = [entry.action for entry in app.person().audit.log(limit=200)]
    return [action for action in done if action != "signer.named"]


def test_nothing_mounted_over_what_the_kernel_says_makes_a_person(
    worker: Agent, phase: str, held: str, app: App, is_long: bool
) -> None:
    """After its relay has ended, with each of what is read covered: an approval of its own work, and a credential.

    The short form tries the credential: an approval of its own work is refused in a second way too.
    """
    worker.order(disconnect="main")
    before = _acts(app)
    for name, what in HOSTILE.items():
        for words in (DECIDES[0], DECIDES[2]) if is_long else (DECIDES[2],):
            command = (*COMMAND, *told(words, phase, held))
            ran = worker.order(run=inside(what, command))
            assert ran["code"] == 1, (name, words, ran)
            assert "cannot" in ran["err"], (name, words, ran)
    assert _acts(app) == before


def _around(name: str, command: tuple[str, ...]) -> tuple[str, ...]:
    """Answer the words that become a command in other surroundings."""
    before = AROUND[name]
    if "script" in before:
        return tuple(shlex.join(command) if word == "WORDS" else word for word in before)
    return (*before[:-1], *command)


@pytest.mark.alike
@pytest.mark.parametrize("name", AROUND)
def test_no_surroundings_help_what_is_mounted(
    worker: Agent, phase: str, app: App, name: str, is_long: bool
) -> None:
    """A terminal, other folders for state, or a filter of calls, with each of what an agent would cover.

    The short form tries the credential, which is refused in one way alone.
    """
    worker.order(disconnect="main")
    before = _acts(app)
    for what in ("boot_id", "all that tells of it, by that of its parent", "own folder", "nothing"):
        for words in (DECIDES[0], DECIDES[2], DECIDES[4]) if is_long else (DECIDES[2],):
            command = _around(name, (*COMMAND, *told(words, phase, "")))
            ran = worker.order(run=inside(HOSTILE[what], command))
            assert ran["code"] in {1, 2}, (what, words, ran)
    assert _acts(app) == before


def test_no_act_that_is_reserved_is_done_from_a_hostile_namespace(
    worker: Agent, phase: str, held: str, app: App, counterpoint: Callable[..., Any], repository: Path, is_long: bool
) -> None:  # fmt: skip
    """Each of them, with the server ended first, so that it can tell nothing; the short form covers something for every second."""
    worker.order(disconnect="main")
    before = _acts(app)
    assert counterpoint("down", cwd=repository).returncode == 0
    covers = ("boot_id", "nothing")
    for number, words in enumerate(DECIDES):
        for name in covers if is_long else (covers[number % 2],):
            command = (*COMMAND, *told(words, phase, held))
            ran = worker.order(run=inside(HOSTILE[name], command))
            assert ran["code"] in {1, 2}, (name, words, ran)
    assert _acts(app) == before


@pytest.mark.alike
@pytest.mark.parametrize("name", ["boot_id", "nothing", "own stat by another's"])
def test_a_server_started_in_a_hostile_namespace_attests_nobody(
    hire: Callable[[], Agent], phase: str, app: App, name: str
) -> None:
    """Neither does who works through it judge that, from within or from its shell outside."""
    agent = hire()
    agent.does("plan", markdown="# One\n## First\n- review: yes\n- [ ] Do it\n")
    agent.order(disconnect="main")
    within = agent.hires(*inside(HOSTILE[name], ()))
    work(within)
    assert within.is_refused("review", id=phase, **APPROVES) == "forbidden"
    within.order(disconnect="main")
    for words in (DECIDES[0], DECIDES[2], DECIDES[4]):
        ran = agent.runs(*told(words, phase, ""))
        assert ran["code"] == 1, (words, ran)
    assert app.person().items.get(phase).status != "done"


SYSTEMD = (
    "for one in sys bus irq fs; do mount --bind /proc/$one /proc/$one; mount -o remount,bind,ro /proc/$one; done;"
    " for one in kallsyms kcore; do mount --bind /dev/null /proc/$one; done"
)
"""`ProtectKernelTunables`, `ProtectKernelLogs`: parts of /proc show themselves, others show nothing."""
DOCKER = (
    "for one in bus fs irq sys sysrq-trigger; do mount --bind /proc/$one /proc/$one; mount -o remount,bind,ro /proc/$one; done;"
    " for one in kcore keys timer_list; do mount --bind /dev/null /proc/$one; done;"
    " for one in acpi scsi; do test ! -d /proc/$one || mount -t tmpfs -o ro none /proc/$one; done"
)
"""The read-only and masked paths of the runtime's default."""


@pytest.mark.parametrize("mounts", [SYSTEMD, DOCKER], ids=["systemd", "docker"])
def test_what_services_and_containers_mount_over_proc_does_not_matter(
    where: str, repository: Path, mounts: str
) -> None:
    """Everything in there lives in the same namespaces: agents are attested, and judge each other's work."""
    del where
    script = (
        "import json, os\n"
        "from counterpoint.evidence.processes import boot, peer\n"
        "found = peer(os.getpid())\n"
        "print(json.dumps([boot(), found.is_foreign, [one.pid for one in found.lineage][:2]]))\n"
    )
    # The first process of a namespace of its own has nobody above it, as in a container.
    container = [
        *NAMESPACE,
        "--pid",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        f'{mounts}; "$@"; exit $?',
        "sh",
    ]
    ran = subprocess.run([*container, sys.executable, "-c", script], cwd=repository, capture_output=True, text=True, check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    real = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    assert f'["{real}", false, [' in ran.stdout
    assert not ran.stdout.strip().endswith("[]]")


_CALLS = """
import json, socket, sys
to = socket.socket(socket.AF_UNIX)
to.connect(sys.argv[1])
greeting = {"counterpoint": 1, "version": sys.argv[2], "flags": {}, "environ": {}, "folder": sys.argv[3]}
to.sendall(json.dumps(greeting).encode() + b"\\n")
print(to.makefile().readline())
"""


def test_a_check_in_a_sandbox_reaches_no_server(
    connect: Callable[..., Any], repository: Path, app: App, where: str
) -> None:
    """Should it find the socket all the same; another process in a namespace of its own does, as a devcontainer."""
    del where
    connect(repository).call("next")
    found = str(find_rendezvous(app.database).socket)
    script = (sys.executable, "-c", _CALLS, found, __version__, str(repository))

    def run(*command: str) -> str:
        return commands.run(
            repository,
            Command(argv=command),
            environ={"PATH": os.environ["PATH"]},
            clock=SystemClock(),
            attention=commands.Attention(),
            quotas=Quotas(),
            sandbox=Sandbox(mode="require"),
        ).output

    assert "a check in a sandbox reaches no server" in run(*script)
    assert "a check in a sandbox reaches no server" in run("setsid", "--wait", *script)
    beside = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", *script)
    ran = subprocess.run(beside, check=True, capture_output=True, text=True)
    assert '"ok":true' in ran.stdout.replace(" ", "")
