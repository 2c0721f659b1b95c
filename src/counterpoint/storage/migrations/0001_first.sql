-- The first shape of the store: one table a noun, the texts, the ledger, the search.
--
-- Rules: (1) every table begins with the project; nothing is found without it. (2) The columns of a
-- noun's table are the noun's fields in their order. (3) A prose column holds the SHA-256 of its
-- text, or nothing; the text stands in `texts` and may be taken away from there (a redaction).
-- (4) `entries` only grows, and only by the next sequence. (5) An applied file is never edited.

CREATE TABLE projects (
  project TEXT NOT NULL,
  title TEXT NOT NULL,
  prefix TEXT NOT NULL,
  public_key TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (project)
) STRICT;

CREATE TABLE sessions (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  agent TEXT NOT NULL,
  profile TEXT NOT NULL,
  client TEXT NOT NULL,
  status TEXT NOT NULL,
  continues TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE TABLE items (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  lifecycle TEXT NOT NULL,
  status TEXT NOT NULL,
  category TEXT NOT NULL,
  parent TEXT NOT NULL,
  root TEXT NOT NULL,
  position INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  blockers INTEGER NOT NULL,
  held INTEGER NOT NULL,
  assignee TEXT NOT NULL,
  profile TEXT NOT NULL,
  body TEXT NOT NULL,
  version INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  closed_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE TABLE labels (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (project, item, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE dependencies (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  needs TEXT NOT NULL,
  PRIMARY KEY (project, item, needs)
) STRICT, WITHOUT ROWID;

CREATE TABLE areas (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  pattern TEXT NOT NULL,
  PRIMARY KEY (project, item, pattern)
) STRICT, WITHOUT ROWID;

CREATE TABLE criteria (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  position INTEGER NOT NULL,
  text TEXT NOT NULL,
  met INTEGER NOT NULL,
  PRIMARY KEY (project, item, position)
) STRICT;

CREATE TABLE gates (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  holds TEXT NOT NULL,
  argv TEXT NOT NULL,
  status TEXT NOT NULL,
  proof TEXT NOT NULL,
  reason TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (project, item, name)
) STRICT;

CREATE TABLE claims (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  token INTEGER NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  state TEXT NOT NULL,
  claimed_at TEXT NOT NULL,
  leased_until TEXT NOT NULL,
  PRIMARY KEY (project, item)
) STRICT;

CREATE TABLE start_points (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  token INTEGER NOT NULL,
  method TEXT NOT NULL,
  "commit" TEXT NOT NULL,
  branch TEXT NOT NULL,
  files TEXT NOT NULL,
  taken_at TEXT NOT NULL,
  PRIMARY KEY (project, item, token)
) STRICT;

CREATE TABLE outcomes (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  token INTEGER NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  outcome TEXT NOT NULL,
  summary TEXT NOT NULL,
  achievements TEXT NOT NULL,
  limitations TEXT NOT NULL,
  next_steps TEXT NOT NULL,
  evidence TEXT NOT NULL,
  remarks TEXT NOT NULL,
  ended_at TEXT NOT NULL,
  PRIMARY KEY (project, item, token)
) STRICT;

CREATE TABLE handoffs (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  action TEXT NOT NULL,
  item TEXT NOT NULL,
  summary TEXT NOT NULL,
  next_steps TEXT NOT NULL,
  blockers TEXT NOT NULL,
  context TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE TABLE records (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  item TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  tags TEXT NOT NULL,
  files TEXT NOT NULL,
  details TEXT NOT NULL,
  status TEXT NOT NULL,
  resolution TEXT NOT NULL,
  resolved_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  resolved_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE TABLE receipts (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  gate TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  argv TEXT NOT NULL,
  folder TEXT NOT NULL,
  command_sha256 TEXT NOT NULL,
  exit_code INTEGER NOT NULL,
  timed_out INTEGER NOT NULL,
  output TEXT NOT NULL,
  output_sha256 TEXT NOT NULL,
  output_bytes INTEGER NOT NULL,
  method TEXT NOT NULL,
  "commit" TEXT NOT NULL,
  files TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE TABLE submissions (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  of TEXT NOT NULL,
  phase TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  run TEXT NOT NULL,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  "commit" TEXT NOT NULL,
  tree TEXT NOT NULL,
  branch TEXT NOT NULL,
  base TEXT NOT NULL,
  summary TEXT NOT NULL,
  details TEXT NOT NULL,
  status TEXT NOT NULL,
  reasons TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE TABLE changesets (
  project TEXT NOT NULL,
  submission TEXT NOT NULL,
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
  PRIMARY KEY (project, submission)
) STRICT;

CREATE TABLE verdicts (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  item TEXT NOT NULL,
  submission TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  run TEXT NOT NULL,
  decision TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  fixes TEXT NOT NULL,
  independence TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (project, id)
) STRICT;

CREATE TABLE state (
  project TEXT NOT NULL,
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  agent TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (project, scope, name)
) STRICT;

CREATE TABLE profiles (
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  title TEXT NOT NULL,
  instructions TEXT NOT NULL,
  allowed_tools TEXT NOT NULL,
  denied_tools TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (project, name)
) STRICT;

CREATE TABLE replies (
  project TEXT NOT NULL,
  agent TEXT NOT NULL,
  name TEXT NOT NULL,
  request TEXT NOT NULL,
  answer TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (project, agent, name)
) STRICT;

-- What is asked of the nouns: ready work (whole project, one root), children, numbers, the open ends.

CREATE INDEX items_ready ON items (project, kind, category, blockers, priority, number);
CREATE INDEX items_ready_below
  ON items (project, root, kind, category, blockers, priority, number);
CREATE INDEX items_children ON items (project, parent, position);
CREATE INDEX items_children_states ON items (project, parent, category);
CREATE INDEX items_number ON items (project, number);
CREATE INDEX sessions_agent ON sessions (project, agent);
CREATE INDEX labels_name ON labels (project, name, item);
CREATE INDEX dependencies_needs ON dependencies (project, needs, item);
CREATE INDEX claims_state ON claims (project, state, leased_until);
CREATE INDEX claims_session ON claims (project, session);
CREATE INDEX handoffs_number ON handoffs (project, number);
CREATE INDEX handoffs_item ON handoffs (project, item, number);
CREATE INDEX handoffs_session ON handoffs (project, session, number);
CREATE INDEX records_number ON records (project, number);
CREATE INDEX records_item ON records (project, item, kind, number);
CREATE INDEX records_kind ON records (project, kind, status, number);
CREATE INDEX receipts_number ON receipts (project, number);
CREATE INDEX receipts_item ON receipts (project, item, number);
CREATE INDEX submissions_number ON submissions (project, number);
CREATE INDEX submissions_item ON submissions (project, item, number);
CREATE INDEX submissions_status ON submissions (project, of, status, number);
CREATE INDEX verdicts_number ON verdicts (project, number);
CREATE INDEX verdicts_item ON verdicts (project, item, number);
CREATE INDEX verdicts_submission ON verdicts (project, submission, number);

-- Texts by content.

CREATE TABLE texts (
  project TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (project, sha256)
) STRICT, WITHOUT ROWID;

-- The ledger: entries that only grow, where each ledger ends, and the tree's inner hashes.
-- Level 0 of the tree is the column `leaf`; `nodes` has every fourth level above it.

CREATE TABLE entries (
  project TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  data BLOB NOT NULL,
  leaf BLOB NOT NULL,
  subject TEXT NOT NULL,
  action TEXT NOT NULL,
  PRIMARY KEY (project, sequence)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_subject ON entries (project, subject, sequence);
CREATE INDEX entries_action ON entries (project, action, sequence);

CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN NEW.sequence <>
  coalesce((SELECT max(sequence) + 1 FROM entries WHERE project = NEW.project), 0)
BEGIN
  SELECT raise(ABORT, 'the entry is not the next of its ledger');
END;

CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
BEGIN
  SELECT raise(ABORT, 'an entry of the ledger is never changed');
END;

CREATE TRIGGER entries_remain BEFORE DELETE ON entries
BEGIN
  SELECT raise(ABORT, 'an entry of the ledger is never deleted');
END;

CREATE TABLE heads (
  project TEXT NOT NULL PRIMARY KEY,
  size INTEGER NOT NULL,
  leaf TEXT NOT NULL,
  time TEXT NOT NULL,
  frontier BLOB NOT NULL
) STRICT;

CREATE TABLE nodes (
  project TEXT NOT NULL,
  level INTEGER NOT NULL,
  position INTEGER NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (project, level, position)
) STRICT, WITHOUT ROWID;

-- The search: which row stands behind each indexed document. A project has a shelf; the ids of its
-- documents are shelf * 2^40 + 1 and upward, so that a search touches one project's range only.

CREATE TABLE shelves (
  shelf INTEGER PRIMARY KEY,
  project TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  shelf INTEGER NOT NULL REFERENCES shelves (shelf),
  source TEXT NOT NULL,
  key TEXT NOT NULL,
  item TEXT NOT NULL,
  kind TEXT NOT NULL,
  UNIQUE (shelf, source, key)
) STRICT;

CREATE VIRTUAL TABLE search USING fts5 (
  title,
  body,
  content = '',
  contentless_delete = 1,
  tokenize = 'porter unicode61'
);
