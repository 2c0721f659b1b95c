-- What models make of the documents of the search. No state: no entry tells of it, and whoever has the texts makes it again.
-- What is known of a document whose texts change or go (state 1, state 2) is gone in the same transaction.

CREATE TABLE embedders (
  number bigint GENERATED ALWAYS AS IDENTITY,
  name text COLLATE "C" NOT NULL PRIMARY KEY
);

CREATE TABLE vectors (
  document bigint NOT NULL,
  model bigint NOT NULL,
  project text COLLATE "C" NOT NULL,
  turn bigint NOT NULL,
  state bigint NOT NULL,
  vector bytea NOT NULL,
  PRIMARY KEY (document, model)
);

CREATE INDEX vectors_turn ON vectors (project, model, turn);
CREATE INDEX vectors_place ON vectors (project, model, document);
CREATE INDEX vectors_stale ON vectors (project, model) WHERE state = 1;
CREATE INDEX documents_number ON documents (project, id);

CREATE FUNCTION drop_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE counterpoint.vectors AS t SET vector = '', turn =
    (SELECT max(v.turn) + 1 FROM counterpoint.vectors AS v WHERE v.project = t.project AND v.model = t.model),
    state = CASE TG_OP WHEN 'UPDATE' THEN 1 ELSE 2 END
  WHERE t.document = OLD.id;
  RETURN NULL;
END
$$;

CREATE TRIGGER documents_change AFTER UPDATE ON documents
FOR EACH ROW EXECUTE FUNCTION drop_vectors();

CREATE TRIGGER documents_leave AFTER DELETE ON documents
FOR EACH ROW EXECUTE FUNCTION drop_vectors();
