"""Reads OpenSpec: each change with the check-list of its tasks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import Folder, loss_of, sections, unimported
from counterpoint.cli.importing.readers.checklists import Naming, checklist, items_of
from counterpoint.core.model.foreign import ForeignWork, Remark
from counterpoint.core.rules.planning.foreign import refuse_empty
from counterpoint.core.rules.wording import few
from counterpoint.kernel.errors import MalformedDocument, NotFound

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
    folder, remarks = Folder(place), list[Remark]()
    names = [name for name in folder.folders("changes") if name != "archive"]
    ended = list(folder.folders("changes/archive"))
    if ended:
        remarks.append(
            Remark(f"{few(ended)}: archived, so not imported", "changes/archive", "trifle")
        )
    empty = [name for name in names if not folder.has(f"changes/{name}", "tasks.md")]
    remarks += [
        Remark("it has no tasks.md yet, so it is left out", f"changes/{name}", "loss")
        for name in empty
    ]
    found: list[ForeignWork] = []
    for name in (name for name in names if name not in empty):
        try:
            found.append(_change(folder, "changes", name, []))
        except MalformedDocument as fault:
            remarks.append(loss_of(fault))
    if not found and len(names) > len(empty):
        refuse_empty(remarks)
    if found:
        found[0] = replace(found[0], remarks=(*found[0].remarks, *remarks))
    if not found:
        raise NotFound(
            f"no change in {str(place)!r} has a tasks.md", hint="Have the tasks written first."
        )
    return found


def _change(folder: Folder, below: str, name: str, remarks: list[Remark]) -> ForeignWork:
    here = f"{below}/{name}" if below else name
    texts = {
        file: folder.text(here, file)
        for file in ("tasks.md", "proposal.md", "design.md")
        if folder.has(here, file)
    }
    found = checklist(texts.get("tasks.md", ""), f"{here}/tasks.md", name)
    specs = list(folder.folders(f"{here}/specs"))
    more = [Remark(unimported(specs, "OpenSpec"), f"{here}/specs", "trifle")] if specs else []
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
