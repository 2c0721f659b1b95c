"""The record of the files of specs, and the meaning of a file that differs from it.

A file is ours if it has the SHA-256 that was written last, or was to be written when the process ended. Any other is an edit: it is
applied if the ledger has not moved for that spec since, and it was made from what was written last or from something later: whoever
edits by hand keeps the `last_updated` that he opened. Any other is a conflict, which is told and left alone. So is a file
that is no document, or of which a part is refused. An edit that a run or a role keeps out (`locked`) waits: it is looked at again
when that is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from counterpoint.dialects.foundry.rules.versions import moment_of
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput

TroubleKind = Literal["conflict", "invalid", "refused", "double", "locked"]
Meaning = Literal["ours", "edit", "conflict"]
_VERSION: Final = 1
_OF_WRITING: Final = frozenset({"last_updated", "journal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The file of a spec as it was written last, or as it came in.

    pending: the SHA-256 that was to come next. updated: its `last_updated`. stands: the SHA-256 of the document for which it
    stands, where that says the same in other words; empty if it is that document.
    """

    folder: str
    sha256: str
    position: int
    mtime: int = 0
    size: int = -1
    pending: str = ""
    updated: str = ""
    stands: str = ""

    @property
    def documents(self) -> frozenset[str]:
        """The SHA-256 of each document that the ledger may have if it has not moved since."""
        return frozenset({self.sha256, self.pending, self.stands})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why the file of a spec is left alone; sha256: of the file at that time."""

    kind: TroubleKind
    message: str
    folder: str
    sha256: str


@dataclass(slots=True, kw_only=True)
class Record:
    """What is known of the files of a project; position: up to where the ledger was looked at."""

    position: int = -1
    files: dict[str, Written] = field(default_factory=dict[str, Written])
    troubles: dict[str, Trouble] = field(default_factory=dict[str, Trouble])


def meaning_of(sha256: str, written: Written | None, now: str) -> Meaning:
    """Return what a file with a SHA-256 means; now: that of the document as the ledger has it."""
    if sha256 == now or (written is not None and sha256 in {written.sha256, written.pending}):
        return "ours"
    if written is not None and now in written.documents:
        return "edit"
    return "conflict"


def is_older(updated: Json, last: Json) -> bool:
    """Return whether a `last_updated` is older than the last one, or says no time."""
    if updated == last:
        return False
    moments = [_moment(text) for text in (updated, last)]
    return moments[0] is None or (moments[1] is not None and moments[0] < moments[1])


def says_the_same(file: Mapping[str, Json], now: Mapping[str, Json]) -> bool:
    """Return whether a file of a later version may stay as it is: but for the time and the journal it is the document."""
    of_file, of_now = (
        {name: value for name, value in document.items() if name not in _OF_WRITING}
        for document in (file, now)
    )
    return not is_older(now["last_updated"], file.get("last_updated")) and of_file == of_now


def dump_record(record: Record) -> bytes:
    """Return a record as it is kept."""
    return canonical.dump_any(
        {
            "version": _VERSION,
            "position": record.position,
            "files": {name: asdict(file) for name, file in record.files.items()},
            "troubles": {name: asdict(trouble) for name, trouble in record.troubles.items()},
        }
    ).encode()


def load_record(data: bytes) -> Record:
    """Parse a stored record; an invalid one counts as empty."""
    try:
        fields = object_of(canonical.load(data))
        if fields.get("version") != _VERSION:
            return Record()
        return Record(
            position=int(fields["position"]),
            files={name: Written(**file) for name, file in _objects(fields["files"])},
            troubles={name: Trouble(**trouble) for name, trouble in _objects(fields["troubles"])},
        )
    except (InvalidInput, KeyError, TypeError, ValueError):
        return Record()


def _moment(value: Json) -> Timestamp | None:
    return moment_of(value) if isinstance(value, str) else None


def _objects(value: Json) -> list[tuple[str, dict[str, Json]]]:
    return [(name, object_of(part)) for name, part in object_of(value).items()]
