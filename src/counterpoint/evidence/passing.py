"""A temporary folder, also if the usual place for temporary files is full."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from counterpoint.kernel.errors import StoreFull
from counterpoint.kernel.places import state_folder

_LEAST = 1 << 20
"""Bytes of room beside what is known to be needed."""


@contextmanager
def passing_folder(prefix: str, size_bytes: int) -> Generator[Path]:
    """Lend a folder with room for so many bytes: for temporary files, else in the user's state; StoreFull."""
    for where in (None, Path(state_folder(os.environ)) / "passing"):
        try:
            if where is not None:
                where.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
        except OSError:
            continue
        try:
            if shutil.disk_usage(folder).free >= size_bytes + _LEAST:
                yield folder
                return
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    raise StoreFull(
        "there is no room for temporary files, neither in the folder for them nor in the user's state",
        hint="Free some space, or set TMPDIR to a folder that has some.",
    )
