"""What a role remembers from run to run: small files, private to the role.

Rule 1: the ledger keeps them, each as a remembered value of one scope: of this project, or global, which
is found from every project of the database. Rule 2: of a global file the one written last counts,
whichever project it was written in. Rule 3: an empty content takes a file away. Rule 4: a mirror of plain
files is written after the ledger, if a folder for it is named; nothing is ever read from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from counterpoint.core.model.journal import StateEntry
from counterpoint.core.operations.memory import Memory
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import joined
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.knowledge.pages import Offer, Page, check, offer
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput

Reach = Literal["project", "global"]
CATEGORY: Final = "notebook"
_GONE: Final = ""


class Notebooks:
    """Verbs for what roles remember."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def write(
        self,
        reach: Reach,
        role: str,
        name: str,
        content: str,
        mirror: Path | None = None,
        folder: str = "",
    ) -> StateEntry:
        """Remember a file of a role, in place of what it was; InvalidInput names all that is wrong.

        mirror, folder: where the role's files lie as files too; the first must be there.
        """
        check(name, content)
        if not role:
            raise InvalidInput(
                "this connection has no role, and a memory is that of a role",
                hint="Start the server with --agent-type.",
            )
        scope = _scope(reach, role)
        # An empty value stays: it says that the file is gone, and when, to every project.
        with joined(self._context):
            entry = Memory(self._context).put(scope, name, content, category=CATEGORY)
            if mirror is not None:
                kept = str(canonical.load(entry.value))
                place = f"{folder}/{name}" if folder else name
                self._context.ports.evidence.save(mirror, place, kept.encode() if kept else None)
        return entry

    def offered(self, role: str) -> Offer:
        """Return what a session of a role is given of its memory, the newest first, within limits."""
        pages: dict[tuple[str, str], Page] = {}
        with self._context.reading() as view:
            mine = [*_pages(view, "project", role), *_pages(view, "global", role)]
        for project in self._context.ports.store.projects():
            if project.project != self._context.project:
                with self._context.ports.store.reading(project.project) as view:
                    mine += _pages(view, "global", role)
        for page in mine:
            before = pages.get((page.scope, page.name))
            if before is None or before.updated_at < page.updated_at:
                pages[page.scope, page.name] = page
        return offer(page for page in pages.values() if page.content != _GONE)


def _scope(reach: Reach, role: str) -> str:
    return f"notebook:{reach}:{role}"


def _pages(view: Reading, reach: Reach, role: str) -> list[Page]:
    return [
        Page(
            scope=reach,
            name=entry.name,
            content=str(canonical.load(entry.value)) if _is_there(entry) else _GONE,
            updated_at=entry.updated_at,
        )
        for entry in view.select(StateEntry, scope=_scope(reach, role), order="name")
    ]


def _is_there(entry: StateEntry) -> bool:
    """Whether the text is still there: a redacted one is no JSON."""
    return entry.value.startswith('"')
