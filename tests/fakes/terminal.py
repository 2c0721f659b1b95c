"""A real terminal with a program in it, and a person who reads and types."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from counterpoint.core.ledger.people import sshsig
from counterpoint.evidence.trust import personal

_LEAD = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes the terminal that of a process, as a login does, and becomes the program."""
PASSPHRASE = "correct horse battery"  # noqa: S105 -- of keys that end with their test
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
        self.press(f"{line}\n")

    def press(self, keys: str) -> None:
        """Press keys, as a terminal says them."""
        os.write(self._mine, keys.encode())

    @property
    def descriptor(self) -> int:
        """The end of the terminal that a person has."""
        return self._mine

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


Open = Callable[..., Terminal]


def make_key(at: Open, name: str = "ann") -> None:
    """Make a key under the passphrase; it is the first of the project."""
    terminal = at("key", "add", "--name", name)
    terminal.expect("Passphrase for a fresh key:")
    terminal.type(PASSPHRASE)
    terminal.expect("The same again:")
    terminal.type(PASSPHRASE)
    _enrol(terminal)


def add_key(at: Open, name: str = "ann") -> None:
    """Let in a key that the person made before, for another project; it is the first of this one."""
    hold_key(personal.folder_of(os.environ), name)
    _enrol(at("key", "add", "--name", name))


def _enrol(terminal: Terminal) -> None:
    terminal.expect("Passphrase of your key:")
    terminal.type(PASSPHRASE)
    terminal.expect("signs from now on")
    assert terminal.end() == 0


def hold_key(folder: Path, owner: str) -> None:
    """Put the key of somebody under the passphrase into a folder of keys; to try a passphrase on it costs no half second, as on one made there."""
    public_key, content = _quick_key(owner)
    path = folder / personal._name_of(public_key)
    personal._keep(path, content)
    personal.remember(folder, public_key, "passphrase", str(path))


@cache
def _quick_key(owner: str) -> tuple[str, bytes]:
    del owner
    private = Ed25519PrivateKey.generate()
    form = serialization.PrivateFormat.OpenSSH
    encryption = form.encryption_builder().kdf_rounds(1).build(PASSPHRASE.encode())
    content = private.private_bytes(serialization.Encoding.PEM, form, encryption)
    return sshsig.ed25519_line(private.public_key().public_bytes_raw()), content


def sign(terminal: Terminal, passphrase: str = PASSPHRASE) -> int:
    """Unlock the key; answer the exit code."""
    terminal.expect("Passphrase of your key:")
    terminal.type(passphrase)
    return terminal.end()
