"""Writing a ledger as static files, whole for a monitor at every moment.

1. The folder is new or empty, or has our mark with the id of this ledger; nothing is written into another one.
2. Files of a tree never change, so those that are there are left as they are, if the checkpoint beside them is one of this
   ledger's history; without it they are written again.
3. Each file is whole under its name, and the checkpoint comes last: what it needs is there before it. A tile that is not
   full goes when the full one is there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from counterpoint.cli.context import CommandContext
from counterpoint.core.ledger.exports.tiles import ENTRIES, WIDTH, Tile, tiles_of
from counterpoint.core.ledger.merkle import HASH_SIZE
from counterpoint.kernel.errors import Conflict, InvalidInput
from counterpoint.kernel.plurals import counted

_MARK: Final = ".counterpoint-tiles"
_CHECKPOINT: Final = "checkpoint"
_EVERY: Final = 256
"""Files between two words about how far it is."""


def write_tiles(context: CommandContext, folder: Path) -> None:
    """Write the ledger into a folder, or what is new of it; Conflict for a folder of somebody else."""
    exports, out = context.core.exports, context.out
    context.core.signing.renew()
    ledger, head = exports.head()
    _claim(folder, ledger)
    checkpoint = folder / _CHECKPOINT
    known_size = (
        exports.size_of(checkpoint.read_text(encoding="utf-8")) if checkpoint.exists() else 0
    )
    left_out: list[str] = []
    written = 0
    with out.counting("Writing") as count:
        for tile in tiles_of(head.size):
            path = folder / tile.path
            if known_size and _is_whole(path, tile):
                continue
            try:
                _write(path, exports.tile(tile))
            except InvalidInput as refused:
                left_out.append(refused.message)
                continue
            written += 1
            if tile.count == WIDTH:
                shutil.rmtree(path.with_name(f"{path.name}.p"), ignore_errors=True)
            if tile.level == ENTRIES and tile.number % _EVERY == 0:
                count(tile.stop)
    _write(checkpoint, head.note.encode())
    out.line(
        f"Wrote {counted(head.size, 'entry')} as tiles to {folder}, {written:,} files of them new."
    )
    out.line(f"  origin  {head.note.partition(chr(10))[0]}")
    out.line(f"  key     {context.core.audit.key.to_text()}")
    for message in left_out:
        out.aside(f"Left out a bundle: {message}.")


def _claim(folder: Path, ledger: str) -> None:
    """Make a folder ours, unless something else is in it; Conflict."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / _MARK
    if mark.exists():
        if mark.read_text(encoding="utf-8", errors="replace") != f"{ledger}\n":
            raise Conflict(f"{folder} has tiles of another ledger", hint="Choose another folder.")
        return
    if any(folder.iterdir()):
        raise Conflict(
            f"{folder} is not empty, and not of an export",
            hint="Choose a folder that is new, empty, or was written by this command.",
        )
    _write(mark, f"{ledger}\n".encode())


def _is_whole(path: Path, tile: Tile) -> bool:
    """Tell whether a file is there, and not only its name, as it can be after a loss of power."""
    size = path.stat().st_size if path.is_file() else 0
    return size > 0 if tile.level == ENTRIES else size == tile.count * HASH_SIZE


def _write(path: Path, content: bytes) -> None:
    """Write a file that is whole as soon as it has its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
