"""Compares the texts that are kept with what the entries refer to.

Rules: (1) a text and its salt are what the commitment says. (2) Each text that an entry refers to is there, unless a later
entry tells that it was taken away; then it is not. (3) No text is there to which nothing refers.
What entries refer to is noted as rows of a store that passes away, so memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from counterpoint.core.ledger.entry import list_references
from counterpoint.core.ledger.lines import list_redacted
from counterpoint.core.model.rows import Digest, Noun
from counterpoint.core.operations.auditing.sameness import DIFFERENCES_SHOWN
from counterpoint.core.ports.store import Reading, Writing
from counterpoint.kernel.errors import ProofMismatch

_REMEMBERED: Final = 20_000
_HALF: Final = 32
"""Digits of a commitment that a text is kept by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferredText(Noun):
    """A text that entries refer to; gone: it was taken away after it was referred to last."""

    table = "referred"
    key = ("project", "commitment")

    commitment: Digest
    gone: bool = False


class References:
    """Notes what entries refer to, one entry after the other."""

    def __init__(self, writing: Writing) -> None:
        """Note it in a store that has a table for it."""
        self._writing = writing
        self._lately: dict[str, None] = {}

    def read(self, data: bytes, fields: Mapping[str, Any]) -> None:
        """Note the references of an entry, and what it tells was taken away."""
        for commitment in list_references(data):
            if commitment not in self._lately:
                self._note(commitment, gone=False)
        for commitment in list_redacted(fields):
            if self._writing.exists(ReferredText, commitment=commitment):
                self._note(commitment, gone=True)
                self._lately.pop(commitment, None)

    def _note(self, commitment: str, *, gone: bool) -> None:
        project = self._writing.project
        row = {"project": project, "commitment": commitment, "gone": int(gone)}
        self._writing.put(ReferredText, row)
        self._lately[commitment] = None
        if len(self._lately) > _REMEMBERED:
            self._lately.clear()


class TextCheck:
    """Walks what is kept and what is referred to side by side, both by their commitments."""

    def __init__(self, view: Reading, replayed: Reading) -> None:
        """Compare a view with the store in which the references of its entries are noted."""
        self._view = view
        self._replayed = replayed
        self.redacted = 0
        """How many texts were taken away."""

    def faults(self) -> Iterator[ProofMismatch]:
        """Return what is wrong, and count what was taken away."""
        for number, fault in enumerate(self._walk()):
            if number < DIFFERENCES_SHOWN:
                yield fault

    def _walk(self) -> Iterator[ProofMismatch]:
        references = self._replayed.table(ReferredText)
        row: Any = next(references, None)
        for half, text in self._view.texts():
            while row is not None and row[1][:_HALF] < half:
                yield from self._missing(row)
                row = next(references, None)
            if row is None or row[1][:_HALF] != half:
                yield _wrong(half, "is kept, but no entry refers to it")
                continue
            if row[2]:
                yield _wrong(row[1], "is kept, but an entry tells that it was taken away")
            if text.commitment != row[1]:
                yield _wrong(row[1], "was changed")
            row = next(references, None)
        while row is not None:
            yield from self._missing(row)
            row = next(references, None)

    def _missing(self, row: tuple[Any, ...]) -> Iterator[ProofMismatch]:
        _, commitment, gone = row
        if gone:
            self.redacted += 1
        else:
            yield _wrong(commitment, "is missing, and no entry tells that it was taken away")


def _wrong(name: str, what: str) -> ProofMismatch:
    return ProofMismatch(f"the text {name[:12]}… {what}", hint="Restore a backup.", text=name)
