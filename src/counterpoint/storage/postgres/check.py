"""What is found wrong with a PostgreSQL database by looking through its tables."""

from __future__ import annotations

from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.rows import Tables
from counterpoint.storage.search import unindexed

_UNSOUND = """
SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'counterpoint'::regnamespace AND NOT (i.indisvalid AND i.indisready)
"""
_SILENCED = """
SELECT t.tgname FROM pg_trigger AS t
WHERE t.tgrelid = 'counterpoint.entries'::regclass AND NOT t.tgisinternal AND t.tgenabled = 'D'
"""
_TRIGGERS = """
SELECT count(*) FROM pg_trigger AS t
WHERE t.tgrelid = 'counterpoint.entries'::regclass AND NOT t.tgisinternal
"""
# Those of schema.py. A dump that was restored without triggers has fewer.
_GUARDS = 4
_LEDGERS = """
SELECT h.project, h.size, count(e.sequence) FROM heads AS h
LEFT JOIN entries AS e ON e.project = h.project
GROUP BY h.project, h.size HAVING h.size <> count(e.sequence)
"""


def faults_of(link: Link, tables: Tables) -> list[str]:
    """Return one sentence for each fault found, inside one transaction."""
    faults = [f"the index {name} is not valid" for (name,) in link.execute(_UNSOUND)]
    faults += [f"the trigger {name} is switched off" for (name,) in link.execute(_SILENCED)]
    if _count(link, _TRIGGERS) < _GUARDS:
        faults.append("a trigger that guards the ledger is gone")
    faults += [
        f"the head of {project} says {size} entries, but there are {many}"
        for project, size, many in link.execute(_LEDGERS)
    ]
    return faults + unindexed(lambda text: _count(link, text), tables.values())


def _count(link: Link, text: str) -> int:
    row = link.execute(text.encode()).fetchone()
    return 0 if row is None else int(row[0])
