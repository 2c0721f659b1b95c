"""Reads OpenSpec: each change with the check-list of its tasks."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from counterpoint.cli.importing.files import Folder, loss_of, remark_on_documents, sections
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
    root = next(
        (folder for folder in (path / "openspec", path) if (folder / "changes").is_dir()), None
    )
    if root is None or root.is_symlink():
        raise NotFound(
            f"there is no folder `openspec/changes` in {str(path)!r}",
            hint="Name the project's folder.",
        )
    folder, remarks = Folder(root), list[Remark]()
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
    works: list[ForeignWork] = []
    for name in (name for name in names if name not in empty):
        try:
            works.append(_change(folder, "changes", name, []))
        except MalformedDocument as fault:
            remarks.append(loss_of(fault))
    if not works and len(names) > len(empty):
        refuse_empty(remarks)
    if works:
        works[0] = replace(works[0], remarks=(*works[0].remarks, *remarks))
    if not works:
        raise NotFound(
            f"no change in {str(root)!r} has a tasks.md", hint="Have the tasks written first."
        )
    return works


def _change(folder: Folder, below: str, name: str, remarks: list[Remark]) -> ForeignWork:
    prefix = f"{below}/{name}" if below else name
    texts = {
        file: folder.text(prefix, file)
        for file in ("tasks.md", "proposal.md", "design.md")
        if folder.has(prefix, file)
    }
    tasks = checklist(texts.get("tasks.md", ""), f"{prefix}/tasks.md", name)
    specs = list(folder.folders(f"{prefix}/specs"))
    more = (
        [Remark(remark_on_documents(specs, "OpenSpec"), f"{prefix}/specs", "trifle")]
        if specs
        else []
    )
    naming, file = Naming(name, _own), f"{prefix}/tasks.md"
    items = tuple(items_of(tasks, naming, file, is_ordered=True))
    more += [Remark(problem, file) for problem in naming.again]
    return ForeignWork(
        tool=TOOL,
        key=name,
        title=f"{name} (OpenSpec)",
        body=sections(("", texts.get("proposal.md", "")), ("Design", texts.get("design.md", ""))),
        items=items,
        remarks=(*tasks.remarks, *more, *remarks),
    )


def _own(title: str) -> tuple[str, str]:
    match = _NUMBER.fullmatch(title)
    return (match[1], match[2]) if match else ("", title)
