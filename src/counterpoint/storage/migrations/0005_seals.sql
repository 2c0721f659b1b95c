-- Thoughts: what chains the records of a task to each other. Seals: the signed end of a session.

CREATE TABLE thoughts (
  project TEXT NOT NULL,
  record TEXT NOT NULL,
  number INTEGER NOT NULL,
  version INTEGER NOT NULL,
  type TEXT NOT NULL,
  task TEXT NOT NULL,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  content TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (project, record)
) STRICT;

CREATE UNIQUE INDEX thoughts_task ON thoughts (project, task, sequence);
CREATE INDEX thoughts_session ON thoughts (project, session, number);
CREATE INDEX thoughts_number ON thoughts (project, number);

CREATE TABLE seals (
  project TEXT NOT NULL,
  session TEXT NOT NULL,
  number INTEGER NOT NULL,
  root TEXT NOT NULL,
  size INTEGER NOT NULL,
  checkpoint TEXT NOT NULL,
  sealed_at TEXT NOT NULL,
  PRIMARY KEY (project, session)
) STRICT;

CREATE INDEX seals_number ON seals (project, number);
