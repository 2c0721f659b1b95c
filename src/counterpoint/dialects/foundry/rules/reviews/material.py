"""What reviewers of work are shown: a spec, differences and files, within limits.

Names of files are words of others too, and stand inside the marks of data.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from counterpoint.dialects.foundry.rules.autonomy.reviewer import Finding, PhaseWork
from counterpoint.dialects.foundry.rules.reviews.prompts import material
from counterpoint.dialects.foundry.rules.shape import Node, items_of, metadata_of, text_of
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of

FILE_LIMIT: Final = 100_000
"""The most bytes of a file that is shown."""
_ROOM: Final = 200_000
"""The most characters of differences and files together."""
_PLAN: Final = 40_000
_ENTRIES: Final = 20
_TESTS: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__)/|(?:^|/)test_[^/]*$|_test\.[^/.]+$|\.(?:test|spec)\.[^/.]+$"
)
_SECTION: Final = re.compile(r"^diff --git ", re.MULTILINE)
_NAMES: Final = re.compile(r'^"?a/(.+?)"? "?b/(.+?)"?$', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """What a caller wants looked at. files: these alone. base: the branch that work is compared with. incremental: what differs from the last review."""

    files: tuple[str, ...] = ()
    include_tests: bool = True
    base: str = "main"
    incremental: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What reviewers are shown. seen: the digest of each file, by path. left: paths for which there was no room."""

    text: str = field(repr=False)
    seen: Mapping[str, str]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is known of work that is judged. diffs, files: by path, of the tree as it is. nodes, entries: of the spec, as its document has them."""

    works: tuple[PhaseWork, ...]
    findings: tuple[Finding, ...]
    nodes: Mapping[str, Json]
    entries: tuple[Json, ...] = ()
    plan: str = ""
    diffs: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    files: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def is_test(path: str) -> bool:
    """Return whether a file is one of tests, by its name."""
    return _TESTS.search(path) is not None


def sections_of(diff: str) -> dict[str, str]:
    """Return the parts of a difference as git prints it, by path."""
    sections: dict[str, str] = {}
    for part in _SECTION.split(diff)[1:]:
        head = part.partition("\n")[0]
        names = _NAMES.match(head)
        path = names[2] if names else head
        sections[path] = f"diff --git {part}"
    return sections


def named_in(works: Iterable[PhaseWork]) -> tuple[str, ...]:
    """Return the files that tasks name and that are there, or were changed."""
    return tuple(
        dict.fromkeys(
            path
            for work in works
            for task in work.tasks
            for path in task.files
            if path in work.present or path in work.changed
        )
    )


def nodes_and_entries(
    document: Mapping[str, Json], ids: Collection[str]
) -> tuple[dict[str, Json], list[Json]]:
    """Return the nodes of some ids, and the newest entries of the journal that are about them."""
    nodes = object_of(document.get("hierarchy"))
    chosen: dict[str, Json] = {
        name: _node(object_of(nodes[name])) for name in sorted(ids) if name in nodes
    }
    entries = [
        entry
        for entry in items_of(document.get("journal"))
        if object_of(entry).get("task_id") in ids
    ]
    return chosen, entries[-_ENTRIES:]


def shown(work: Work, looking: Looking, before: Mapping[str, str]) -> Shown:
    """Return what reviewers are shown. before: what the last review saw, where only what differs from it is wanted."""
    parts = [
        ("What the spec promises", canonical.dump_any(dict(work.nodes))),
        ("The plan of the spec", work.plan[:_PLAN]),
        (
            "What the server found by its rules",
            "\n".join(finding.description for finding in work.findings),
        ),
        ("Entries of the journal", canonical.dump_any(list(work.entries)) if work.entries else ""),
    ]
    if looking.include_tests:
        parts.append(("Verifications", "\n".join(_verifications(work.works))))
    chars_left, omitted, seen = _ROOM, list[str](), dict[str, str]()
    for path in dict.fromkeys((*work.files, *work.diffs)):
        if not _is_wanted(path, looking):
            continue
        texts = [text for text in (work.diffs.get(path), work.files.get(path)) if text is not None]
        digest = sha256("\0".join(texts).encode()).hexdigest()
        if before.get(path) == digest:
            continue
        size = sum(map(len, texts))
        if size > chars_left:
            omitted.append(path)
            continue
        chars_left -= size
        seen[path] = digest
        parts += [(_name(text), f"{path}\n\n{text}") for text in texts]
    return Shown(text=material(parts), seen=seen, left=tuple(omitted))


def _is_wanted(path: str, looking: Looking) -> bool:
    if looking.files and path not in looking.files:
        return False
    return looking.include_tests or not is_test(path)


def _name(text: str) -> str:
    return "A difference" if text.startswith("diff --git ") else "A file as it is now"


def _node(node: Node) -> Json:
    fields = {
        name: node.get(name) for name in ("type", "title", "status", "parent") if node.get(name)
    }
    return {**fields, "metadata": metadata_of(node)}


def _verifications(works: Sequence[PhaseWork]) -> Iterator[str]:
    for verification in (verification for work in works for verification in work.verifications):
        ran = (
            "never run by this server"
            if verification.exit_code is None
            else f"exit code {verification.exit_code}"
        )
        stale = ", before files were changed" if verification.is_stale else ""
        yield f"{verification.id}: {text_of(verification.result) or 'no word of it'}, {ran}{stale}"
