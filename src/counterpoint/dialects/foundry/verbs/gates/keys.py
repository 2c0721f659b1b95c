"""The key that proves evidence of gates to be as its reviewer left it.

It is worked out of a signature of the project's key, and kept in no file: whoever can write the database cannot make evidence, and where
the signer is of another account, nobody of this one can. No server signs such a statement for a caller: receipts, seals and heads begin
with other words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import Final

from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.signing import Signing
from counterpoint.kernel.errors import Unavailable

STATEMENT: Final = b"counterpoint gate evidence v1\n"


@dataclass(slots=True, kw_only=True)
class EvidenceKeys:
    """Those keys, by ledger, as this process has worked them out; each with the signer's key that it comes from."""

    _known: dict[tuple[str, bytes], bytes] = field(
        init=False, repr=False, default_factory=dict[tuple[str, bytes], bytes]
    )
    _lock: Lock = field(init=False, repr=False, default_factory=Lock)

    def of(self, context: Context) -> bytes:
        """Return the key of a project; Unavailable if its signer cannot be asked.

        Asked while no transaction is open: nobody waits to write while a signer takes its time.
        """
        with context.reading() as view:
            project = view.find(Project)
        ledger = project.ledger if project else ""
        place = ledger, context.ports.signer.known_key(ledger) or b""
        with self._lock:
            found = self._known.get(place) if place[1] else None
        if found is None:
            found = _made(context, ledger)
            # Without a key of the signer there was none before that signature.
            place = ledger, context.ports.signer.known_key(ledger) or b""
            with self._lock:
                self._known[place] = found
        return found


def _made(context: Context, ledger: str) -> bytes:
    signing, statement = Signing(context), STATEMENT + ledger.encode()
    signature = signing.statement(statement)
    # Another program may sign in a way of its own; evidence would be refused after its next start.
    if signing.statement(statement) != signature:
        raise Unavailable(
            "the signer of this project does not sign the same twice alike",
            hint="Use a signer whose signatures are those of RFC 8032.",
        )
    return sha256(STATEMENT + signature).digest()
