"""Specs whose titles were taken away get ids that say nothing.

An id is made of a title's words. It stands in the names of the spec and its nodes, and in that of the spec's file: all change at once, by
the program, as what follows from a redaction. The former id leads to the present one by its digest; that tells no more than the
entries do, which keep the id for good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import Final

from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.work import Alias, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Caller, Context, Verbs
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.files.mirror import Mirroring
from counterpoint.dialects.foundry.files.spec_files import SpecFiles
from counterpoint.dialects.foundry.models.specs import FORMER, NODE, SPEC
from counterpoint.dialects.foundry.nodes.queries import chunks, former_name
from counterpoint.dialects.foundry.specs.operations import free_spec_id
from counterpoint.dialects.plugin import Renamed
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.errors import PathOutside

RENAMED: Final = "spec.renamed"
_NEUTRAL: Final = re.compile(r"spec-\d{4}-\d{2}-\d{2}-\d{3,}", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?=-\d{3,}$)", re.ASCII)


def rename_redacted(core: Core) -> list[Renamed]:
    """Give every spec without its title an id without words; return those that had one with words."""
    return core.use(Renaming).run()


class Renaming(Verbs):
    """Verbs for the ids of specs whose titles are gone."""

    def run(self) -> list[Renamed]:
        """Rename all that are due, with their files; Unavailable where these cannot be read or written."""
        with self._context.reading() as view:
            due = list(_due(view))
        if not due:
            return []
        files = self._files()
        # Nobody takes the old file in as a new spec meanwhile.
        with files.turn(waits=True) if files else nullcontext():
            return [self._rename(item, former, files) for former, item in due]

    def _files(self) -> SpecFiles | None:
        """Return the files of specs; None where this project keeps none, or none where they would be kept."""
        with suppress(PathOutside):
            files = Mirroring(self._context).files
            return files if files.open() else None
        return None

    def _rename(self, item: str, former: str, files: SpecFiles | None) -> Renamed:
        program = Caller(
            actor=Actor(kind="system", name="counterpoint"), root=self._context.caller.root
        )
        context = Context(ports=self._context.ports, caller=program)
        with transaction(context):
            with recording(context, RENAMED, item) as change:
                day = _DAY.search(former)
                name = free_spec_id(change.writing, "spec", day[0] if day else change.now[:10])
                _move(change, SPEC, former, name, item)
                change.put(_alias(change, FORMER, former_name(former), item))
                start = f"{former}/"
                nodes = [
                    (alias, owner)
                    for alias, owner in change.writing.cells(Alias, ("name", "item"), scope=NODE)
                    if alias.startswith(start)
                ]
            for some in chunks(nodes):
                with recording(context, RENAMED, item) as change:
                    for alias, owner in some:
                        _move(change, NODE, alias, f"{name}/{alias.removeprefix(start)}", owner)
        leftovers = _forget_files(files, former, name) if files else ()
        return Renamed(item=item, former=former, name=name, left=leftovers)


def _due(view: Reading) -> Iterator[tuple[str, str]]:
    """Return the ids with words of specs without titles, each with its root item."""
    names = {
        item: name
        for name, item in view.cells(Alias, ("name", "item"), scope=SPEC)
        if not _NEUTRAL.fullmatch(name)
    }
    for some in chunks(sorted(names)):
        for root in view.select(Item, id=some):
            if root.title == REDACTED:
                yield names[root.id], root.id


def _move(change: Change, scope: str, former: str, name: str, item: str) -> None:
    change.drop(_alias(change, scope, former, item))
    change.put(_alias(change, scope, name, item))


def _alias(change: Change, scope: str, name: str, item: str) -> Alias:
    return Alias(project=change.context.project, scope=scope, name=name, item=item)


def _forget_files(files: SpecFiles, former: str, name: str) -> Sequence[str]:
    """Take away the file of a former id, and what is remembered of it; return what stays, in words."""
    record = files.record()
    file_record = record.files.pop(former, None)
    record.troubles.pop(former, None)
    leftovers: list[str] = []
    for file in files.listed().get(former, ()):
        if file_record and sha256(files.read(file.folder, former)) in {
            file_record.sha256,
            file_record.pending,
        }:
            files.remove(file.folder, former)
        else:
            leftovers.append(
                f"the file of {name} under its former id, in {files.specs.name}/{file.folder}: it was edited"
            )
    files.keep(record)
    return leftovers
