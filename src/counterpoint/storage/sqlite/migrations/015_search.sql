-- What models make of the documents of the search. No state: no entry tells of it, and whoever has the texts makes it again.
-- What is known of a document whose texts change or go (state 1, state 2) is gone in the same transaction.

CREATE TABLE embedders (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE vectors (
  document INTEGER NOT NULL,
  model INTEGER NOT NULL,
  shelf INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  state INTEGER NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (document, model)
) STRICT, WITHOUT ROWID;

CREATE INDEX vectors_turn ON vectors (shelf, model, turn);
CREATE INDEX vectors_stale ON vectors (shelf, model) WHERE state = 1;

CREATE TRIGGER documents_change AFTER UPDATE ON documents
BEGIN
  UPDATE vectors SET state = 1, vector = x'', turn =
    (SELECT max(v.turn) + 1 FROM vectors AS v WHERE v.shelf = vectors.shelf AND v.model = vectors.model)
  WHERE document = OLD.id;
END;

CREATE TRIGGER documents_leave AFTER DELETE ON documents
BEGIN
  UPDATE vectors SET state = 2, vector = x'', turn =
    (SELECT max(v.turn) + 1 FROM vectors AS v WHERE v.shelf = vectors.shelf AND v.model = vectors.model)
  WHERE document = OLD.id;
END;
