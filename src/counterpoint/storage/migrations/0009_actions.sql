-- Actions: two rows for each call of a tool. Transitions: each move of a strict task.

CREATE TABLE actions (
  project TEXT NOT NULL,
  number INTEGER NOT NULL,
  step TEXT NOT NULL,
  tool TEXT NOT NULL,
  call TEXT NOT NULL,
  host TEXT NOT NULL,
  agent TEXT NOT NULL,
  client TEXT NOT NULL,
  session TEXT NOT NULL,
  outcome TEXT NOT NULL,
  code TEXT NOT NULL,
  arguments TEXT NOT NULL,
  answer TEXT NOT NULL,
  duration INTEGER NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (project, number, step)
) STRICT;

CREATE INDEX actions_host ON actions (project, host, step, number);
CREATE INDEX actions_outcome ON actions (project, outcome, number);

CREATE TABLE transitions (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  number INTEGER NOT NULL,
  origin TEXT NOT NULL,
  goal TEXT NOT NULL,
  reason TEXT NOT NULL,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  mark INTEGER NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (project, item, number)
) STRICT;

CREATE INDEX items_lifecycle ON items (project, lifecycle, number);
