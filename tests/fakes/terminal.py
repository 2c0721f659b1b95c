"""A real terminal with a program in it, and a person who reads and types."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_LEAD = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes the terminal that of a process, as a login does, and becomes the program."""
PATIENCE = 40.0
"""Seconds that a test waits for a word before it fails."""


class Terminal:
    """A program that was started from a terminal of its own."""

    def __init__(self, command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> None:
        """Start the program."""
        self._mine, theirs = os.openpty()
        self.seen = ""
        self._read = 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LEAD, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=dict(environ),
            start_new_session=True,
        )
        os.close(theirs)

    def expect(self, words: str) -> None:
        """Wait until the program says something that it has not said before."""
        ends = time.monotonic() + PATIENCE
        while words not in self.seen[self._read :]:
            assert self._more(ends), f"never said {words!r}: {self.seen[self._read :]!r}"
        self._read = self.seen.index(words, self._read) + len(words)

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._mine, line.encode() + b"\n")

    def end(self) -> int:
        """Wait for the end of the program; answer its exit code."""
        ends = time.monotonic() + PATIENCE
        while self._more(ends):
            pass
        code = self._process.wait(PATIENCE)
        os.close(self._mine)
        return code

    def kill(self) -> None:
        """End the program if it is still there."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE)

    def _more(self, ends: float) -> bool:
        """Take in what is said; answer whether the program may say more."""
        ready, _, _ = select.select([self._mine], [], [], max(0.0, ends - time.monotonic()))
        if not ready:
            return False
        try:
            said = os.read(self._mine, 65_536)
        except OSError:  # how Linux says that nobody has the other end any more
            return False
        self.seen += said.decode(errors="replace").replace("\r\n", "\n")
        return bool(said)
