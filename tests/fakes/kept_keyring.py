"""A backend of the library `keyring` that keeps secrets in a real file: machines that build have no keyring of a system."""

from __future__ import annotations

import json
import os
from pathlib import Path

import keyring.errors
from keyring.backend import KeyringBackend

FILE = "COUNTERPOINT_TEST_KEYRING"
"""Names the file; one that is not there is a keyring that is locked."""


class KeptKeyring(KeyringBackend):
    """Keeps what it is given in a file of mode 0600."""

    priority = 1  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride] -- as the library's own have it

    def get_password(self, service: str, username: str) -> str | None:
        """Return a secret, None if there is none."""
        return self._read().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a secret."""
        kept = {**self._read(), f"{service} {username}": password}
        Path(os.environ[FILE]).write_text(json.dumps(kept))

    def delete_password(self, service: str, username: str) -> None:
        """Refuse: nothing of ours deletes a key."""
        raise keyring.errors.PasswordDeleteError

    def _read(self) -> dict[str, str]:
        try:
            return json.loads(Path(os.environ[FILE]).read_text() or "{}")
        except OSError as fault:
            raise keyring.errors.KeyringLocked from fault
