"""Reads spec-kit: each feature with the check-list of its tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import Folder, loss_of, sections
from counterpoint.cli.importing.readers.checklists import Naming, checklist, items_of
from counterpoint.core.model.foreign import ForeignItem, ForeignWork, Remark
from counterpoint.core.rules.planning.attributes import attribute_within
from counterpoint.core.rules.planning.foreign import refuse_empty
from counterpoint.kernel.errors import MalformedDocument, NotFound

TOOL: Final = "spec-kit"
_NUMBER: Final = re.compile(r"(T[0-9]{3,6}[a-z]?)\s+(\S.*)")
_WORDS: Final = frozenset({"P"})
"""Its word for what can be done beside other tasks, which its template explains in a list."""
_MARK: Final = re.compile(r"\[([A-Za-z0-9]{1,10})\]\s*")
_NEEDS: Final = re.compile(r"\(depends on ([^)]{1,500})\)", re.IGNORECASE)
_TASK: Final = re.compile(r"T[0-9]{3,6}[a-z]?")


def read(path: Path) -> list[ForeignWork]:
    """Return every feature of a project, or the one whose folder is named; MalformedDocument, NotFound."""
    if (path / "tasks.md").is_file():
        return [_feature(Folder(path.absolute().parent), "", path.absolute().name)]
    root = next((candidate for candidate in (path / "specs", path) if candidate.is_dir()), None)
    folder = Folder(root) if root is not None and not root.is_symlink() else None
    names = [name for name in folder.folders("") if folder.has(name, "tasks.md")] if folder else []
    if folder is None or not names:
        raise NotFound(
            f"there is no `specs/NAME/tasks.md` in {str(path)!r}",
            hint="Name the project's folder, once its tasks are written.",
        )
    features: list[ForeignWork] = []
    losses: list[Remark] = []
    for name in names:
        try:
            features.append(_feature(folder, "", name))
        except MalformedDocument as fault:
            losses.append(loss_of(fault))
    if not features:
        refuse_empty(losses)
    features[0] = replace(features[0], remarks=(*losses, *features[0].remarks))
    return features


def _feature(folder: Folder, below: str, name: str) -> ForeignWork:
    prefix = f"{below}/{name}" if below else name
    tasks = checklist(folder.text(prefix, "tasks.md"), f"{prefix}/tasks.md", name, _WORDS)
    spec = folder.text(prefix, "spec.md") if folder.has(prefix, "spec.md") else ""
    naming, file = Naming(name, _own), f"{prefix}/tasks.md"
    items = tuple(_marked(name, items_of(tasks, naming, file, is_ordered=True)))
    return ForeignWork(
        tool=TOOL,
        key=name,
        title=f"{tasks.draft.title.removeprefix('Tasks:').strip()} (spec-kit)",
        body=sections(("", spec), ("Tasks", tasks.draft.body)),
        items=items,
        remarks=(*tasks.remarks, *(Remark(problem, file) for problem in naming.again)),
    )


def _own(title: str) -> tuple[str, str]:
    match = _NUMBER.fullmatch(title)
    return (match[1], match[2]) if match else ("", title)


def _waits_in(title: str) -> str:
    """Return what a title says that its task waits for, as text."""
    if match := _NEEDS.search(title):
        return match[1]
    meant = attribute_within(title)
    return meant.value if meant and meant.word == "after" else ""


def _marked(key: str, items: Iterator[ForeignItem]) -> Iterator[ForeignItem]:
    """Return items with the marks before their titles as labels, and what they say to depend on."""
    for item in items:
        title, labels = item.title, list(item.labels)
        while not item.is_phase and (mark := _MARK.match(title)):
            labels.append("parallel" if mark[1] == "P" else mark[1])
            title = title[mark.end() :]
        needs = [f"{key}/{each}" for each in _TASK.findall(_waits_in(title))]
        yield replace(
            item, title=title or item.title, labels=tuple(labels), needs=(*item.needs, *needs)
        )
