-- What is handed over: claims and verdicts of phases, changes; runs of agents and their events; the
-- documents that are kept to be found, in pieces.

CREATE TABLE phase_claims (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  phase TEXT NOT NULL,
  version INTEGER NOT NULL,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  tree TEXT NOT NULL,
  branch TEXT NOT NULL,
  base TEXT NOT NULL,
  "commit" TEXT NOT NULL,
  summary TEXT NOT NULL,
  questions TEXT NOT NULL,
  confidence TEXT NOT NULL,
  promote_to TEXT NOT NULL,
  next_phase TEXT NOT NULL,
  run TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  created_at TEXT NOT NULL,
  processed INTEGER NOT NULL,
  processed_at TEXT NOT NULL,
  result TEXT NOT NULL,
  reasons TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE INDEX phase_claims_open ON phase_claims (project, processed, number);
CREATE INDEX phase_claims_item ON phase_claims (project, item, number);
CREATE INDEX phase_claims_number ON phase_claims (project, number);

CREATE TABLE phase_verdicts (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  claim TEXT NOT NULL,
  phase TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  decision TEXT NOT NULL,
  reason TEXT NOT NULL,
  fixes TEXT NOT NULL,
  run TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  created_at TEXT NOT NULL,
  processed INTEGER NOT NULL,
  processed_at TEXT NOT NULL,
  result TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE INDEX phase_verdicts_claim ON phase_verdicts (project, claim, number);
CREATE INDEX phase_verdicts_item ON phase_verdicts (project, item, number);
CREATE INDEX phase_verdicts_number ON phase_verdicts (project, number);

CREATE TABLE change_requests (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  branch TEXT NOT NULL,
  base TEXT NOT NULL,
  tree TEXT NOT NULL,
  head TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  source TEXT NOT NULL,
  diff TEXT NOT NULL,
  files INTEGER NOT NULL,
  additions INTEGER NOT NULL,
  deletions INTEGER NOT NULL,
  paths TEXT NOT NULL,
  gates TEXT NOT NULL,
  risk_level TEXT NOT NULL,
  risk_score INTEGER NOT NULL,
  risk TEXT NOT NULL,
  remarks TEXT NOT NULL,
  summary TEXT NOT NULL,
  run TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  fixes TEXT NOT NULL,
  judge TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE INDEX change_requests_item ON change_requests (project, item, number);
CREATE INDEX change_requests_status ON change_requests (project, status, number);
CREATE INDEX change_requests_number ON change_requests (project, number);

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
