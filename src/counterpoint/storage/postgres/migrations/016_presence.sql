-- Which connections have written, at which server, and when they ended. No state: the ledger says nothing of it, no replay
-- makes it, and a project that moves to another database leaves it behind. A server beats one row for all its connections.

CREATE TABLE servers (
  name text COLLATE "C" NOT NULL PRIMARY KEY,
  uid bigint NOT NULL,
  pid bigint NOT NULL,
  started bigint NOT NULL,
  boot text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  beat_at text COLLATE "C" NOT NULL
);

CREATE TABLE presences (
  project text COLLATE "C" NOT NULL,
  seat text COLLATE "C" NOT NULL,
  server text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  uid bigint NOT NULL,
  pid bigint NOT NULL,
  started bigint NOT NULL,
  boot text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, seat, server)
);
