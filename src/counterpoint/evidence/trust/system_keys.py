"""Keys of ledgers in the keyring of the system, in place of files.

Each stands under the name `counterpoint` and the id of its ledger, as PEM (PKCS #8). The library that knows the keyrings of systems is
loaded by the first signature. A keyring that takes a key and does not give it back is none.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from counterpoint.evidence.keys import ProjectKey, load_key, make_key
from counterpoint.evidence.trust.folders import locked
from counterpoint.kernel.errors import SignerAway

NAME: Final = "counterpoint"
_HINT: Final = "Unlock or set up a keyring, or set COUNTERPOINT_SIGNER to `file`."


def find_key(folder: Path) -> ProjectKey | None:
    """Return the key of the ledger that a folder is of, None if there is none; SignerAway."""
    stored = _get(folder.name)
    return load_key(stored.encode()) if stored is not None else None


def find_public(_folder: Path) -> bytes | None:
    """Return None: a keyring has no public half for itself, and a file of one is from before it was chosen."""
    return None


def open_key(folder: Path) -> ProjectKey:
    """Return the key of the ledger that a folder is of, made on first use; SignerAway."""
    # Of processes that make one at the same time one wins, and all have its key.
    with locked(folder):
        key = find_key(folder)
        if key is not None:
            return key
        fresh = make_key()
        _set(folder.name, fresh.decode())
        key = find_key(folder)
    if key is None or key.public_key != load_key(fresh).public_key:
        raise SignerAway("the keyring of this system keeps nothing", hint=_HINT)
    return key


def _get(ledger: str) -> str | None:
    keyring = _library()
    try:
        return keyring.get_password(NAME, ledger)
    except keyring.errors.KeyringError as fault:
        raise _away(fault) from fault


def _set(ledger: str, secret: str) -> None:
    keyring = _library()
    try:
        keyring.set_password(NAME, ledger, secret)
    except keyring.errors.KeyringError as fault:
        raise _away(fault) from fault


def _away(fault: Exception) -> SignerAway:
    # Its words are those of a system, and may be long.
    return SignerAway(f"the keyring cannot be used: {type(fault).__name__}", hint=_HINT)


def _library() -> ModuleType:
    try:
        keyring = import_module("keyring")
        import_module("keyring.errors")
    except ImportError as missing:
        from counterpoint.kernel.extras import install_hint

        raise SignerAway(
            "a key in the keyring of the system needs the package keyring, which is not installed",
            hint=install_hint("keyring"),
        ) from missing
    return keyring
