"""Remembered values, and notebooks: what outlives a session.

A notebook is what a role remembers from run to run: small files, private to the role. (1) The ledger
keeps them, each as a remembered value of one scope: of this project, or global, which is found from other projects of
the database too where these are set to look for it: what was written elsewhere is not read unasked. (2) Of a global file the one written last counts, whichever project it was
written in. (3) An empty content takes a file away. (4) A mirror of plain files is written after the
ledger, if a folder for it is named; nothing is ever read from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Literal, cast

from counterpoint.core.ledger.entry import Entry, RowImage, parse_reference
from counterpoint.core.model.answers import Earlier
from counterpoint.core.model.journal import StateEntry
from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.notebooks import Page, PageSelection, check, select_pages
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, StaleVersion

_PUT: Final = "state.put"
_CHUNK: Final = 50
VALUE_LIMIT = 64_000
"""Bytes of JSON text that one value may have."""


class Memory(Verbs):
    """Verbs for remembered values."""

    def get(self, scope: str, name: str) -> StateEntry:
        """Return a value; NotFound."""
        with self._context.reading() as view:
            entry = view.find(StateEntry, scope, name)
        if entry is None:
            raise missing(StateEntry, scope, name)
        return entry

    def list(self, scope: str, after: str, limit: int, category: str = "") -> list[StateEntry]:
        """Return the values of a scope (and a category, if one is named) by name, beyond a name."""
        only = {"category": category} if category else {}
        beyond = (after,) if after else ()
        with self._context.reading() as view:
            return view.select(
                StateEntry, scope=scope, order="name", after=beyond, limit=limit, **only
            )

    def count(self, scope: str, category: str = "") -> int:
        """Return how many values a scope (and a category, if one is named) has."""
        only = {"category": category} if category else {}
        with self._context.reading() as view:
            return sum(view.counts(StateEntry, "category", scope=scope, **only).values())

    def put(
        self,
        scope: str,
        name: str,
        value: Json,
        expected_version: int | None = None,
        *,
        category: str = "",
        description: str = "",
    ) -> StateEntry:
        """Remember a value; StaleVersion if its version is not the expected one (0: not there)."""
        text = canonical.dump_any(value)
        if len(text.encode()) > VALUE_LIMIT:
            raise InvalidInput(
                f"the value has {len(text.encode())} bytes of JSON; {VALUE_LIMIT} is the most",
                hint="Put large texts into a file and remember its path.",
            )
        with recording(self._context, _PUT) as change:
            change.open_session()
            before = change.find(StateEntry, scope, name)
            _refuse_stale(before, expected_version, name)
            entry = StateEntry(
                project=self._context.project,
                scope=scope,
                name=name,
                value=Prose(text),
                version=before.version + 1 if before else 1,
                agent=self._context.caller.actor.name,
                updated_at=change.now,
                category=category,
                description=Prose(description),
            )
            # Masked before it is compared, as the value that is there was.
            entry = change.masked(entry)
            if before is not None and _says_the_same(before, entry):
                return before
            change.put(entry)
            change.subject = "" if change.find(Item, scope) is None else scope
            change.add_facts(scope=scope, name=name, version=entry.version)
            return entry

    def history(self, scope: str, name: str, limit: int) -> Sequence[Earlier]:
        """Return the values that one had before and has now, the last first, from the ledger.

        scope: the id of an item: other values are not looked for.
        """
        with self._context.reading() as view:
            return list(islice(_earlier(view, scope, name), limit))

    def forget(self, scope: str, name: str, expected_version: int | None = None) -> bool:
        """Forget a value; answer whether it was there."""
        with recording(self._context, "state.forgotten") as change:
            change.open_session()
            before = change.find(StateEntry, scope, name)
            _refuse_stale(before, expected_version, name)
            if before is None:
                return False
            change.drop(before)
            change.add_facts(scope=scope, name=name)
            return True


def _earlier(view: Reading, scope: str, name: str) -> Iterator[Earlier]:
    before: int | None = None
    while places := view.sequences(subject=scope, action=_PUT, before=before, limit=_CHUNK):
        before = places[-1]
        for sequence in places:
            entry = Entry.from_bytes(next(view.entries(sequence, sequence + 1)))
            if (entry.facts.get("scope"), entry.facts.get("name")) == (scope, name):
                yield Earlier(
                    sequence=sequence,
                    version=cast("int", entry.facts["version"]),
                    value=_value_of(view, entry.rows),
                    agent=entry.actor.name,
                    at=entry.time,
                )


def _value_of(view: Reading, rows: Sequence[RowImage]) -> str | None:
    """Return the JSON text that an entry gave a value; None if it only changed what is said of it."""
    for row in rows:
        if row.table == StateEntry.table and row.values is not None and "value" in row.values:
            text = view.text(parse_reference(row.values["value"]))
            return REDACTED if text is None else text
    return None


def _says_the_same(before: StateEntry, after: StateEntry) -> bool:
    return all(
        getattr(before, name) == getattr(after, name)
        for name in ("value", "category", "description")
    )


def _refuse_stale(before: StateEntry | None, expected: int | None, name: str) -> None:
    version = before.version if before else 0
    if expected is not None and expected != version:
        raise StaleVersion(
            f"{name!r} is at version {version}, not {expected}",
            hint="Get it again and repeat the change on the present value.",
            version=version,
        )


Reach = Literal["project", "global"]
CATEGORY: Final = "notebook"
_GONE: Final = ""


class Notebooks(Verbs):
    """Verbs for what roles remember."""

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
        with transaction(self._context):
            entry = Memory(self._context).put(scope, name, content, category=CATEGORY)
            if mirror is not None:
                stored_content = str(canonical.load(entry.value))
                path = f"{folder}/{name}" if folder else name
                self._context.ports.evidence.save(
                    mirror, path, stored_content.encode() if stored_content else None
                )
        return entry

    def offered(self, role: str) -> PageSelection:
        """Return what a session of a role is given of its memory, the newest first, within limits."""
        pages: dict[tuple[str, str], Page] = {}
        with self._context.reading() as view:
            own_pages = [*_pages(view, "project", role), *_pages(view, "global", role)]
        ports = self._context.ports
        for project in ports.store.projects() if ports.reads_global else ():
            if project.project != self._context.project:
                with self._context.ports.store.reading(project.project) as view:
                    own_pages += _pages(view, "global", role)
        for page in own_pages:
            before = pages.get((page.scope, page.name))
            if before is None or before.updated_at < page.updated_at:
                pages[page.scope, page.name] = page
        return select_pages(page for page in pages.values() if page.content != _GONE)


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
