"""Reviews as files beside specs and plans, each with an entry of the ledger.

The entry has the digest of the file, who judged and what came of it: so an edit of the file is found by whoever compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from posixpath import normpath

from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside, Unavailable

LONGEST = 500_000
"""The most bytes of a review that is read."""


def save(
    context: Context, change: Change, pages: Mapping[str, str], **facts: Json
) -> tuple[str, ...]:
    """Write files of reviews, and record them in the ledger's entry; return their paths, none where this server writes no file.

    pages: the text of each by its path from the folder of specs on, as it is returned. Raises PathOutside, InvalidInput.
    """
    home = context.ports.get(SpecsPlaces).home
    written: list[Json] = []
    for path, text in pages.items():
        body = mask(text, context.ports.secrets).encode()
        try:
            context.ports.evidence.save(home, from_home(context, path), body)
        except Unavailable:
            continue
        written.append({"path": path, "sha256": sha256(body).hexdigest()})
    change.add_facts(files=written, **facts)
    return tuple(str(object_of(file)["path"]) for file in written)


def from_home(context: Context, path: str) -> str:
    """Return a path relative to the main worktree. path: relative to the folder of specs, empty for none."""
    places = context.ports.get(SpecsPlaces)
    return f"{places.specs.relative_to(places.home).as_posix()}/{path}" if path else ""


def name_of(path: str, *parts: str) -> str:
    """Return the path of a review's file. parts: of its name; characters that a file name may not have are replaced."""
    words = (_to_file_name(part) for part in parts if part)
    return f"{path}/{'-'.join(words)}.md"


def load(context: Context, path: str) -> str:
    """Return the text of a file named relative to the folder of specs; NotFound, PathOutside, InvalidInput for a longer one."""
    places, evidence = context.ports.get(SpecsPlaces), context.ports.evidence
    inside = path if path.startswith("/") else normpath(from_home(context, path))
    try:
        content = evidence.load(places.home, inside, LONGEST)
    except NotFound:
        # What was written in a worktree is not in the main one yet.
        content = evidence.load(places.tree, inside, LONGEST)
    return content.decode("utf-8", "replace")


def is_there(context: Context, path: str) -> bool:
    """Return whether a review's file exists. path: relative to the folder of specs."""
    home = context.ports.get(SpecsPlaces).home
    try:
        context.ports.evidence.digest(home, from_home(context, path))
    except (NotFound, PathOutside, InvalidInput, Unavailable):
        return False
    return True


def _to_file_name(part: str) -> str:
    name = "".join(
        char if char.isascii() and (char.isalnum() or char in "-_.") else "-" for char in part
    )
    return name.strip(".-")[:150] or "x"
