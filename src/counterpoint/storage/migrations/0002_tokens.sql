-- Tokens: keys to the project for callers over the network. Only the SHA-256 of a secret is kept.

CREATE TABLE tokens (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  surfaces TEXT NOT NULL,
  scopes TEXT NOT NULL,
  tools TEXT NOT NULL,
  addresses TEXT NOT NULL,
  calls_a_minute INTEGER NOT NULL,
  session TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  revoked_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE UNIQUE INDEX tokens_sha256 ON tokens (project, sha256);
CREATE INDEX tokens_name ON tokens (project, name);
