"""Which files still hold words that were to be gone, byte by byte."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

_PIECE: Final = 1 << 22


def files_of(database: Path) -> list[Path]:
    """Return the files of a database, and those of the folder of a ledger that it lies in."""
    folder = database.parent
    if folder.name == ".counterpoint":
        return sorted(path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in folder.glob(f"{database.name}*") if path.is_file())


def holding(files: Collection[Path], needles: Collection[bytes]) -> Iterator[Path]:
    """Return the files that have any of the needles in them; a file that cannot be read counts too."""
    overlap = max(map(len, needles), default=1) - 1
    for file in files:
        if _has(file, needles, overlap):
            yield file


def _has(file: Path, needles: Collection[bytes], overlap: int) -> bool:
    try:
        with file.open("rb") as stream:
            tail = b""
            while piece := stream.read(_PIECE):
                window = tail + piece
                if any(needle in window for needle in needles):
                    return True
                tail = window[-overlap:] if overlap else b""
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
