"""Reads OpenSpec: each change with the check-list of its tasks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import Folder, sections
from counterpoint.cli.importing.readers.checklists import Naming, checklist, items_of
from counterpoint.core.model.foreign import ForeignWork
from counterpoint.kernel.errors import NotFound

TOOL: Final = "openspec"
_NUMBER: Final = re.compile(r"([0-9]+(?:\.[0-9]+)+)\.?\s+(\S.*)")


def read(path: Path) -> list[ForeignWork]:
    """Return every change of a project, or the one whose folder is named; MalformedDocument, NotFound."""
    if (path / "tasks.md").is_file() or (path / "proposal.md").is_file():
        return [_change(Folder(path.absolute().parent), "", path.absolute().name, [])]
    place = next((one for one in (path / "openspec", path) if (one / "changes").is_dir()), None)
    if place is None or place.is_symlink():
        raise NotFound(
            f"there is no folder `openspec/changes` in {str(path)!r}",
            hint="Name the project's folder.",
        )
    folder, remarks = Folder(place), list[str]()
    names = [name for name in folder.folders("changes") if name != "archive"]
    old = len(list(folder.folders("changes/archive")))
    if old:
        remarks.append(f"changes/archive: {old} changes that have ended stay files")
    empty = [name for name in names if not folder.has(f"changes/{name}", "tasks.md")]
    remarks += [f"changes/{name}: it has no tasks.md yet" for name in empty]
    found = [_change(folder, "changes", name, remarks) for name in names if name not in empty]
    if not found:
        raise NotFound(
            f"no change in {str(place)!r} has a tasks.md", hint="Have the tasks written first."
        )
    return found


def _change(folder: Folder, below: str, name: str, remarks: list[str]) -> ForeignWork:
    here = f"{below}/{name}" if below else name
    texts = {
        file: folder.text(here, file)
        for file in ("tasks.md", "proposal.md", "design.md")
        if folder.has(here, file)
    }
    found = checklist(texts.get("tasks.md", ""), f"{here}/tasks.md", name)
    specs = len(list(folder.folders(f"{here}/specs")))
    more = [f"{here}/specs: {specs} specs stay files"] if specs else []
    return ForeignWork(
        tool=TOOL,
        key=name,
        title=f"{name} (OpenSpec)",
        body=sections(("", texts.get("proposal.md", "")), ("Design", texts.get("design.md", ""))),
        items=tuple(items_of(found, Naming(name, _own), f"{here}/tasks.md", is_ordered=True)),
        remarks=(*found.remarks, *more, *remarks),
    )


def _own(title: str) -> tuple[str, str]:
    found = _NUMBER.fullmatch(title)
    return (found[1], found[2]) if found else ("", title)
