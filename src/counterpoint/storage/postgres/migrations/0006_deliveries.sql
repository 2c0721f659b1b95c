-- Runs of agents and their events; the documents that are kept to be found, in pieces.

CREATE TABLE runs (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  item text COLLATE "C" NOT NULL,
  profile text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  error text COLLATE "C" NOT NULL,
  cost_micros bigint NOT NULL,
  duration_ms bigint NOT NULL,
  turns bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  events bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE INDEX runs_item ON runs (project, item, number);
CREATE INDEX runs_number ON runs (project, number);

CREATE TABLE run_events (
  project text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  item text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  subtype text COLLATE "C" NOT NULL,
  payload text COLLATE "C" NOT NULL,
  is_cut bigint NOT NULL,
  time text COLLATE "C" NOT NULL,
  line bigint NOT NULL,
  PRIMARY KEY (project, run, number)
);

CREATE INDEX run_events_item ON run_events (project, item, run, number);

CREATE TABLE library (
  project text COLLATE "C" NOT NULL,
  shelf text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  markup text COLLATE "C" NOT NULL,
  chunks bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, shelf, path)
);

CREATE TABLE passages (
  project text COLLATE "C" NOT NULL,
  shelf text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  headings text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL,
  first_line bigint NOT NULL,
  last_line bigint NOT NULL,
  PRIMARY KEY (project, shelf, id)
);

CREATE INDEX passages_path ON passages (project, shelf, path, position);
