"""Opening a project: the first entry of its ledger."""

from __future__ import annotations

import re

from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.desk import Desk
from counterpoint.core.operations.recording.unit import recording
from counterpoint.kernel.errors import InvalidInput

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_PREFIX_LENGTH = 12


class Projects:
    """Verbs for the project itself."""

    def __init__(self, desk: Desk) -> None:
        """Work at a desk."""
        self._desk = desk

    def find(self) -> Project | None:
        """Answer the desk's project, if it was opened."""
        with self._desk.reading() as view:
            return view.find(Project)

    def open(self, title: str) -> Project:
        """Answer the project, made on first use with a prefix that no other has; InvalidInput."""
        found = self.find()
        if found is not None:
            return found
        name = self._desk.project
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{name!r} is not a name for a project",
                hint="Use up to 64 lower-case letters, digits, dots, underscores and hyphens.",
            )
        with recording(self._desk, "project.opened") as change:
            again = change.find(Project)
            if again is not None:
                return again
            taken = {project.prefix for project in self._desk.outside.store.projects()}
            project = Project(
                project=name,
                title=title or name,
                prefix=_free_prefix(name, taken),
                public_key=self._desk.outside.signer.public_key.hex(),
                created_at=change.now,
            )
            change.put(project)
            change.told(title=project.title, prefix=project.prefix)
            return project


def _free_prefix(name: str, taken: set[str]) -> str:
    letters = re.sub(r"[^a-z0-9]+", "", name)[:_PREFIX_LENGTH] or "work"
    prefix, count = letters, 1
    while prefix in taken:
        count += 1
        prefix = f"{letters}{count}"
    return prefix
