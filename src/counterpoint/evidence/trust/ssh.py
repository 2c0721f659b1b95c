"""Signatures by `ssh-keygen` with a key in a file, an agent or hardware.

The private key never enters this process: ssh-keygen asks at the terminal for a passphrase, and it or the agent for a touch. A key in
a file is used without an agent, so that the passphrase is asked for each time; one that only an agent holds is used through it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from counterpoint.core.ledger.people import sshsig
from counterpoint.core.model.identity import KeyStorage
from counterpoint.kernel.errors import (
    Forbidden,
    InvalidInput,
    MalformedDocument,
    NotFound,
    ProgramMissing,
)
from counterpoint.kernel.starting.programs import search_path

_PATIENCE: Final = 300
_LITERAL: Final = "key::"
_PROGRAM: Final = "ssh-keygen"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKey:
    """An SSH key that was looked up; path: of its private half, or of the public one if an agent has that."""

    public_key: str
    storage: KeyStorage
    path: str


def configured(root: Path, environ: Mapping[str, str]) -> str:
    """Return git's `user.signingkey` if commits are signed with SSH keys; empty if not."""
    if _git(root, environ, "gpg.format") != "ssh":
        return ""
    return _git(root, environ, "user.signingkey")


def look_up(name: str) -> FoundKey:
    """Return the key of a path or of a literal as git has it; NotFound, InvalidInput, Forbidden.

    A key in a file without a passphrase is refused: whatever runs under the account can sign with it.
    """
    if name.startswith((_LITERAL, "ssh-", "ecdsa-", "sk-")):
        return FoundKey(public_key=_public(name.removeprefix(_LITERAL)), storage="agent", path="")
    path = Path(name).expanduser().absolute()
    private = path.with_suffix("") if path.suffix == ".pub" else path
    public = private.with_name(f"{private.name}.pub")
    if not public.is_file():
        raise NotFound(
            f"there is no public key {public}", hint=f"Write it with `ssh-keygen -y -f {private}`."
        )
    public_key = _public(public.read_text(encoding="utf-8", errors="replace"))
    if not private.is_file():
        return FoundKey(public_key=public_key, storage="agent", path=str(public))
    if sshsig.is_hardware(public_key):
        return FoundKey(public_key=public_key, storage="hardware", path=str(private))
    if _is_open(private):
        raise Forbidden(
            f"{private} has no passphrase, so that whatever runs under your account can sign with it",
            hint=f"Give it one with `ssh-keygen -p -f {private}`, or make a key of its own with"
            " `counterpoint key add`.",
        )
    return FoundKey(public_key=public_key, storage="ssh", path=str(private))


def sign(path: str, public_key: str, message: bytes, *, is_agent: bool) -> str:
    """Return the signature of a message; Forbidden if the key was not unlocked, ProgramMissing."""
    environ = dict(os.environ)
    if not is_agent:
        environ.pop("SSH_AUTH_SOCK", None)
    with tempfile.TemporaryDirectory() as folder:
        if is_agent:
            path = str(Path(folder) / "key.pub")
            Path(path).write_text(f"{public_key}\n")
        command = (_PROGRAM, "-Y", "sign", "-q", "-n", sshsig.NAMESPACE, "-f", path)
        process = _run(command, environ, message)
    if process.returncode:
        raise Forbidden(
            "ssh-keygen did not sign: " + process.stderr.decode(errors="replace").strip()[:200],
            hint="Nothing was changed: unlock the key, or ask its agent, and try again.",
        )
    return sshsig.parse_armour(process.stdout.decode(errors="replace"))


def _public(line: str) -> str:
    try:
        return sshsig.public_key_of(line)
    except MalformedDocument as fault:
        raise InvalidInput(
            f"this is no SSH public key that can be used: {fault.message}"
        ) from fault


def _is_open(private: Path) -> bool:
    tried = _run((_PROGRAM, "-y", "-P", "", "-f", str(private)), dict(os.environ), b"")
    return tried.returncode == 0


def _run(
    command: tuple[str, ...], environ: Mapping[str, str], message: bytes
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 -- git and ssh-keygen, never through a shell
            command,
            input=message,
            env={**environ, "PATH": search_path(environ.get("PATH"))},
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except FileNotFoundError as missing:
        raise ProgramMissing(
            "ssh-keygen is not installed", hint="Install OpenSSH, or use `counterpoint key add`."
        ) from missing
    except subprocess.TimeoutExpired as late:
        raise Forbidden("the key was not unlocked in time", hint="Try again.") from late


def _git(root: Path, environ: Mapping[str, str], name: str) -> str:
    try:
        process = _run(("git", "-C", str(root), "config", "--get", name), environ, b"")
    except ProgramMissing:
        return ""
    return process.stdout.decode(errors="replace").strip()
