-- Which connections have written, at which server, and when they ended. No state: the ledger says nothing of it, no replay
-- makes it, and a project that moves to another database leaves it behind. A server beats one row for all its connections.

CREATE TABLE servers (
  name TEXT NOT NULL PRIMARY KEY,
  uid INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL,
  boot TEXT NOT NULL,
  namespace TEXT NOT NULL,
  beat_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE presences (
  project TEXT NOT NULL,
  seat TEXT NOT NULL,
  server TEXT NOT NULL,
  origin TEXT NOT NULL,
  uid INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL,
  boot TEXT NOT NULL,
  namespace TEXT NOT NULL,
  ended_at TEXT NOT NULL,
  PRIMARY KEY (project, seat, server)
) STRICT, WITHOUT ROWID;
