-- When a server last used a model, in seconds: vectors of one that nobody uses any more are taken away, those of another server's are not.
ALTER TABLE embedders ADD COLUMN used INTEGER NOT NULL DEFAULT 0;

UPDATE embedders SET used = unixepoch();
