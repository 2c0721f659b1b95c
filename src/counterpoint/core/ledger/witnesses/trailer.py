"""The trailer `Counterpoint-Head`: a signed head in the message of a commit.

Layout, folded as git folds a trailer, so that no line is longer than checkers of messages allow:

    Counterpoint-Head: ORIGIN LEDGER SIZE EPOCH
     ROOT
     SIGNATURE

Six words: the origin, size and root of a checkpoint (see checkpoint.py), the id of the ledger, the epoch, 1 without a
line that says one, and the base64 of a signature line by a key whose name is the origin.

1. The words make the checkpoint as it was signed again, so a head that nobody signed accuses no ledger.
2. Without the id a head of another clone's ledger, which has the same origin, would look like one by a strange key.
3. What has not six such words is no trailer of ours; cosignatures of witnesses are left out.
"""

from __future__ import annotations

import re
from typing import Final

from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.growth import epoch_of
from counterpoint.core.ledger.note import open_note, to_base64
from counterpoint.core.model.trust.heads import FIRST_EPOCH

KEY: Final = "Counterpoint-Head"
_WORDS: Final = re.compile(
    r"(\S{1,200}) ([a-z0-9_]{1,64}) ([0-9]{1,19}) ([0-9]{1,9}) ([A-Za-z0-9+/=]{44}) ([A-Za-z0-9+/=]{92})"
)


def render_trailer(note: str, ledger: str) -> str:
    """Return the trailer of a signed checkpoint; MalformedDocument for what is none."""
    opened = open_note(note)
    head = Checkpoint.from_text(opened.text)
    first = next(signature for signature in opened.signatures if signature.name == head.origin)
    words = f"{head.origin} {ledger} {head.size} {epoch_of(head.extensions)}"
    return f"{KEY}: {words}\n {to_base64(head.root)}\n {to_base64(first.key_id + first.signature)}"


def parse_trailer(value: str, ledger: str) -> tuple[int, str] | None:
    """Return the size and the signed checkpoint of a trailer's value; None for what is not of this ledger."""
    match = _WORDS.fullmatch(" ".join(value.split()))
    if match is None or match[2] != ledger:
        return None
    origin, _, size, epoch, root, signature = match.groups()
    more = f"epoch {epoch}\n" if int(epoch) > FIRST_EPOCH else ""
    return int(size), f"{origin}\n{size}\n{root}\n{more}\n— {origin} {signature}\n"
