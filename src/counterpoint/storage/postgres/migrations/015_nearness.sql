-- When a server last used a model, in seconds: vectors of one that nobody uses any more are taken away, those of another server's are not.
ALTER TABLE embedders ADD COLUMN used bigint NOT NULL DEFAULT 0;

UPDATE embedders SET used = extract(epoch FROM now())::bigint;

-- Where pgvector is there the signs of vectors stand in a schema of their own (signs.py): they come and go with the vector, in its transaction.
CREATE FUNCTION follow_vectors() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path TO pg_catalog AS $$
BEGIN
  IF to_regclass('counterpoint_near.signs') IS NOT NULL THEN
    IF TG_OP <> 'INSERT' THEN
      DELETE FROM counterpoint_near.signs WHERE document = OLD.document AND model = OLD.model;
    END IF;
    IF TG_OP <> 'DELETE' THEN
      INSERT INTO counterpoint_near.signs
      SELECT NEW.document, NEW.model, NEW.project, d.kind, d.item, counterpoint_near.signs_of(NEW.vector)
      FROM counterpoint.documents AS d
      WHERE d.id = NEW.document AND NEW.state = 0 AND octet_length(NEW.vector) > 0;
    END IF;
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER vectors_follow AFTER INSERT OR UPDATE OR DELETE ON vectors
FOR EACH ROW EXECUTE FUNCTION follow_vectors();
