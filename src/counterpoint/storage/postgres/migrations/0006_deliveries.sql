-- What is handed over: claims and verdicts of phases, changes; runs of agents and their events; the
-- documents that are kept to be found, in pieces.

CREATE TABLE phase_claims (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  item text COLLATE "C" NOT NULL,
  phase text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  path text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  tree text COLLATE "C" NOT NULL,
  branch text COLLATE "C" NOT NULL,
  base text COLLATE "C" NOT NULL,
  "commit" text COLLATE "C" NOT NULL,
  summary text COLLATE "C" NOT NULL,
  questions text COLLATE "C" NOT NULL,
  confidence text COLLATE "C" NOT NULL,
  promote_to text COLLATE "C" NOT NULL,
  next_phase text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  processed bigint NOT NULL,
  processed_at text COLLATE "C" NOT NULL,
  result text COLLATE "C" NOT NULL,
  reasons text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE INDEX phase_claims_open ON phase_claims (project, processed, number);
CREATE INDEX phase_claims_item ON phase_claims (project, item, number);
CREATE INDEX phase_claims_number ON phase_claims (project, number);

CREATE TABLE phase_verdicts (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  item text COLLATE "C" NOT NULL,
  claim text COLLATE "C" NOT NULL,
  phase text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  decision text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  fixes text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  processed bigint NOT NULL,
  processed_at text COLLATE "C" NOT NULL,
  result text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE INDEX phase_verdicts_claim ON phase_verdicts (project, claim, number);
CREATE INDEX phase_verdicts_item ON phase_verdicts (project, item, number);
CREATE INDEX phase_verdicts_number ON phase_verdicts (project, number);

CREATE TABLE change_requests (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  item text COLLATE "C" NOT NULL,
  branch text COLLATE "C" NOT NULL,
  base text COLLATE "C" NOT NULL,
  tree text COLLATE "C" NOT NULL,
  head text COLLATE "C" NOT NULL,
  base_commit text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  diff text COLLATE "C" NOT NULL,
  files bigint NOT NULL,
  additions bigint NOT NULL,
  deletions bigint NOT NULL,
  paths text COLLATE "C" NOT NULL,
  gates text COLLATE "C" NOT NULL,
  risk_level text COLLATE "C" NOT NULL,
  risk_score bigint NOT NULL,
  risk text COLLATE "C" NOT NULL,
  remarks text COLLATE "C" NOT NULL,
  summary text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  fixes text COLLATE "C" NOT NULL,
  judge text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE INDEX change_requests_item ON change_requests (project, item, number);
CREATE INDEX change_requests_status ON change_requests (project, status, number);
CREATE INDEX change_requests_number ON change_requests (project, number);

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
