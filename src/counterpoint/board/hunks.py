"""A difference as git prints it, as files, hunks and lines of a page.

Rules: (1) the text is data: what is not understood is shown as it stands. (2) A page takes `MAX_LINES` lines and `MAX_COLUMNS`
characters of each; how much more there is, is counted. (3) The first `MAX_COLOURED` characters have the colours of their language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from counterpoint.board.colours import Colours, Piece, language_of
from counterpoint.core.model.journal import Record

MAX_LINES: Final = 2_000
MAX_COLUMNS: Final = 400
MAX_COLOURED: Final = 120_000
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@(.*)", re.DOTALL)
_FILE: Final = "diff --git "
_HEADS: Final = ("index ", "--- ", "+++ ", "old mode", "new mode", "new file", "deleted file")

LineKind = Literal["add", "del", "same", "hunk", "note"]


@dataclass(slots=True)
class DiffLine:
    """One line: its numbers before and after, 0 where it has none."""

    kind: LineKind
    before: int
    after: int
    text: str
    pieces: list[Piece] = field(default_factory=list[Piece])
    remarks: list[Record] = field(default_factory=list[Record])


@dataclass(slots=True)
class DiffFile:
    """The lines of one file."""

    path: str
    lines: list[DiffLine] = field(default_factory=list[DiffLine])
    added: int = 0
    removed: int = 0


def parse_diff(text: str) -> tuple[list[DiffFile], int]:
    """Return the files of a difference, and how many lines of it are left out."""
    files: list[DiffFile] = []
    before = after = count = 0
    is_in_hunk = False
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    for line in lines:
        if line.startswith(_FILE):
            files.append(DiffFile(path=line[len(_FILE) :].rpartition(" b/")[2]))
            is_in_hunk = False
            continue
        if not files:
            files.append(DiffFile(path=""))
        file = files[-1]
        if not is_in_hunk and line.startswith(_HEADS):
            continue
        hunk = _HUNK.fullmatch(line)
        kind: LineKind = "note"
        if hunk is not None:
            kind, is_in_hunk = "hunk", True
            before, after = int(hunk[1]), int(hunk[2])
        elif is_in_hunk and line[:1] in {"+", "-", " "}:
            kind = "add" if line[0] == "+" else "del" if line[0] == "-" else "same"
        numbers = (
            before if kind in {"del", "same"} else 0,
            after if kind in {"add", "same"} else 0,
        )
        before += kind in {"del", "same"}
        after += kind in {"add", "same"}
        file.added += kind == "add"
        file.removed += kind == "del"
        count += 1
        if count <= MAX_LINES:
            file.lines.append(
                DiffLine(kind, *numbers, _cut(line if kind in {"hunk", "note"} else line[1:]))
            )
    _colour(files)
    return files, max(0, count - MAX_LINES)


def _colour(files: list[DiffFile]) -> None:
    """Give the lines of some files their pieces."""
    characters = MAX_COLOURED
    for file in files:
        language = language_of(file.path)
        before, after = (Colours(language), Colours(language)) if language else (None, None)
        for line in file.lines:
            line.pieces = [("", line.text)]
            characters -= len(line.text)
            if before is None or after is None or characters < 0:
                continue
            if line.kind == "hunk":
                before.begin()
                after.begin()
            if line.kind in {"del", "same"}:
                line.pieces = before.pieces(line.text)
            if line.kind in {"add", "same"}:
                line.pieces = after.pieces(line.text)


def _cut(line: str) -> str:
    return (
        line
        if len(line) <= MAX_COLUMNS
        else f"{line[:MAX_COLUMNS]} … {len(line) - MAX_COLUMNS:,} more characters"
    )
