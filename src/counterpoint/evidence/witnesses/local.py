"""What a witness of our own remembers and signs.

Layout, in a folder of its own (see evidence/trust/folders.py):

    ed25519, ed25519.pub    the cosigning key (see keys.py)
    name                    the name of the key, for good: a cosignature does not sign it
    <SHA-256 of origin>     the head that was cosigned last: canonical JSON {"note", "origin", "root", "size", "time"}

1. Judging, remembering and signing happen under one lock of the folder, for threads and processes alike.
2. What was cosigned is on the disk, file and name, before its signature is given to anybody: a witness that is
   killed has forgotten nothing that it said.
3. A head that cannot be read is not taken for none: the log is refused until its operator says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosign
from counterpoint.core.ledger.witnesses.submission import (
    Cosigned,
    Submission,
    check_submission,
    open_submitted,
)
from counterpoint.evidence.keys import ProjectKey, open_key
from counterpoint.evidence.replacing import replace_file
from counterpoint.evidence.trust.folders import locked, make_private
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Clock, moment
from counterpoint.kernel.errors import InvalidInput, NotFound, Unavailable

_NAME: Final = re.compile(r"[^\s+]{1,200}")
_LARGEST: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWitness:
    """A witness: cosigns the heads of some logs, each of which extends the one before."""

    folder: Path
    logs: Collection[VerifierKey]
    clock: Clock
    key: CosignerKey
    _pair: ProjectKey = field(repr=False)

    def cosign(self, body: bytes) -> str:
        """Return the cosignature over a submitted checkpoint, remembered; the errors of `submission.py`."""
        submission = Submission.from_bytes(body)
        note, checkpoint = open_submitted(submission.note, self.logs)
        with locked(self.folder):
            check_submission(submission, checkpoint, self._last(checkpoint.origin))
            now = self.clock.now()
            record = {
                "note": submission.note,
                "origin": checkpoint.origin,
                "root": checkpoint.root.hex(),
                "size": checkpoint.size,
                "time": now,
            }
            replace_file(self._file(checkpoint.origin), canonical.dump(record))
            return cosign(note.text, self.key, self._pair.sign, int(moment(now).timestamp()))

    def forget(self, origin: str) -> None:
        """Let a log begin anew, because its operator said why elsewhere; NotFound."""
        with locked(self.folder):
            try:
                self._file(origin).unlink()
            except FileNotFoundError:
                raise NotFound(
                    f"this witness has no head of {origin}",
                    hint="Give the origin as the checkpoint says it: `counterpoint/PROJECT`.",
                ) from None

    def _last(self, origin: str) -> Cosigned | None:
        path = self._file(origin)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                value = canonical.object_of(canonical.load(file.read(_LARGEST)))
            return Cosigned(size=int(value["size"]), root=bytes.fromhex(value["root"]))
        except FileNotFoundError:
            return None
        except (OSError, InvalidInput, KeyError, TypeError, ValueError) as fault:
            raise Unavailable(
                f"what this witness remembers of {origin} cannot be read",
                hint=f"Restore {path}, or move it away if the log may begin anew.",
            ) from fault

    def _file(self, origin: str) -> Path:
        return self.folder / sha256(origin.encode()).hexdigest()


def open_local(
    folder: Path, logs: Collection[VerifierKey], clock: Clock, name: str = ""
) -> LocalWitness:
    """Return the witness of a folder, made on first use; InvalidInput, Unavailable.

    name: of its key; must be the one it was made with. Empty: that, or one by chance.
    """
    make_private(folder)
    with locked(folder):
        pair = open_key(folder)
        name_file = folder / "name"
        if not name_file.exists():
            chosen = name or f"counterpoint-witness/{pair.public_key.hex()[:8]}"
            if not _NAME.fullmatch(chosen):
                raise InvalidInput(
                    f"{chosen!r} is no name of a key", hint="Give one word without `+`."
                )
            replace_file(name_file, chosen.encode())
        key_name = name_file.read_text(encoding="utf-8")
    if name not in {"", key_name}:
        raise InvalidInput(
            f"this witness is called {key_name}",
            hint="A key has one name: give another folder for another witness.",
        )
    key = CosignerKey(name=key_name, public_key=pair.public_key)
    return LocalWitness(folder=folder, logs=logs, clock=clock, key=key, _pair=pair)
