
CREATE TABLE texts (
  project TEXT NOT NULL,
  commitment BLOB NOT NULL,
  salt BLOB NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (project, commitment)
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
  project TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  data BLOB NOT NULL,
  leaf BLOB NOT NULL,
  subject TEXT NOT NULL,
  action TEXT NOT NULL,
  PRIMARY KEY (project, sequence)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_subject ON entries (project, subject, sequence) WHERE subject <> '';
CREATE INDEX entries_action ON entries (project, action, sequence);

CREATE TABLE heads (
  project TEXT NOT NULL PRIMARY KEY,
  size INTEGER NOT NULL,
  leaf TEXT NOT NULL,
  time TEXT NOT NULL,
  frontier BLOB NOT NULL
) STRICT;

-- Hashes of complete subtrees, every fourth level; level 0 of the tree is the column `leaf`.

CREATE TABLE nodes (
  project TEXT NOT NULL,
  level INTEGER NOT NULL,
  position INTEGER NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (project, level, position)
) STRICT, WITHOUT ROWID;

-- What writers signed of their entries. No state either: it vouches for entries, and stands beside them.

CREATE TABLE signatures (
  project TEXT NOT NULL,
  first INTEGER NOT NULL,
  writer TEXT NOT NULL,
  delegation TEXT NOT NULL,
  note TEXT NOT NULL,
  PRIMARY KEY (project, first)
) STRICT, WITHOUT ROWID;

-- Where a ledger was moved to. No state: this copy of it ends there, and goes on in another database.

CREATE TABLE moved (
  project TEXT NOT NULL PRIMARY KEY,
  place TEXT NOT NULL,
  time TEXT NOT NULL
) STRICT;

-- How often something was used. No state: the ledger says nothing of it, no replay makes it, and a
-- project that moves to another database begins to count anew.

CREATE TABLE meters (
  project TEXT NOT NULL,
  subject TEXT NOT NULL,
  measure TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (project, subject, measure)
) STRICT, WITHOUT ROWID;

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

-- A project has a shelf; the ids of its documents are shelf * 2^40 + 1 and upward, so that a search
-- touches one project's range only.

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

-- A leaf that fills a page leaves no room beside it: each commit would move the rows of three pages.
INSERT INTO search (search, rank) VALUES ('pgsz', 1000);
CREATE TABLE projects (
  "project" TEXT NOT NULL,
  "title" BLOB NOT NULL,
  "prefix" TEXT NOT NULL,
  "ledger" TEXT NOT NULL,
  "public_key" TEXT NOT NULL,
  "created_at" TEXT NOT NULL,
  "reviews" TEXT NOT NULL,
  "trusted" TEXT NOT NULL,
  "search_path" TEXT NOT NULL,
  PRIMARY KEY ("project")
) STRICT, WITHOUT ROWID;

CREATE TABLE epochs (
  "project" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "public_key" TEXT NOT NULL,
  "left_epoch" INTEGER NOT NULL,
  "left_size" INTEGER NOT NULL,
  "left_root" TEXT NOT NULL,
  "gone" TEXT NOT NULL,
  "reason" BLOB NOT NULL,
  "confirmed_by" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "opened_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "number")
) STRICT, WITHOUT ROWID;

CREATE TABLE connections (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "client" TEXT NOT NULL,
  "uid" INTEGER NOT NULL,
  "pid" INTEGER NOT NULL,
  "started" INTEGER NOT NULL,
  "boot" TEXT NOT NULL,
  "namespace" TEXT NOT NULL,
  "executable" TEXT NOT NULL,
  "held_since" INTEGER NOT NULL,
  "unit" TEXT NOT NULL,
  "ancestry" BLOB NOT NULL,
  "opened_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX connections_boot ON connections ("project", "boot");

CREATE TABLE keys (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "owner" TEXT NOT NULL,
  "public_key" TEXT NOT NULL,
  "storage" TEXT NOT NULL,
  "enrolled_by" TEXT NOT NULL,
  "enrolled_at" TEXT NOT NULL,
  "revoked_by" TEXT NOT NULL,
  "revoked_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT, WITHOUT ROWID;

CREATE TABLE confirmations (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "signed_by" TEXT NOT NULL,
  "statement" TEXT NOT NULL,
  "signature" TEXT NOT NULL,
  "reason" BLOB NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "profile" TEXT NOT NULL,
  "client" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "continues" TEXT NOT NULL,
  "started_at" TEXT NOT NULL,
  "ended_at" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "details" BLOB NOT NULL,
  "purpose" TEXT NOT NULL,
  "writer" TEXT NOT NULL,
  "principal" TEXT NOT NULL,
  "capability" TEXT NOT NULL,
  "active_at" TEXT NOT NULL,
  "entered" INTEGER NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX sessions_agent ON sessions ("project", "agent");
CREATE INDEX sessions_item ON sessions ("project", "item");
CREATE INDEX sessions_capability ON sessions ("project", "capability");

CREATE TABLE stagings (
  "project" TEXT NOT NULL,
  "first" INTEGER NOT NULL,
  "last" INTEGER NOT NULL,
  "status" TEXT NOT NULL,
  "until" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "begun_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "first")
) STRICT;
CREATE INDEX stagings_last ON stagings ("project", "last");
CREATE INDEX stagings_first_last ON stagings ("project", "first", "last") WHERE "status" = 'hidden';

CREATE TABLE endings (
  "project" TEXT NOT NULL,
  "since" INTEGER NOT NULL,
  "item" TEXT NOT NULL,
  "goal" TEXT NOT NULL,
  "reason" BLOB NOT NULL,
  "status" TEXT NOT NULL,
  "until" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "begun_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "since")
) STRICT;
CREATE INDEX endings_item ON endings ("project", "item") WHERE "status" = 'begun';

CREATE TABLE items (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "kind" TEXT NOT NULL,
  "title" BLOB NOT NULL,
  "lifecycle" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "category" TEXT NOT NULL,
  "parent" TEXT NOT NULL,
  "root" TEXT NOT NULL,
  "position" INTEGER NOT NULL,
  "priority" INTEGER NOT NULL,
  "blockers" INTEGER NOT NULL,
  "held" INTEGER NOT NULL,
  "assignee" TEXT NOT NULL,
  "profile" TEXT NOT NULL,
  "body" BLOB NOT NULL,
  "version" INTEGER NOT NULL,
  "created_at" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  "closed_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX items_number ON items ("project", "number");
CREATE INDEX items_lifecycle_number ON items ("project", "lifecycle", "number");
CREATE INDEX items_parent_category ON items ("project", "parent", "category");
CREATE INDEX items_parent_kind_status ON items ("project", "parent", "kind", "status");
CREATE INDEX items_parent_position ON items ("project", "parent", "position");
CREATE INDEX items_root_kind_parent ON items ("project", "root", "kind", "parent");
CREATE INDEX items_kind_category_blockers_priority_number ON items ("project", "kind", "category", "blockers", "priority", "number");
CREATE INDEX items_root_kind_category_blockers_priority_number ON items ("project", "root", "kind", "category", "blockers", "priority", "number") WHERE "category" = 'open' OR "category" = 'active';

CREATE TABLE labels (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  PRIMARY KEY ("project", "item", "name")
) STRICT;
CREATE INDEX labels_name_item ON labels ("project", "name", "item");

CREATE TABLE dependencies (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "needs" TEXT NOT NULL,
  PRIMARY KEY ("project", "item", "needs")
) STRICT;
CREATE INDEX dependencies_needs_item ON dependencies ("project", "needs", "item");

CREATE TABLE areas (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "pattern" TEXT NOT NULL,
  PRIMARY KEY ("project", "item", "pattern")
) STRICT, WITHOUT ROWID;

CREATE TABLE criteria (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "position" INTEGER NOT NULL,
  "text" BLOB NOT NULL,
  "met" INTEGER NOT NULL,
  PRIMARY KEY ("project", "item", "position")
) STRICT, WITHOUT ROWID;

CREATE TABLE gates (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "holds" TEXT NOT NULL,
  "argv" BLOB NOT NULL,
  "status" TEXT NOT NULL,
  "proof" TEXT NOT NULL,
  "reason" BLOB NOT NULL,
  "updated_at" TEXT NOT NULL,
  "independence" TEXT NOT NULL,
  PRIMARY KEY ("project", "item", "name")
) STRICT, WITHOUT ROWID;

CREATE TABLE contributions (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "principal" TEXT NOT NULL,
  "how" TEXT NOT NULL,
  PRIMARY KEY ("project", "item", "principal", "how")
) STRICT;
CREATE INDEX contributions_principal_item ON contributions ("project", "principal", "item") WHERE "how" = 'loosened';

CREATE TABLE successions (
  "project" TEXT NOT NULL,
  "principal" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "former" TEXT NOT NULL,
  "is_whole" INTEGER NOT NULL,
  PRIMARY KEY ("project", "principal", "session", "former")
) STRICT, WITHOUT ROWID;

CREATE TABLE claims (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "token" INTEGER NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "state" TEXT NOT NULL,
  "claimed_at" TEXT NOT NULL,
  "leased_until" TEXT NOT NULL,
  "seconds" INTEGER NOT NULL,
  PRIMARY KEY ("project", "item")
) STRICT;
CREATE INDEX claims_session_state ON claims ("project", "session", "state") WHERE "state" = 'live';
CREATE INDEX claims_state_item ON claims ("project", "state", "item") WHERE "state" = 'live';

CREATE TABLE start_points (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "token" INTEGER NOT NULL,
  "method" TEXT NOT NULL,
  "commit" TEXT NOT NULL,
  "branch" TEXT NOT NULL,
  "files" BLOB NOT NULL,
  "taken_at" TEXT NOT NULL,
  "tree" TEXT NOT NULL,
  PRIMARY KEY ("project", "item", "token")
) STRICT, WITHOUT ROWID;

CREATE TABLE outcomes (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "token" INTEGER NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "outcome" TEXT NOT NULL,
  "summary" BLOB NOT NULL,
  "achievements" BLOB NOT NULL,
  "limitations" BLOB NOT NULL,
  "next_steps" BLOB NOT NULL,
  "evidence" BLOB NOT NULL,
  "remarks" BLOB NOT NULL,
  "ended_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "item", "token")
) STRICT, WITHOUT ROWID;

CREATE TABLE handoffs (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "action" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "summary" BLOB NOT NULL,
  "next_steps" BLOB NOT NULL,
  "blockers" BLOB NOT NULL,
  "context" BLOB NOT NULL,
  "created_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX handoffs_number ON handoffs ("project", "number");
CREATE INDEX handoffs_item_number ON handoffs ("project", "item", "number");
CREATE INDEX handoffs_session_number ON handoffs ("project", "session", "number");

CREATE TABLE records (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "kind" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "title" BLOB NOT NULL,
  "body" BLOB NOT NULL,
  "tags" TEXT NOT NULL,
  "files" TEXT NOT NULL,
  "details" BLOB NOT NULL,
  "status" TEXT NOT NULL,
  "resolution" BLOB NOT NULL,
  "resolved_by" TEXT NOT NULL,
  "created_at" TEXT NOT NULL,
  "resolved_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX records_number ON records ("project", "number");
CREATE INDEX records_item_kind_number ON records ("project", "item", "kind", "number");
CREATE INDEX records_kind_status_number ON records ("project", "kind", "status", "number");
CREATE INDEX records_session_kind_number ON records ("project", "session", "kind", "number");

CREATE TABLE receipts (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "item" TEXT NOT NULL,
  "gate" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "argv" BLOB NOT NULL,
  "folder" TEXT NOT NULL,
  "command_sha256" BLOB NOT NULL,
  "exit_code" INTEGER NOT NULL,
  "timed_out" INTEGER NOT NULL,
  "output" BLOB NOT NULL,
  "output_sha256" BLOB NOT NULL,
  "output_bytes" INTEGER NOT NULL,
  "method" TEXT NOT NULL,
  "commit" TEXT NOT NULL,
  "files" BLOB NOT NULL,
  "started_at" TEXT NOT NULL,
  "ended_at" TEXT NOT NULL,
  "program" BLOB NOT NULL,
  "program_sha256" TEXT NOT NULL,
  "sandbox" TEXT NOT NULL,
  "terms" TEXT NOT NULL,
  "signature" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX receipts_number ON receipts ("project", "number");
CREATE INDEX receipts_item_number ON receipts ("project", "item", "number");

CREATE TABLE submissions (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "item" TEXT NOT NULL,
  "of" TEXT NOT NULL,
  "phase" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "run" TEXT NOT NULL,
  "path" TEXT NOT NULL,
  "sha256" TEXT NOT NULL,
  "size" INTEGER NOT NULL,
  "commit" TEXT NOT NULL,
  "tree" TEXT NOT NULL,
  "branch" TEXT NOT NULL,
  "base" TEXT NOT NULL,
  "summary" BLOB NOT NULL,
  "details" BLOB NOT NULL,
  "status" TEXT NOT NULL,
  "reasons" BLOB NOT NULL,
  "created_at" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX submissions_number ON submissions ("project", "number");
CREATE INDEX submissions_item_number ON submissions ("project", "item", "number");
CREATE INDEX submissions_of_status_number ON submissions ("project", "of", "status", "number");

CREATE TABLE changesets (
  "project" TEXT NOT NULL,
  "submission" TEXT NOT NULL,
  "base_commit" TEXT NOT NULL,
  "source" TEXT NOT NULL,
  "diff" BLOB NOT NULL,
  "files" INTEGER NOT NULL,
  "additions" INTEGER NOT NULL,
  "deletions" INTEGER NOT NULL,
  "paths" TEXT NOT NULL,
  "gates" BLOB NOT NULL,
  "risk_level" TEXT NOT NULL,
  "risk_score" INTEGER NOT NULL,
  "risk" BLOB NOT NULL,
  "remarks" BLOB NOT NULL,
  PRIMARY KEY ("project", "submission")
) STRICT, WITHOUT ROWID;

CREATE TABLE verdicts (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "item" TEXT NOT NULL,
  "submission" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "run" TEXT NOT NULL,
  "decision" TEXT NOT NULL,
  "subject" TEXT NOT NULL,
  "reason" BLOB NOT NULL,
  "fixes" BLOB NOT NULL,
  "independence" TEXT NOT NULL,
  "created_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX verdicts_number ON verdicts ("project", "number");
CREATE INDEX verdicts_item_number ON verdicts ("project", "item", "number");
CREATE INDEX verdicts_submission_number ON verdicts ("project", "submission", "number");

CREATE TABLE state (
  "project" TEXT NOT NULL,
  "scope" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "value" BLOB NOT NULL,
  "version" INTEGER NOT NULL,
  "agent" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  "category" TEXT NOT NULL,
  "description" BLOB NOT NULL,
  PRIMARY KEY ("project", "scope", "name")
) STRICT, WITHOUT ROWID;

CREATE TABLE profiles (
  "project" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "title" BLOB NOT NULL,
  "instructions" BLOB NOT NULL,
  "allowed_tools" TEXT NOT NULL,
  "denied_tools" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "name")
) STRICT, WITHOUT ROWID;

CREATE TABLE replies (
  "project" TEXT NOT NULL,
  "holder" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "request" BLOB NOT NULL,
  "answer" BLOB NOT NULL,
  "created_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "holder", "name")
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "sha256" TEXT NOT NULL,
  "surfaces" TEXT NOT NULL,
  "scopes" TEXT NOT NULL,
  "tools" TEXT NOT NULL,
  "addresses" TEXT NOT NULL,
  "calls_a_minute" INTEGER NOT NULL,
  "session" TEXT NOT NULL,
  "created_at" TEXT NOT NULL,
  "expires_at" TEXT NOT NULL,
  "revoked_at" TEXT NOT NULL,
  "calls_a_month" INTEGER NOT NULL,
  "tool_limits" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "maker" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE UNIQUE INDEX tokens_sha256 ON tokens ("project", "sha256");
CREATE INDEX tokens_name ON tokens ("project", "name");

CREATE TABLE aliases (
  "project" TEXT NOT NULL,
  "scope" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  PRIMARY KEY ("project", "scope", "name")
) STRICT;
CREATE INDEX aliases_name ON aliases ("project", "name");
CREATE INDEX aliases_item ON aliases ("project", "item");

CREATE TABLE attributes (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "value" BLOB NOT NULL,
  PRIMARY KEY ("project", "item", "name")
) STRICT, WITHOUT ROWID;

CREATE TABLE thoughts (
  "project" TEXT NOT NULL,
  "record" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "version" INTEGER NOT NULL,
  "type" TEXT NOT NULL,
  "task" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "sequence" INTEGER NOT NULL,
  "created_at" TEXT NOT NULL,
  "content" TEXT NOT NULL,
  "previous" TEXT NOT NULL,
  "hash" TEXT NOT NULL,
  PRIMARY KEY ("project", "record")
) STRICT;
CREATE UNIQUE INDEX thoughts_task_sequence ON thoughts ("project", "task", "sequence");
CREATE INDEX thoughts_number ON thoughts ("project", "number");
CREATE INDEX thoughts_session_number ON thoughts ("project", "session", "number");

CREATE TABLE seals (
  "project" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "root" TEXT NOT NULL,
  "size" INTEGER NOT NULL,
  "checkpoint" TEXT NOT NULL,
  "sealed_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "session")
) STRICT;
CREATE INDEX seals_number ON seals ("project", "number");

CREATE TABLE transitions (
  "project" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "origin" TEXT NOT NULL,
  "goal" TEXT NOT NULL,
  "reason" BLOB NOT NULL,
  "agent" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "attempt" INTEGER NOT NULL,
  "mark" INTEGER NOT NULL,
  "at" TEXT NOT NULL,
  PRIMARY KEY ("project", "item", "number")
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "item" TEXT NOT NULL,
  "profile" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "error" BLOB NOT NULL,
  "cost_micros" INTEGER NOT NULL,
  "duration_ms" INTEGER NOT NULL,
  "turns" INTEGER NOT NULL,
  "input_tokens" INTEGER NOT NULL,
  "cached_tokens" INTEGER NOT NULL,
  "output_tokens" INTEGER NOT NULL,
  "events" INTEGER NOT NULL,
  "created_at" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX runs_number ON runs ("project", "number");
CREATE INDEX runs_item_number ON runs ("project", "item", "number");

CREATE TABLE run_events (
  "project" TEXT NOT NULL,
  "run" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "item" TEXT NOT NULL,
  "type" TEXT NOT NULL,
  "subtype" TEXT NOT NULL,
  "payload" BLOB NOT NULL,
  "is_cut" INTEGER NOT NULL,
  "time" TEXT NOT NULL,
  "line" INTEGER NOT NULL,
  PRIMARY KEY ("project", "run", "number")
) STRICT;
CREATE INDEX run_events_item_run_number ON run_events ("project", "item", "run", "number");

CREATE TABLE library (
  "project" TEXT NOT NULL,
  "shelf" TEXT NOT NULL,
  "path" TEXT NOT NULL,
  "sha256" BLOB NOT NULL,
  "size" INTEGER NOT NULL,
  "markup" TEXT NOT NULL,
  "chunks" INTEGER NOT NULL,
  "agent" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "shelf", "path")
) STRICT, WITHOUT ROWID;

CREATE TABLE passages (
  "project" TEXT NOT NULL,
  "shelf" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "path" TEXT NOT NULL,
  "position" INTEGER NOT NULL,
  "headings" BLOB NOT NULL,
  "text" BLOB NOT NULL,
  "first_line" INTEGER NOT NULL,
  "last_line" INTEGER NOT NULL,
  PRIMARY KEY ("project", "shelf", "id")
) STRICT;
CREATE INDEX passages_shelf_path_position ON passages ("project", "shelf", "path", "position");

CREATE TABLE erasures (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "place" TEXT NOT NULL,
  "sought" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "texts" INTEGER NOT NULL,
  "looked_for" INTEGER NOT NULL,
  "tries" INTEGER NOT NULL,
  "cleaned" TEXT NOT NULL,
  "beyond" TEXT NOT NULL,
  "left" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "begun_at" TEXT NOT NULL,
  "ended_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX erasures_number ON erasures ("project", "number");
