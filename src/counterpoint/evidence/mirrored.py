"""Files of the tree that this program wrote itself, which are nobody's work.

What was written last is told by files beside the ledger, `specs-<project>.json`: each has a name and the SHA-256 under it. A file counts
as ours only while it is as it was written, or is gone: an edit of somebody is work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from counterpoint.core.model.evidence import Comparison
from counterpoint.evidence import paths
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import object_of
from counterpoint.kernel.errors import CounterpointError, InvalidInput

_FOLDER: Final = "specs"


def without_own(comparison: Comparison, root: Path, state: Path | None) -> Comparison:
    """Return a comparison of a tree without what this program wrote; state: the folder of the ledger."""
    if state is None or not any(
        change.path.startswith(f"{_FOLDER}/") for change in comparison.changes
    ):
        return comparison
    own = dict(_written(state))
    changes = tuple(
        change
        for change in comparison.changes
        if not _is_own(root, change.path, own.get(Path(change.path).name, ""))
    )
    return (
        replace(comparison, changes=changes)
        if len(changes) < len(comparison.changes)
        else comparison
    )


def _written(state: Path) -> Iterator[tuple[str, str]]:
    """Return the names of the files with the SHA-256 of each."""
    for file in sorted(state.glob(f"{_FOLDER}-*.json")):
        with suppress(OSError, InvalidInput):
            record = object_of(canonical.load(file.read_bytes()))
            for name, entry in object_of(record.get("files")).items():
                yield f"{name}.json", str(object_of(entry).get("sha256", ""))


def _is_own(root: Path, path: str, sha256: str) -> bool:
    if not sha256 or not path.startswith(f"{_FOLDER}/"):
        return False
    try:
        return paths.digest(root, path)[0] == sha256
    except CounterpointError:
        return not (root / path).exists()
