"""Lists the plain files below a folder of a root; no link is followed."""

from __future__ import annotations

import os
from pathlib import Path

from counterpoint.evidence.paths import contain, real_root
from counterpoint.kernel.errors import InvalidInput


def below(root: Path, folder: str, limit: int) -> list[str]:
    """Return the paths of the files, relative to the root, by name; empty without the folder.

    Raises PathOutside, InvalidInput if there are more than the limit.
    """
    top = real_root(root)
    start = top / contain(root, folder)
    found: list[str] = []
    for place, folders, files in os.walk(start):
        folders.sort()
        for name in sorted(files):
            file = Path(place, name)
            if file.is_file() and not file.is_symlink():
                found.append(file.relative_to(top).as_posix())
            if len(found) > limit:
                raise InvalidInput(
                    f"`{folder}` has more than {limit} files", hint="Take out what is no artifact."
                )
    return found
