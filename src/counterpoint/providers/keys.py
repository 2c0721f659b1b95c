"""Keys of providers: where a person has put them, and where each goes.

A key is looked for in this order: (1) a file of the person's own, `$XDG_CONFIG_HOME/counterpoint/providers/NAME`: JSON with the `address` that the key was given for, and the
`key`, or without one if that lies in the system's keyring; (2) a variable of the server (`known.py`). A file counts if and only if it is a
plain file, no link, of this user, that nobody else can read or write; another one is refused and not passed over. A key that was given for one
address goes to no other.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.kernel.durable import make_folder
from counterpoint.kernel.errors import InvalidInput, ProviderAway
from counterpoint.kernel.places import provider_folder
from counterpoint.providers.known import variables_of

RING: Final = "counterpoint-providers"
LONGEST: Final = 10_000
_RING_WORDS: Final = "the keyring of the system"
_OTHERS: Final = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The key of a provider. address: that it was given for; empty for any that a person trusted. source: where it was found, in words."""

    secret: str = field(repr=False)
    address: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The keys that this person has. environ: the variables of the server."""

    environ: Mapping[str, str] = field(repr=False)

    @property
    def folder(self) -> Path:
        """The folder of their files."""
        return Path(provider_folder(self.environ))

    def find(self, name: str) -> Key | None:
        """Return the key of a provider, None without one; ProviderAway if its file is not this person's alone."""
        return self._in_file(name) or self._in_variables(name)

    def find_for(self, name: str, address: str) -> Key | None:
        """Return the key for an address, None without one; ProviderAway for one that was given for another."""
        key = self.find(name)
        if key is not None and key.address not in {"", address}:
            raise ProviderAway(
                f"its key was given for {key.address}, and is not sent to {address}",
                hint=f"Have a person run `counterpoint provider login {name}`.",
            )
        return key

    def put(self, name: str, secret: str, address: str, *, in_ring: bool = False) -> str:
        """Keep a key for an address in the place of one before; return where, in words. InvalidInput, ProviderAway."""
        if not secret or len(secret) > LONGEST or not secret.isprintable() or " " in secret:
            raise InvalidInput("this is no key", hint="Give the key alone, on one line.")
        make_folder(self.folder)
        self._check(self.folder.lstat(), self.folder)
        record = {"address": address}
        if in_ring:
            self._asked_of_ring("set_password", name, secret)
        else:
            record["key"] = secret
        path, draft = self.folder / name, self.folder / f".{name}.{os.getpid()}"
        with suppress(FileNotFoundError):
            draft.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, 0o600), "w") as file:
            file.write(json.dumps(record))
        draft.replace(path)
        return _RING_WORDS if in_ring else str(path)

    def drop(self, name: str) -> bool:
        """Take the key of a provider away, from the keyring too; return whether there was one."""
        path = self.folder / name
        try:
            record = self._load_record(path)
        except ProviderAway:
            # What nobody may rely on is taken away all the same.
            record = {"key": ""}
        if record is None:
            return False
        if "key" not in record:
            self._asked_of_ring("delete_password", name)
        path.unlink()
        return True

    def _in_file(self, name: str) -> Key | None:
        path = self.folder / name
        record = self._load_record(path)
        if record is None:
            return None
        if "key" in record:
            return Key(secret=record["key"], address=record["address"], source=str(path))
        secret = self._asked_of_ring("get_password", name)
        if not secret:
            raise ProviderAway("the system's keyring has not the key that was put there")
        return Key(secret=secret, address=record["address"], source=_RING_WORDS)

    def _load_record(self, path: Path) -> dict[str, str] | None:
        """Return what the file of a key says, None without one; ProviderAway."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise ProviderAway(f"{path} cannot be read ({fault.strerror})") from fault
        with os.fdopen(descriptor, "rb") as file:
            self._check(os.fstat(descriptor), path)
            content = file.read(LONGEST * 2)
        try:
            parsed = json.loads(content)
        except ValueError as fault:
            raise ProviderAway(f"{path} has no key of a provider") from fault
        record = cast("dict[str, Any]", parsed if isinstance(parsed, dict) else {})
        if "address" not in record or not all(isinstance(value, str) for value in record.values()):
            raise ProviderAway(f"{path} has no key of a provider")
        return cast("dict[str, str]", record)

    def _in_variables(self, name: str) -> Key | None:
        variable = next(
            (candidate for candidate in variables_of(name) if self.environ.get(candidate)), None
        )
        if variable is None:
            return None
        return Key(secret=self.environ[variable], address="", source=f"the variable {variable}")

    def _asked_of_ring(self, verb: str, name: str, *more: str) -> str | None:
        """Return what the keyring of the system answers; ProviderAway."""
        try:
            ring, errors = import_module("keyring"), import_module("keyring.errors")
        except ImportError as missing:
            from counterpoint.kernel.extras import install_hint

            raise ProviderAway(
                "a key in the keyring of the system needs the package keyring, which is not installed",
                hint=install_hint("keyring"),
            ) from missing
        try:
            return cast("str | None", getattr(ring, verb)(RING, name, *more))
        except errors.KeyringError as fault:
            # Its words are those of a system, and may be long.
            raise ProviderAway(f"the keyring cannot be used: {type(fault).__name__}") from fault

    def _check(self, status: os.stat_result, path: Path) -> None:
        is_folder = stat.S_ISDIR(status.st_mode)
        is_own = (is_folder or stat.S_ISREG(status.st_mode)) and status.st_uid == os.getuid()
        if not is_own or status.st_mode & _OTHERS:
            mode = "700" if is_folder else "600"
            raise ProviderAway(
                f"{path} is not this account's alone",
                hint=f"Look who could have read it, then run `chmod {mode} {path}`, or take another key.",
            )
