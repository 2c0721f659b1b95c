"""Comments on lines of a difference: comments on the task, and fixes once it is sent back.

A comment on a line is a record of the kind `comment` whose `files` is the file, and whose `details` say `line`, `side` (`new` or `old`)
and `commit`. So every dialect shows it among the comments; sent back, it is one of the fixes, by file and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from counterpoint.board.hunks import DiffFile
from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.rules.drafting import TITLE_LIMIT
from counterpoint.kernel.canonical import load
from counterpoint.kernel.errors import InvalidInput

SIDES: Final = ("new", "old")
_COMMIT_SHOWN: Final = 10


def line_note(item: str, body: str, fields: Mapping[str, str], line: int) -> Note:
    """Return the comment on a line that a form asks for; InvalidInput."""
    side = fields.get("side", "new")
    if line < 1 or side not in SIDES:
        raise InvalidInput("no line has this number", hint="Give the number beside the line.")
    path, commit = fields["file"], fields.get("commit", "")[:64]
    return Note(
        kind="comment",
        # What shows no details says where it is all the same.
        title=_name_line(path, line, side, commit)[:TITLE_LIMIT],
        body=body,
        item=item,
        files=(path,),
        details={"line": line, "side": side, "commit": commit},
    )


def place_remarks(files: Iterable[DiffFile], records: Sequence[Record]) -> list[Record]:
    """Give the lines of a difference the comments on them; return those whose line is not in it."""
    by_line: dict[tuple[str, str, int], list[Record]] = {}
    for record in reversed(records):
        if details := _details(record):
            line_key = record.files[0], details["side"], details["line"]
            by_line.setdefault(line_key, []).append(record)
    for file in files:
        for line in file.lines:
            for side, number in (("old", line.before), ("new", line.after)):
                line.remarks += by_line.pop((file.path, side, number), [])
    return [record for left_records in by_line.values() for record in left_records]


def fixes_of(records: Iterable[Record], author: str, since: str) -> list[str]:
    """Return what an author's comments on lines since a time ask for, each on one line, the oldest first."""
    fixes: list[str] = []
    for record in records:
        details = _details(record)
        if details and record.agent == author and record.created_at > since:
            line = _name_line(record.files[0], details["line"], details["side"], details["commit"])
            fixes.insert(0, f"{line}: {' '.join(record.body.split())}")
    return fixes


def _name_line(path: str, line: int, side: str, commit: str) -> str:
    """Return a line of a file in words."""
    at = f" at {commit[:_COMMIT_SHOWN]}" if commit else ""
    return f"{path} line {line}{' as it was' if side == 'old' else ''}{at}"


def _details(record: Record) -> dict[str, Any]:
    """Return on which line a comment is; empty for any other record."""
    if record.kind != "comment" or not record.files or record.details in {"", REDACTED}:
        return {}
    details: dict[str, Any] = load(record.details)
    is_placed = isinstance(details.get("line"), int) and details.get("side") in SIDES
    return details if is_placed and isinstance(details.get("commit"), str) else {}
