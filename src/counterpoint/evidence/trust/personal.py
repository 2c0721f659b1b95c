"""A person's keys on this machine: made under a passphrase, or for SSH.

They lie outside of every repository, in `$XDG_CONFIG_HOME/counterpoint/keys` (mode 0700), each under a name made from its
fingerprint:

    NAME        private key in OpenSSH's format, encrypted (bcrypt, 64 rounds; AES-256-CTR), mode 0600
    NAME.json   what is known of it: {"path", "public_key", "storage"}; for an SSH key `path` is where ssh-keygen finds it,
                and there is no private key here

A file counts if and only if it is a plain file, no link, that nobody else can read or write.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, cast, get_args

from counterpoint.core.ledger.people import sshsig
from counterpoint.core.model.identity import KeyStorage
from counterpoint.evidence.replacing import replace_file
from counterpoint.evidence.trust import ssh
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import Forbidden, InvalidInput, Unavailable
from counterpoint.kernel.places import config_folder

_FOR_OTHERS: Final = 0o077
_WRITE_FOR_OTHERS: Final = 0o022
_LARGEST: Final = 20_000
_ROUNDS: Final = 64
_NAME: Final = 32
SHORTEST_PASSPHRASE: Final = 8

Ask = Callable[[str], str]
"""Asks the person for a passphrase, at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldKey:
    """A key whose private half this person can use here; path: where ssh-keygen finds it, or the file that we made."""

    id: str
    public_key: str
    storage: KeyStorage
    path: str

    def sign(self, message: bytes, ask: Ask) -> str:
        """Return the signature of a message; Forbidden if it was not unlocked, Unavailable."""
        if self.storage != "passphrase":
            return ssh.sign(self.path, self.public_key, message, is_agent=self.storage == "agent")
        return sshsig.seal(message, self.public_key, _unlock(Path(self.path), ask))


def folder_of(environ: Mapping[str, str]) -> Path:
    """Return the folder of a person's keys."""
    return Path(config_folder(environ)) / "keys"


def held(folder: Path) -> list[HeldKey]:
    """Return the keys of the folder; Unavailable if others can change it."""
    if not folder.is_dir():
        return []
    _refuse_shared(folder)
    keys = (_load(path) for path in sorted(folder.glob("*.json")))
    return [key for key in keys if key is not None]


def make(folder: Path, passphrase: str) -> HeldKey:
    """Make a key under a passphrase; Forbidden for a short one, Unavailable."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise Forbidden(
            f"a passphrase has at least {SHORTEST_PASSPHRASE} letters",
            hint="Several words are easier to keep in mind than few signs.",
        )
    private = ed25519.Ed25519PrivateKey.generate()
    encryption = serialization.PrivateFormat.OpenSSH.encryption_builder().kdf_rounds(_ROUNDS)
    content = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        encryption.build(passphrase.encode()),
    )
    public_key = sshsig.ed25519_line(private.public_key().public_bytes_raw())
    path = folder / _name_of(public_key)
    _keep(path, content)
    return remember(folder, public_key, "passphrase", str(path))


def remember(folder: Path, public_key: str, storage: KeyStorage, path: str) -> HeldKey:
    """Note where the private half of a key is."""
    note = canonical.dump({"path": path, "public_key": public_key, "storage": storage})
    _keep(folder / f"{_name_of(public_key)}.json", note)
    name = sshsig.key_id_of(public_key)
    return HeldKey(id=name, public_key=public_key, storage=storage, path=path)


def adopt_notes(folder: Path) -> None:
    """Have the notes of a folder lead to the keys beside them, after it was copied from another account; Unavailable."""
    for key in held(folder):
        path = folder / _name_of(key.public_key)
        if path.exists() and key.path != str(path):
            remember(folder, key.public_key, key.storage, str(path))


def _name_of(public_key: str) -> str:
    return sha256(public_key.encode()).hexdigest()[:_NAME]


def _load(path: Path) -> HeldKey | None:
    """Return the key that a note is of; None if it is no such note."""
    try:
        value = canonical.object_of(canonical.load(_read(path)))
        public_key, storage = sshsig.public_key_of(value["public_key"]), value["storage"]
    except (InvalidInput, KeyError, AttributeError) as fault:
        raise Unavailable(
            f"the note {path} of a key cannot be read", hint="Move it away, and add the key again."
        ) from fault
    if storage not in get_args(KeyStorage):
        return None
    return HeldKey(
        id=sshsig.key_id_of(public_key),
        public_key=public_key,
        storage=cast("KeyStorage", storage),
        path=str(value.get("path", "")),
    )


def _unlock(path: Path, ask: Ask) -> Callable[[bytes], bytes]:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    content = _read(path)
    try:
        key = serialization.load_ssh_private_key(content, ask("Passphrase of your key: ").encode())
    except (ValueError, TypeError) as fault:
        raise Forbidden(
            "the passphrase does not unlock your key", hint="Nothing was changed: try again."
        ) from fault
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise Unavailable(f"{path} is not the key that was made here")
    return key.sign


def _read(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise Unavailable(f"your key {path} cannot be read: {fault.strerror}") from fault
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & _FOR_OTHERS:
            raise Unavailable(
                f"your key {path} is no plain file of yours alone",
                hint=f"Run `chmod 600 {path}`; if others could read it, revoke it.",
            )
        return os.read(descriptor, _LARGEST)
    finally:
        os.close(descriptor)


def _keep(path: Path, content: bytes) -> None:
    """Write a file whole, for its owner alone, under a name that nothing has."""
    if os.access(path.parent, os.F_OK):
        _refuse_shared(path.parent)
    replace_file(path, content, what="your key")


def _refuse_shared(folder: Path) -> None:
    """Refuse a folder in which others could put a key of theirs in the place of one of these."""
    if folder.stat().st_mode & _WRITE_FOR_OTHERS:
        raise Unavailable(
            f"others can write the folder of your keys, {folder}",
            hint=f"Run `chmod 700 {folder}`, and make sure that the keys are still yours.",
        )
