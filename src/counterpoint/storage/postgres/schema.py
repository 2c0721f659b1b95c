"""What only a PostgreSQL database has: guards, notifications and search."""

from __future__ import annotations

from typing import Final

from counterpoint.storage.schema import Types

# Texts compare byte by byte, so that keys come in the same order from every store.
TYPES: Final = Types(text='text COLLATE "C"', number="bigint", bytes="bytea")

# Who writes to a project locks its row of `heads` first; room beside it lets that stay one page.
# The server keeps samples of columns for its planner, which no vacuum takes away: of texts it is to keep none.
# The search takes English stems without stop words, so that a word that is said alone is found too.
OWN: Final = """
ALTER TABLE heads SET (fillfactor = 50);
ALTER TABLE texts ALTER COLUMN body SET STATISTICS 0;

CREATE FUNCTION follow_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.sequence <>
    coalesce((SELECT max(e.sequence) + 1 FROM counterpoint.entries AS e WHERE e.project = NEW.project), 0)
  THEN
    RAISE EXCEPTION 'the entry is not the next of its ledger';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION keep_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an entry of the ledger is never changed or deleted';
END
$$;

CREATE FUNCTION tell_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('counterpoint', NEW.sequence || ' ' || left(NEW.project, 200));
  RETURN NULL;
END
$$;

CREATE TRIGGER entries_follow BEFORE INSERT ON entries
FOR EACH ROW EXECUTE FUNCTION follow_entry();

CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON entries
FOR EACH ROW EXECUTE FUNCTION keep_entries();

CREATE TRIGGER entries_remain BEFORE TRUNCATE ON entries
FOR EACH STATEMENT EXECUTE FUNCTION keep_entries();

CREATE TRIGGER entries_told AFTER INSERT ON entries
FOR EACH ROW EXECUTE FUNCTION tell_entry();

CREATE TEXT SEARCH DICTIONARY stems (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION words (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION words
  ALTER MAPPING FOR asciiword, word, numword WITH stems;

CREATE TABLE documents (
  project text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  item text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (project, source, key)
);

ALTER TABLE documents ALTER COLUMN words SET STATISTICS 0;

CREATE INDEX documents_words ON documents USING gin (words);
"""
"""Run after the ledger's own tables and before those of the nouns."""
