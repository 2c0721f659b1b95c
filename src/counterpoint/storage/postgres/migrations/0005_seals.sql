-- Thoughts: what chains the records of a task to each other. Seals: the signed end of a session.

CREATE TABLE thoughts (
  project text COLLATE "C" NOT NULL,
  record text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  version bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  task text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  content text COLLATE "C" NOT NULL,
  previous text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, record)
);

CREATE UNIQUE INDEX thoughts_task ON thoughts (project, task, sequence);
CREATE INDEX thoughts_session ON thoughts (project, session, number);
CREATE INDEX thoughts_number ON thoughts (project, number);

CREATE TABLE seals (
  project text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  root text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  checkpoint text COLLATE "C" NOT NULL,
  sealed_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, session)
);

CREATE INDEX seals_number ON seals (project, number);
