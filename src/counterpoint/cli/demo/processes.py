"""The processes of the demonstration: started, read, woken, killed, cleaned up.

Each agent leads a process group that its relay belongs to as well, so that ending the group ends
both; the server that all share lives on. What it says comes in through a thread and is kept in one queue, in order of arrival.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO

from counterpoint.kernel.canonical import Json, load
from counterpoint.kernel.errors import Unavailable

LEAVE = 15.0
"""Seconds that agents get to end their sessions."""
GRACE = 2.0
"""Seconds between being told to end and being made to."""

_WORKER = "counterpoint.cli.demo.worker"
_LAST_WORDS = 600

Message = tuple[str, dict[str, Json]]
"""Who said it, and what."""


@dataclass(kw_only=True)
class AgentProcesses:
    """Every agent's process, by name."""

    logs: Path
    environ: Mapping[str, str] = field(repr=False)
    processes: dict[str, subprocess.Popen[bytes]] = field(
        default_factory=dict[str, subprocess.Popen[bytes]]
    )
    killed: set[str] = field(default_factory=set[str])
    _received: SimpleQueue[Message] = field(default_factory=SimpleQueue[Message])
    _readers: list[Thread] = field(default_factory=list[Thread])

    def start(
        self, name: str, role: str, folder: Path, *words: str, agent: str = "", **extra: str
    ) -> None:
        """Start an agent in a folder. extra: variables only for it and its relay."""
        argv = [sys.executable, "-P", "-m", _WORKER, role, agent or name, str(folder), *words]
        with (self.logs / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - this program's own worker
                argv,
                cwd=folder,
                env={**self.environ, **extra},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                start_new_session=True,
            )
        self.processes[name] = process
        reader = Thread(target=_listen, args=(name, process, self._received), daemon=True)
        self._readers.append(reader)
        reader.start()

    def receive(self, seconds: float) -> list[Message]:
        """Return what was said meanwhile; wait for a first word only so long."""
        messages: list[Message] = []
        with suppress(Empty):
            messages.append(self._received.get(timeout=seconds))
            while True:
                messages.append(self._received.get_nowait())
        return messages

    def wake(self) -> None:
        """Wake every agent that waits."""
        for process in self.processes.values():
            with suppress(BrokenPipeError, ValueError):
                _input(process).write(b"\n")

    def kill(self, name: str) -> None:
        """End an agent and its relay at once, as a power cut would."""
        process = self.processes[name]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.killed.add(name)

    def require_alive(self) -> None:
        """Raise Unavailable if an agent has ended that should not have."""
        for name, process in self.processes.items():
            if name not in self.killed and process.poll():
                words = (self.logs / f"{name}.log").read_text("utf-8", "replace")
                raise Unavailable(
                    f"the agent {name} ended with {process.returncode}: {words[-_LAST_WORDS:]}"
                )

    def dismiss(self) -> None:
        """Let every agent end its session and leave; Unavailable if one does not."""
        for process in self.processes.values():
            _input(process).close()
        for name, process in self.processes.items():
            try:
                process.wait(LEAVE)
            except subprocess.TimeoutExpired:
                raise Unavailable(f"the agent {name} does not leave") from None
        self.require_alive()

    def close(self) -> None:
        """End what is left of every group that was started here, and wait for it."""
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            running = [process for process in self.processes.values() if process.poll() is None]
            for process in running:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal_number)
            _wait(running)
        for process in self.processes.values():
            # The relay may outlive its agent by a moment.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            _input(process).close()
        for reader in self._readers:
            reader.join(GRACE)


def _input(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None  # noqa: S101 - `start` asked for the pipe
    return process.stdin


def _wait(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)


def _listen(name: str, process: subprocess.Popen[bytes], received: SimpleQueue[Message]) -> None:
    """Put what an agent says into the queue until it says no more."""
    assert process.stdout is not None  # noqa: S101 - `start` asked for the pipe
    with process.stdout as lines:
        for line in lines:
            # A line that a kill cut short has no end and says nothing.
            if line.endswith(b"\n"):
                received.put((name, load(line)))
