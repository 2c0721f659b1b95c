"""Files beside the database: templates of plans, and the last checkpoint.

A template is found if and only if (1) its name is of small letters, digits, `-` and `_`, (2) there is
a file of that name ending in `.yaml`, `.yml` or `.md`, first in the project's folder, then among those
that ship with the product, (3) the file is a plain one inside that folder: no link leads outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from counterpoint.evidence.replacing import replace_file
from counterpoint.kernel.errors import InvalidInput, NotFound, Unavailable
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from counterpoint.core.model.templates import Form, Source, TemplateSource

_NAME = expression(r"[a-z0-9][a-z0-9_-]{0,63}")
_FORMS: dict[str, Form] = {".yaml": "yaml", ".yml": "yaml", ".md": "markdown"}
_SIZE_LIMIT = 1_000_000
_SHIPPED = "templates"
_FORMER = {"feature": "feature-short", "bugfix": "bug-fix-short", "refactor": "refactoring-short"}
"""Names under which templates shipped before, that hardly differ from those of others; no list tells them."""


@frozen
class TemplateDirectory:
    """Templates of a project's own folder, then those that ship with the product."""

    folder: Path

    def template(self, name: str) -> TemplateSource:
        """Return the sheet of a template; NotFound names those there are, InvalidInput if unreadable."""
        from counterpoint.core.model.templates import TemplateSource

        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} is not the name of a template")
        templates = list(self._files(name)) or list(self._files(_FORMER.get(name, name)))
        if not templates:
            raise NotFound(
                f"there is no template {name!r}", hint=f"There are: {', '.join(self.names())}."
            )
        source, file, form = templates[0]
        hides = tuple(
            f"{other.name} ({origin.replace('_', '-')})" for origin, other, _ in templates[1:]
        )
        return TemplateSource(slug=name, text=_text(file), form=form, source=source, hides=hides)

    def names(self) -> list[str]:
        """Return the names of all templates."""
        own = self.folder.iterdir() if self.folder.is_dir() else ()
        files = (Path(entry.name) for entry in (*_shipped().iterdir(), *own))
        names = {
            file.stem for file in files if file.suffix in _FORMS and _NAME.fullmatch(file.stem)
        }
        return sorted(name for name in names if next(self._files(name), None))

    def _files(self, name: str) -> Iterator[tuple[Source, Traversable, Form]]:
        for suffix, form in _FORMS.items():
            own = self.folder / f"{name}{suffix}"
            # A link could show any file of this machine to whoever asks for a template.
            if own.is_file() and own.resolve().is_relative_to(self.folder.resolve()):
                yield "project", own, form
        for suffix, form in _FORMS.items():
            shipped = _shipped() / f"{name}{suffix}"
            if shipped.is_file():
                yield "built_in", shipped, form


def _shipped() -> Traversable:
    from importlib import resources

    return resources.files("counterpoint.evidence") / _SHIPPED


def _text(file: Traversable) -> str:
    """Return the text of a template's file; InvalidInput if it is too large or no text."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_SIZE_LIMIT + 1)
        if len(data) > _SIZE_LIMIT:
            raise InvalidInput(f"the template {file.name} has more than {_SIZE_LIMIT} bytes")
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else fault.reason
        raise InvalidInput(
            f"the template {file.name} cannot be read: {why}",
            hint="See that the file is UTF-8 text that this user may read.",
        ) from fault


@frozen
class FileAnchors:
    """The last checkpoint of each project, one small file each."""

    folder: Path

    def last(self, project: str) -> str:
        """Return the checkpoint kept last; empty if there is none. Unavailable."""
        try:
            # What is no UTF-8 is no checkpoint, and whoever reads it says so.
            return (self.folder / f"{project}.note").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        except OSError as fault:
            raise Unavailable(f"the last checkpoint cannot be read: {fault.strerror}") from fault

    def keep(self, project: str, note: str) -> None:
        """Keep a checkpoint in place of the last; the file is whole at every moment. Unavailable."""
        replace_file(self.folder / f"{project}.note", note.encode(), what="the checkpoint")
