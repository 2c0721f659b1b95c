"""Files of the tree that this program wrote itself, which are nobody's work.

Files of a ledger are told by their names. What was written last of specs is told by files beside the ledger, `specs-<project>.json`: each has a name and the SHA-256 under it. A file counts
as ours only while it is as it was written, or is gone: an edit of somebody is work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from counterpoint.core.model.evidence import Comparison, Snapshot
from counterpoint.evidence import paths
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import object_of
from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.kernel.ownership import BESIDE, IN_FOLDER, is_of_database
from counterpoint.kernel.places import FOLDER

_FOLDER: Final = "specs"
_WRITTEN: Final = f"{_FOLDER}-*.json"
_IN_FOLDER: Final = re.compile(
    "|".join(re.escape(name).replace(r"\*", "[^/]*") for name in IN_FOLDER)
)
_MAGIC: Final = re.compile(r"([*?\[\\])")
_QUOTED: Final = r"\\\1"


def without_own(comparison: Comparison, root: Path, database: Path | None) -> Comparison:
    """Return a comparison of a tree without what this program wrote; database: that of the ledger."""
    if database is None:
        return comparison
    folder, changes = database.parent, comparison.changes
    # The folder of its own at the top is nowhere looked into.
    if folder != root / FOLDER and folder.is_relative_to(root):
        is_of_ledger = _find_ledger(root, database)
        changes = tuple(change for change in changes if not is_of_ledger(change.path))
        start, end = (_without(part, is_of_ledger) for part in (comparison.start, comparison.end))
        comparison = replace(comparison, changes=changes, start=start, end=end)
    if not any(change.path.startswith(f"{_FOLDER}/") for change in changes):
        return comparison
    own = dict(_written(folder))
    changes = tuple(
        change
        for change in changes
        if not _is_own(root, change.path, own.get(Path(change.path).name, ""))
    )
    return replace(comparison, changes=changes)


def without_ledger(snapshot: Snapshot, root: Path, database: Path | None) -> Snapshot:
    """Return a snapshot of a tree without the files of the ledger."""
    if database is None or database.parent == root / FOLDER or not database.is_relative_to(root):
        return snapshot
    return _without(snapshot, _find_ledger(root, database))


def ledger_patterns(root: Path, database: Path, project: str) -> list[str]:
    """Return patterns, as git ignores by them, of the files of a ledger that lies in a tree; none if it has its own folder or lies elsewhere.

    Of what was written of specs only that of the project: `specs-api.json` may be somebody's work.
    """
    folder = database.parent
    if folder.name == FOLDER or not folder.is_relative_to(root):
        return []
    names = [*(f"{_MAGIC.sub(_QUOTED, database.name)}{ending}" for ending in BESIDE), *IN_FOLDER]
    # Git would pass over a folder of that name, too.
    names.remove("cursors")
    names[names.index(_WRITTEN)] = _MAGIC.sub(_QUOTED, _WRITTEN.replace("*", project))
    prefix = _MAGIC.sub(_QUOTED, folder.relative_to(root).as_posix())
    return [name if prefix == "." else f"{prefix}/{name}" for name in names]


def _find_ledger(root: Path, database: Path) -> Callable[[str], bool]:
    """Return what tells whether a path of a tree is a file of the ledger, which lies in that."""
    folder = database.parent
    prefix = "" if folder == root else f"{folder.relative_to(root).as_posix()}/"

    def is_of_ledger(path: str) -> bool:
        name = path.removeprefix(prefix)
        return path.startswith(prefix) and (
            (folder.name == FOLDER and folder != root)
            or is_of_database(name, database.name)
            or (_IN_FOLDER.fullmatch(name) is not None and not is_of_others(name))
        )

    def is_of_others(name: str) -> bool:
        # Somebody's file may be called so, but no ledger is kept here of a project of that name.
        project = name.removeprefix(f"{_FOLDER}-").removesuffix(".json")
        is_written = name == _WRITTEN.replace("*", project)
        return is_written and not (folder / "checkpoints" / f"{project}.note").exists()

    return is_of_ledger


def _without(snapshot: Snapshot, is_of_ledger: Callable[[str], bool]) -> Snapshot:
    if not any(map(is_of_ledger, snapshot.files)):
        return snapshot
    files = {path: mark for path, mark in snapshot.files.items() if not is_of_ledger(path)}
    return replace(snapshot, files=files)


def _written(state: Path) -> Iterator[tuple[str, str]]:
    """Return the names of the files with the SHA-256 of each."""
    for file in sorted(state.glob(_WRITTEN)):
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
