"""Finds files that still contain words after their redaction, byte by byte."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

_PIECE: Final = 1 << 22


def files_of(database: Path, *others: Path) -> list[Path]:
    """Return the files of a database, of the folder of a ledger that it lies in, and of other folders."""
    folder = database.parent
    files = {path for path in folder.glob(f"{database.name}*") if path.is_file()}
    for location in (folder if folder.name == ".counterpoint" else database, *others):
        files |= {path for path in location.rglob("*") if path.is_file()}
    return sorted(files)


def files_of_tree(tree: Path) -> Iterator[Path]:
    """Return the files of a working tree: neither what git keeps of them, nor those of the ledger."""
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name not in {".git", ".counterpoint"})
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def holding(files: Collection[Path] | Iterator[Path], needles: Collection[bytes]) -> Iterator[Path]:
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
