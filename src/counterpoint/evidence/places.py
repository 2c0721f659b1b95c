"""Where a project's tree and its data folder are, found from any folder below."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from counterpoint.evidence.git.tracked import refuse_tracked
from counterpoint.kernel.durable import NO_ROOM, file_fault
from counterpoint.kernel.errors import InvalidInput, StoreReadOnly, Unavailable
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.ownership import Untrusted, check_folder
from counterpoint.kernel.places import FOLDER, TOO_LONG_HINT, find_tree_and_home, too_long


@frozen
class Places:
    """The working tree evidence is measured in, and the folder that has `.counterpoint`."""

    tree: Path
    home: Path

    @property
    def folder(self) -> Path:
        """The folder the data lies in."""
        return self.home / FOLDER


def find_places(start: Path) -> Places:
    """Return the places of a folder, as kernel/places.py says; InvalidInput for a path that is no text."""
    try:
        str(start).encode()
    except UnicodeEncodeError as fault:
        raise InvalidInput(
            f"the path of this folder is not UTF-8: {os.fsencode(start)!r}",
            hint="Give the folder another name: a ledger and its entries are named in UTF-8.",
        ) from fault
    tree, home = find_tree_and_home(str(start))
    return Places(tree=Path(tree), home=Path(home))


def chosen_tree(worktree: str, places: Places) -> Path:
    """Return the tree that is measured: the one that was set, if any; InvalidInput for one that is not of the same repository, or is not there."""
    if not worktree:
        return places.tree
    chosen = Path(worktree)
    if not chosen.is_dir() or find_places(chosen).home != places.home:
        raise InvalidInput(
            f"the worktree {chosen.name!r} is no working tree of this repository",
            hint="Give --worktree-path a linked worktree of it, or leave it out.",
            workspace=chosen.name,
        )
    return find_places(chosen).tree


def open_folder(folder: Path) -> None:
    """Make the data folder, hidden from git, unless it is there; StoreReadOnly."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A link that leads nowhere yet may have come with a repository, and must not be followed.
        with suppress(FileExistsError), (folder / ".gitignore").open("x") as ignore:
            ignore.write(
                "# The ledger and its keys stay on this machine.\n"
                "*\n!templates/\n!templates/*\n!phases/\n!phases/*\n!batches/\n!batches/*\n"
            )
    except OSError as fault:
        if fault.errno in NO_ROOM:
            raise file_fault(fault, str(folder)) from fault
        raise StoreReadOnly(
            f"{folder} cannot be made ({fault.strerror})",
            hint="Check the owner and the mode of the folder that it lies in.",
        ) from fault


def check_state(database: Path, environ: Mapping[str, str]) -> None:
    """Pass if a database is this account's alone and came with no repository; Unavailable."""
    if reason := too_long(str(database)):
        raise Unavailable(reason, hint=TOO_LONG_HINT, path=str(database))
    try:
        check_folder(str(database))
    except Untrusted as fault:
        raise Unavailable(fault.message, hint=fault.hint) from fault
    refuse_tracked(database, environ)


def slug(name: str) -> str:
    """Return the id that a project gets from the name of a folder."""
    return (
        re.sub(r"[^a-z0-9._-]+", "-", name.lower().removesuffix(".git")).strip("-._")[:64]
        or "project"
    )
