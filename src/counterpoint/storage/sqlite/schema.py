"""What only a SQLite database has: guards and search."""

from __future__ import annotations

from typing import Final

from counterpoint.storage.schema import Types

TYPES: Final = Types(
    text="TEXT", number="INTEGER", bytes="BLOB", end=" STRICT", small=" STRICT, WITHOUT ROWID"
)

# A project has a shelf; the ids of its documents are shelf * 2^40 + 1 and upward, so that a search
# touches one project's range only.
_GUARDS: Final = """
CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN NEW.sequence <>
  coalesce((SELECT max(sequence) + 1 FROM entries WHERE project = NEW.project), 0)
BEGIN
  SELECT raise(ABORT, 'the entry is not the next of its ledger');
END;

CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
BEGIN
  SELECT raise(ABORT, 'an entry of the ledger is never changed');
END;

CREATE TRIGGER entries_remain BEFORE DELETE ON entries
BEGIN
  SELECT raise(ABORT, 'an entry of the ledger is never deleted');
END;

CREATE TABLE shelves (
  shelf INTEGER PRIMARY KEY,
  project TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  shelf INTEGER NOT NULL REFERENCES shelves (shelf),
  source TEXT NOT NULL,
  key TEXT NOT NULL,
  item TEXT NOT NULL,
  kind TEXT NOT NULL,
  UNIQUE (shelf, source, key)
) STRICT;
"""
SEARCH: Final = """
CREATE VIRTUAL TABLE search USING fts5 (
  title,
  body,
  content = '',
  contentless_delete = 1,
  tokenize = 'porter unicode61'
);

-- A leaf that fills a page leaves no room beside it: each commit would move the rows of three pages.
INSERT INTO search (search, rank) VALUES ('pgsz', 1000);
"""
OWN: Final = _GUARDS + SEARCH
"""Run after the ledger's own tables and before those of the nouns."""
