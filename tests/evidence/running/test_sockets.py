"""Which programs that act for whoever asks a command reaches by their sockets and variables."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from counterpoint.core.model.evidence import Command, Execution
from counterpoint.core.model.trust.checking import LEADING, Checking
from counterpoint.core.rules.trust.commands import loosened
from counterpoint.evidence.environment import for_command
from counterpoint.evidence.local import LocalEvidence
from counterpoint.evidence.running.configuration import load_checking
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import MalformedDocument

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no namespaces")
SOCKETS = {
    "containers": (
        "home/.colima/default/docker.sock",
        "deep/run/podman/podman.sock",
        "deep/containerd/containerd.sock",
        "named/engine",
    ),
    "display": ("temp/.X11-unix/X7", "temp/.ICE-unix/12", "temp/wayland-1"),
    "editors": (
        "temp/vscode-ipc-1.sock",
        "temp/emacs7/server",
        "temp/nvim.ann/k/nvim.12.0",
        "home/.config/Code/1.9-main.sock",
        "home/.cache/JetBrains/Idea/.port",
    ),
    "": ("temp/dbus-Ab1", "deep/S.gpg-agent", "temp/kitty-12", "deep/tmux-7/default"),
}
DATABASE = "temp/.s.PGSQL.5432"


def landlock_version() -> int:
    """Return which version of its scopes the kernel has; below 6 it keeps nobody from abstract sockets."""
    return ctypes.CDLL(None).syscall(444, None, 0, 1) if sys.platform == "linux" else 0


def listen(path: str) -> socket.socket:
    """Return a socket that listens at a path."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with a home, folders for temporary files, and who listens there; paths of sockets must be short."""
    with tempfile.TemporaryDirectory(prefix="cp") as name, ExitStack() as stack:
        top = Path(name)
        (top / "tree").mkdir()
        for path in (*(path for paths in SOCKETS.values() for path in paths), DATABASE):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(closing(listen(str(top / path))))
        (top / "home/.Xauthority").write_text("cookie")
        monkeypatch.setattr("tempfile.tempdir", str(top / "temp"))
        yield top


def run(top: Path, argv: tuple[str, ...], sockets: tuple[str, ...] = ()) -> Execution:
    """Run a command in the tree of an account in a sandbox."""
    environ: Mapping[str, str] = {
        "PATH": os.environ["PATH"],
        "HOME": str(top / "home"),
        "DISPLAY": ":7",
        "DOCKER_HOST": f"unix://{top}/named/engine",
        "TMUX": f"{top}/deep/tmux-7/default,1,0",
    }
    evidence = LocalEvidence(
        clock=SystemClock(),
        environ=environ,
        # What the starter of a server asks for opens none of them.
        passed=("DOCKER_HOST", "DISPLAY", "TMUX"),
        checking=lambda: Checking(sandbox="require", sockets=sockets),
    )
    return evidence.run(top / "tree", Command(argv=argv))


@linux
@pytest.mark.e2e
@pytest.mark.parametrize("kind", ["", "containers", "display", "editors"])
def test_programs_that_act_for_others_are_reached_only_where_a_person_trusted_that(
    account: Path, kind: str
) -> None:
    paths = [path for paths in SOCKETS.values() for path in paths]
    script = f'cd ..; for path in {" ".join((*paths, DATABASE))}; do test -S $path && echo $path; done; env; cat "$HOME/.Xauthority"'
    execution = run(account, ("sh", "-c", script), LEADING[kind][:1] if kind else ())
    visible = SOCKETS[kind] if kind else ()
    lines = execution.output.splitlines()
    assert [path for path in (*paths, DATABASE) if path in lines] == [*visible, DATABASE]
    variables = {line.partition("=")[0] for line in lines} & {"DOCKER_HOST", "DISPLAY", "TMUX"}
    assert variables == {"containers": {"DOCKER_HOST"}, "display": {"DISPLAY"}}.get(kind, set())
    assert ("cookie" in execution.output) == (kind == "display")


@linux
@pytest.mark.e2e
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "DOCKER_HOST"),
        ("Error: cannot open display: :0", "DISPLAY"),
        ("one test failed", ""),
    ],
)
def test_a_check_that_fails_for_a_hidden_socket_is_told_the_line(
    account: Path, text: str, name: str
) -> None:
    command = Command(argv=("sh", "-c", f"echo '{text}'; exit 1"))
    execution = run(account, command.argv)
    assert execution.missed == ((name,) if name else ())
    assert run(account, command.argv, (name,) if name else ()).missed == ()


@linux
@pytest.mark.e2e
@pytest.mark.skipif(landlock_version() < 6, reason="the kernel has no scope for them")
def test_abstract_sockets_of_others_are_not_reached(account: Path) -> None:
    """Those of its own are: what it starts talks by them."""
    name = f"counterpoint-{os.getpid()}"
    script = (
        "import socket\n"
        "own = socket.socket(socket.AF_UNIX); own.bind('\\0' + 'own' + NAME); own.listen()\n"
        "for name in ('own' + NAME, NAME):\n"
        "    try: socket.socket(socket.AF_UNIX).connect('\\0' + name); print('reached')\n"
        "    except PermissionError: print('refused')\n"
    ).replace("NAME", repr(name))
    with closing(listen(f"\0{name}")):
        execution = run(account, (sys.executable, "-c", script))
    assert execution.output.split() == ["reached", "refused"]


def test_variables_that_lead_to_them_take_trust() -> None:
    """Those that lead to keys and terminals are never passed."""
    checking = load_checking('[checks]\nsockets = ["DISPLAY"]\n')
    assert loosened(checking, "") != loosened(Checking(), "") == ""
    environ = {name: "x" for names in LEADING.values() for name in names} | {"TMUX": "x"}
    assert for_command(environ, environ, checking.sockets) == {"DISPLAY": "x"}
    with pytest.raises(MalformedDocument, match='lists "SSH_AUTH_SOCK", which is none of'):
        load_checking('[checks]\nsockets = ["SSH_AUTH_SOCK"]\n')
