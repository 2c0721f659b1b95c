-- Tokens: keys to the project for callers over the network. Only the SHA-256 of a secret is kept.

CREATE TABLE tokens (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  surfaces text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL,
  tools text COLLATE "C" NOT NULL,
  addresses text COLLATE "C" NOT NULL,
  calls_a_minute bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  revoked_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE UNIQUE INDEX tokens_sha256 ON tokens (project, sha256);
CREATE INDEX tokens_name ON tokens (project, name);
