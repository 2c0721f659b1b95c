-- Runs of agents and their events; the documents that are kept to be found, in pieces.

CREATE TABLE runs (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  profile TEXT NOT NULL,
  agent TEXT NOT NULL,
  status TEXT NOT NULL,
  error TEXT NOT NULL,
  cost_micros INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  events INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE INDEX runs_item ON runs (project, item, number);
CREATE INDEX runs_number ON runs (project, number);

CREATE TABLE run_events (
  project TEXT NOT NULL,
  run TEXT NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  type TEXT NOT NULL,
  subtype TEXT NOT NULL,
  payload TEXT NOT NULL,
  is_cut INTEGER NOT NULL,
  time TEXT NOT NULL,
  line INTEGER NOT NULL,
  PRIMARY KEY (project, run, number)
) STRICT;

CREATE INDEX run_events_item ON run_events (project, item, run, number);

CREATE TABLE library (
  project TEXT NOT NULL,
  shelf TEXT NOT NULL,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  markup TEXT NOT NULL,
  chunks INTEGER NOT NULL,
  agent TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (project, shelf, path)
) STRICT;

CREATE TABLE passages (
  project TEXT NOT NULL,
  shelf TEXT NOT NULL,
  id TEXT NOT NULL,
  path TEXT NOT NULL,
  position INTEGER NOT NULL,
  headings TEXT NOT NULL,
  text TEXT NOT NULL,
  first_line INTEGER NOT NULL,
  last_line INTEGER NOT NULL,
  PRIMARY KEY (project, shelf, id)
) STRICT;

CREATE INDEX passages_path ON passages (project, shelf, path, position);
