"""What both databases look for: numbers of rows, and rows of nobody.

Rules: (1) a ledger has as many entries as its head says, from 0 on, and as many hashes of each stored level
as so many entries complete. (2) Every row is of a project that has a ledger; how often something
was used (`meters`) is no state, and not looked at; a text has half a commitment. (3) Each migration that this program knows is noted as it was made,
and no other has a number that none has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from counterpoint.kernel.errors import LedgerBroken, SchemaDiffers, StateDiffers
from counterpoint.kernel.plurals import agree
from counterpoint.storage.rows import Tables
from counterpoint.storage.schema import Migration, Noted
from counterpoint.storage.tree import STEP

Ask = Callable[[str], Iterable[tuple[Any, ...]]]
"""Runs a statement without values and answers its rows."""
MOST: Final = 20
"""Faults of a sort that are told."""

_HEADS: Final = "SELECT project, size FROM heads"
_ENTRIES: Final = (
    "SELECT project, count(*), min(sequence), max(sequence) FROM entries GROUP BY project"
)
_NODES: Final = (
    "SELECT project, level, count(*), min(position), max(position) FROM nodes"
    " GROUP BY project, level"
)
# Texts are read in the order of their commitments, from the first that is not empty.
_NAMELESS: Final = "SELECT 1 FROM texts WHERE length(commitment) <> 16"


def ledger_faults(ask: Ask, tables: Tables) -> Iterator[LedgerBroken]:
    """Return faults in the row numbers of all ledgers, and rows that belong to no ledger."""
    sizes: dict[str, int] = dict(ask(_HEADS))
    entries = {project: tuple(figures) for project, *figures in ask(_ENTRIES)}
    for project, size in sizes.items():
        stored = entries.get(project, (0, None, None))
        if stored != ((size, 0, size - 1) if size else (0, None, None)):
            yield _new_fault(
                f"the head of {project} says {size} entries, but there are {stored[0]}", "heads"
            )
    yield from _node_faults(ask, sizes)
    if short := len(list(ask(_NAMELESS))):
        yield _new_fault(
            f"{agree(short, 'text', 'is')} kept under no half of a commitment", "texts"
        )
    for table in ("entries", "nodes", "texts", "signatures", *tables):
        for (project,) in ask(f"SELECT DISTINCT project FROM {table}"):
            if project not in sizes:
                yield _new_fault(f"{table} has rows of {project!r}, which has no ledger", table)


def migration_faults(
    noted: Iterable[Noted], migrations: tuple[Migration, ...]
) -> Iterator[SchemaDiffers]:
    """Return the migrations that are recorded other than they are; further ones may be a dialect's."""
    noted_by_name = {name: (number, name, digest) for number, name, digest in noted}
    for migration in migrations:
        if noted_by_name.pop(migration.name, None) != migration.noted:
            yield SchemaDiffers(f"the migration {migration.name} is not noted as it was made")
    numbers = {migration.number for migration in migrations}
    for number, name, _ in noted_by_name.values():
        if number not in numbers:
            yield SchemaDiffers(f"the migration {name} is noted under a number that none has")


def _node_faults(ask: Ask, sizes: dict[str, int]) -> Iterator[StateDiffers]:
    expected = {
        (project, level): size >> level
        for project, size in sizes.items()
        for level in range(STEP, size.bit_length(), STEP)
    }
    stored = {(project, level): tuple(figures) for project, level, *figures in ask(_NODES)}
    for key in sorted({*expected, *stored}):
        many = expected.get(key, 0)
        if stored.get(key, (0,)) != ((many, 0, many - 1) if many else (0,)):
            project, level = key
            yield _new_fault(
                f"level {level} of the tree of {project} has other hashes than {many}", "nodes"
            )


def _new_fault(message: str, table: str) -> StateDiffers:
    return StateDiffers(
        message, hint="Restore a verified backup; keep the file for inspection.", table=table
    )
