"""Files beside the database: templates of plans, and the last checkpoint."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from counterpoint.kernel.errors import InvalidInput, NotFound

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_SUFFIX = ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateShelf:
    """Templates of a project's own folder, then those that ship with the product."""

    folder: Path

    def template(self, name: str) -> str:
        """Answer the Markdown of a template; NotFound names those there are."""
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is not the name of a template")
        own = self.folder / f"{name}{_SUFFIX}"
        if own.is_file():
            return own.read_text(encoding="utf-8")
        shipped = resources.files("counterpoint.evidence") / "templates" / f"{name}{_SUFFIX}"
        if shipped.is_file():
            return shipped.read_text(encoding="utf-8")
        raise NotFound(
            f"there is no template {name!r}", hint=f"There are: {', '.join(self.names())}."
        )

    def names(self) -> list[str]:
        """Answer the names of all templates."""
        shipped = (resources.files("counterpoint.evidence") / "templates").iterdir()
        own = self.folder.iterdir() if self.folder.is_dir() else ()
        files = {entry.name for entry in (*shipped, *own)}
        return sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnchors:
    """The last checkpoint of each project, one small file each."""

    folder: Path

    def last(self, project: str) -> str:
        """Answer the checkpoint kept last; empty if there is none."""
        try:
            return (self.folder / f"{project}.note").read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def keep(self, project: str, note: str) -> None:
        """Keep a checkpoint in place of the last; the file is whole at every moment."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self.folder / f"{project}.note"
        draft = self.folder / f".{project}.{os.getpid()}.note"
        draft.write_text(note, encoding="utf-8")
        draft.replace(target)
