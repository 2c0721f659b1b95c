"""Keys worked out of a signature of the project's key, and kept in no file.

Whoever can write the database does not have them, and where the signer is of another account nobody of this one has. No server signs such a
statement for a caller: receipts, seals and heads begin with other words.
"""

from __future__ import annotations

from hashlib import sha256
from threading import Lock
from typing import ClassVar

from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.kernel.errors import Unavailable


class DerivedKeys:
    """Keys of one sort, by ledger, as this process has worked them out; each with the signer's key that it comes from."""

    statement: ClassVar[bytes]
    """What the signer signs for them: the line that is no other sort's."""

    def __init__(self) -> None:
        """Know none yet."""
        self._known: dict[tuple[str, bytes], bytes] = {}
        self._lock = Lock()

    def of(self, context: Context) -> bytes:
        """Return the key of a project; Unavailable if its signer cannot be asked.

        Asked while no transaction is open: nobody waits to write while a signer takes its time.
        """
        with context.reading() as view:
            project = view.find(Project)
        ledger = project.ledger if project else ""
        cache_key = ledger, context.ports.signer.known_key(ledger) or b""
        with self._lock:
            key = self._known.get(cache_key) if cache_key[1] else None
        if key is None:
            key = self._made(context, ledger)
            # Without a key of the signer there was none before that signature.
            cache_key = ledger, context.ports.signer.known_key(ledger) or b""
            with self._lock:
                self._known[cache_key] = key
        return key

    def _made(self, context: Context, ledger: str) -> bytes:
        signing, statement = LedgerSigning(context), self.statement + ledger.encode()
        signature = signing.statement(statement)
        # Another program may sign in a way of its own; what was made would be refused after its next start.
        if signing.statement(statement) != signature:
            raise Unavailable(
                "the signer of this project does not sign the same twice alike",
                hint="Use a signer whose signatures are those of RFC 8032.",
            )
        return sha256(self.statement + signature).digest()
