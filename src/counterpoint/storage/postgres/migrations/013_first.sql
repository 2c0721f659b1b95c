
CREATE TABLE texts (
  project text COLLATE "C" NOT NULL,
  commitment bytea NOT NULL,
  salt bytea NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, commitment)
);

CREATE TABLE entries (
  project text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  data bytea NOT NULL,
  leaf bytea NOT NULL,
  subject text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, sequence)
);

CREATE INDEX entries_subject ON entries (project, subject, sequence) WHERE subject <> '';
CREATE INDEX entries_action ON entries (project, action, sequence);

CREATE TABLE heads (
  project text COLLATE "C" NOT NULL PRIMARY KEY,
  size bigint NOT NULL,
  leaf text COLLATE "C" NOT NULL,
  time text COLLATE "C" NOT NULL,
  frontier bytea NOT NULL
);

-- Hashes of complete subtrees, every fourth level; level 0 of the tree is the column `leaf`.

CREATE TABLE nodes (
  project text COLLATE "C" NOT NULL,
  level bigint NOT NULL,
  position bigint NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (project, level, position)
);

-- What writers signed of their entries. No state either: it vouches for entries, and stands beside them.

CREATE TABLE signatures (
  project text COLLATE "C" NOT NULL,
  first bigint NOT NULL,
  writer text COLLATE "C" NOT NULL,
  delegation text COLLATE "C" NOT NULL,
  note text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, first)
);

-- Where a ledger was moved to. No state: this copy of it ends there, and goes on in another database.

CREATE TABLE moved (
  project text COLLATE "C" NOT NULL PRIMARY KEY,
  place text COLLATE "C" NOT NULL,
  time text COLLATE "C" NOT NULL
);

-- How often something was used. No state: the ledger says nothing of it, no replay makes it, and a
-- project that moves to another database begins to count anew.

CREATE TABLE meters (
  project text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  measure text COLLATE "C" NOT NULL,
  used bigint NOT NULL,
  PRIMARY KEY (project, subject, measure)
);

-- Who writes to a project locks its row of `heads` first; room beside it lets that stay one page. The server keeps
-- samples of columns for its planner, which no vacuum takes away: of texts it is to keep none.

ALTER TABLE heads SET (fillfactor = 50);
ALTER TABLE texts ALTER COLUMN body SET STATISTICS 0;

CREATE FUNCTION follow_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.sequence <>
    coalesce((SELECT max(e.sequence) + 1 FROM counterpoint.entries AS e WHERE e.project = NEW.project), 0)
  THEN
    RAISE EXCEPTION 'the entry is not the next of its ledger';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION keep_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an entry of the ledger is never changed or deleted';
END
$$;

CREATE FUNCTION tell_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('counterpoint', NEW.sequence || ' ' || left(NEW.project, 200));
  RETURN NULL;
END
$$;

CREATE TRIGGER entries_follow BEFORE INSERT ON entries
FOR EACH ROW EXECUTE FUNCTION follow_entry();

CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON entries
FOR EACH ROW EXECUTE FUNCTION keep_entries();

CREATE TRIGGER entries_remain BEFORE TRUNCATE ON entries
FOR EACH STATEMENT EXECUTE FUNCTION keep_entries();

CREATE TRIGGER entries_told AFTER INSERT ON entries
FOR EACH ROW EXECUTE FUNCTION tell_entry();

-- English stems without stop words, so that a word that is said alone is found too.

CREATE TEXT SEARCH DICTIONARY stems (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION words (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION words
  ALTER MAPPING FOR asciiword, word, numword WITH stems;

CREATE TABLE documents (
  project text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  item text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (project, source, key)
);

ALTER TABLE documents ALTER COLUMN words SET STATISTICS 0;

CREATE INDEX documents_words ON documents USING gin (words);
CREATE TABLE projects (
  "project" text COLLATE "C" NOT NULL,
  "title" bytea NOT NULL,
  "prefix" text COLLATE "C" NOT NULL,
  "ledger" text COLLATE "C" NOT NULL,
  "public_key" text COLLATE "C" NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "reviews" text COLLATE "C" NOT NULL,
  "trusted" text COLLATE "C" NOT NULL,
  "search_path" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project")
);

CREATE TABLE epochs (
  "project" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "public_key" text COLLATE "C" NOT NULL,
  "left_epoch" bigint NOT NULL,
  "left_size" bigint NOT NULL,
  "left_root" text COLLATE "C" NOT NULL,
  "gone" text COLLATE "C" NOT NULL,
  "reason" bytea NOT NULL,
  "confirmed_by" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "opened_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "number")
);

CREATE TABLE connections (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "client" text COLLATE "C" NOT NULL,
  "uid" bigint NOT NULL,
  "pid" bigint NOT NULL,
  "started" bigint NOT NULL,
  "boot" text COLLATE "C" NOT NULL,
  "namespace" text COLLATE "C" NOT NULL,
  "executable" text COLLATE "C" NOT NULL,
  "held_since" bigint NOT NULL,
  "unit" text COLLATE "C" NOT NULL,
  "ancestry" bytea NOT NULL,
  "opened_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX connections_boot ON connections ("project", "boot");

CREATE TABLE keys (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "owner" text COLLATE "C" NOT NULL,
  "public_key" text COLLATE "C" NOT NULL,
  "storage" text COLLATE "C" NOT NULL,
  "enrolled_by" text COLLATE "C" NOT NULL,
  "enrolled_at" text COLLATE "C" NOT NULL,
  "revoked_by" text COLLATE "C" NOT NULL,
  "revoked_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);

CREATE TABLE confirmations (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "signed_by" text COLLATE "C" NOT NULL,
  "statement" text COLLATE "C" NOT NULL,
  "signature" text COLLATE "C" NOT NULL,
  "reason" bytea NOT NULL,
  PRIMARY KEY ("project", "id")
);

CREATE TABLE sessions (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "profile" text COLLATE "C" NOT NULL,
  "client" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "continues" text COLLATE "C" NOT NULL,
  "started_at" text COLLATE "C" NOT NULL,
  "ended_at" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "details" bytea NOT NULL,
  "purpose" text COLLATE "C" NOT NULL,
  "writer" text COLLATE "C" NOT NULL,
  "principal" text COLLATE "C" NOT NULL,
  "capability" text COLLATE "C" NOT NULL,
  "active_at" text COLLATE "C" NOT NULL,
  "entered" bigint NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX sessions_agent ON sessions ("project", "agent");
CREATE INDEX sessions_item ON sessions ("project", "item");
CREATE INDEX sessions_capability ON sessions ("project", "capability");

CREATE TABLE stagings (
  "project" text COLLATE "C" NOT NULL,
  "first" bigint NOT NULL,
  "last" bigint NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "until" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "begun_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "first")
);
CREATE INDEX stagings_last ON stagings ("project", "last");
CREATE INDEX stagings_first_last ON stagings ("project", "first", "last") WHERE "status" = 'hidden';

CREATE TABLE endings (
  "project" text COLLATE "C" NOT NULL,
  "since" bigint NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "goal" text COLLATE "C" NOT NULL,
  "reason" bytea NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "until" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "begun_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "since")
);
CREATE INDEX endings_item ON endings ("project", "item") WHERE "status" = 'begun';

CREATE TABLE items (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "title" bytea NOT NULL,
  "lifecycle" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "category" text COLLATE "C" NOT NULL,
  "parent" text COLLATE "C" NOT NULL,
  "root" text COLLATE "C" NOT NULL,
  "position" bigint NOT NULL,
  "priority" bigint NOT NULL,
  "blockers" bigint NOT NULL,
  "held" bigint NOT NULL,
  "assignee" text COLLATE "C" NOT NULL,
  "profile" text COLLATE "C" NOT NULL,
  "body" bytea NOT NULL,
  "version" bigint NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  "closed_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX items_number ON items ("project", "number");
CREATE INDEX items_lifecycle_number ON items ("project", "lifecycle", "number");
CREATE INDEX items_parent_category ON items ("project", "parent", "category");
CREATE INDEX items_parent_kind_status ON items ("project", "parent", "kind", "status");
CREATE INDEX items_parent_position ON items ("project", "parent", "position");
CREATE INDEX items_root_kind_parent ON items ("project", "root", "kind", "parent");
CREATE INDEX items_kind_category_blockers_priority_number ON items ("project", "kind", "category", "blockers", "priority", "number");
CREATE INDEX items_root_kind_category_blockers_priority_number ON items ("project", "root", "kind", "category", "blockers", "priority", "number") WHERE "category" = 'open' OR "category" = 'active';

CREATE TABLE labels (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "item", "name")
);
CREATE INDEX labels_name_item ON labels ("project", "name", "item");

CREATE TABLE dependencies (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "needs" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "item", "needs")
);
CREATE INDEX dependencies_needs_item ON dependencies ("project", "needs", "item");

CREATE TABLE areas (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "pattern" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "item", "pattern")
);

CREATE TABLE criteria (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "position" bigint NOT NULL,
  "text" bytea NOT NULL,
  "met" bigint NOT NULL,
  PRIMARY KEY ("project", "item", "position")
);

CREATE TABLE gates (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "holds" text COLLATE "C" NOT NULL,
  "argv" bytea NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "proof" text COLLATE "C" NOT NULL,
  "reason" bytea NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  "independence" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "item", "name")
);

CREATE TABLE contributions (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "principal" text COLLATE "C" NOT NULL,
  "how" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "item", "principal", "how")
);
CREATE INDEX contributions_principal_item ON contributions ("project", "principal", "item") WHERE "how" = 'loosened';

CREATE TABLE successions (
  "project" text COLLATE "C" NOT NULL,
  "principal" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "former" text COLLATE "C" NOT NULL,
  "is_whole" bigint NOT NULL,
  PRIMARY KEY ("project", "principal", "session", "former")
);

CREATE TABLE claims (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "token" bigint NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "state" text COLLATE "C" NOT NULL,
  "claimed_at" text COLLATE "C" NOT NULL,
  "leased_until" text COLLATE "C" NOT NULL,
  "seconds" bigint NOT NULL,
  PRIMARY KEY ("project", "item")
);
CREATE INDEX claims_session_state ON claims ("project", "session", "state") WHERE "state" = 'live';
CREATE INDEX claims_state_item ON claims ("project", "state", "item") WHERE "state" = 'live';

CREATE TABLE start_points (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "token" bigint NOT NULL,
  "method" text COLLATE "C" NOT NULL,
  "commit" text COLLATE "C" NOT NULL,
  "branch" text COLLATE "C" NOT NULL,
  "files" bytea NOT NULL,
  "taken_at" text COLLATE "C" NOT NULL,
  "tree" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "item", "token")
);

CREATE TABLE outcomes (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "token" bigint NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "outcome" text COLLATE "C" NOT NULL,
  "summary" bytea NOT NULL,
  "achievements" bytea NOT NULL,
  "limitations" bytea NOT NULL,
  "next_steps" bytea NOT NULL,
  "evidence" bytea NOT NULL,
  "remarks" bytea NOT NULL,
  "ended_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "item", "token")
);

CREATE TABLE handoffs (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "action" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "summary" bytea NOT NULL,
  "next_steps" bytea NOT NULL,
  "blockers" bytea NOT NULL,
  "context" bytea NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX handoffs_number ON handoffs ("project", "number");
CREATE INDEX handoffs_item_number ON handoffs ("project", "item", "number");
CREATE INDEX handoffs_session_number ON handoffs ("project", "session", "number");

CREATE TABLE records (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "title" bytea NOT NULL,
  "body" bytea NOT NULL,
  "tags" text COLLATE "C" NOT NULL,
  "files" text COLLATE "C" NOT NULL,
  "details" bytea NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "resolution" bytea NOT NULL,
  "resolved_by" text COLLATE "C" NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "resolved_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX records_number ON records ("project", "number");
CREATE INDEX records_item_kind_number ON records ("project", "item", "kind", "number");
CREATE INDEX records_kind_status_number ON records ("project", "kind", "status", "number");
CREATE INDEX records_session_kind_number ON records ("project", "session", "kind", "number");

CREATE TABLE receipts (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "gate" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "argv" bytea NOT NULL,
  "folder" text COLLATE "C" NOT NULL,
  "command_sha256" bytea NOT NULL,
  "exit_code" bigint NOT NULL,
  "timed_out" bigint NOT NULL,
  "output" bytea NOT NULL,
  "output_sha256" bytea NOT NULL,
  "output_bytes" bigint NOT NULL,
  "method" text COLLATE "C" NOT NULL,
  "commit" text COLLATE "C" NOT NULL,
  "files" bytea NOT NULL,
  "started_at" text COLLATE "C" NOT NULL,
  "ended_at" text COLLATE "C" NOT NULL,
  "program" bytea NOT NULL,
  "program_sha256" text COLLATE "C" NOT NULL,
  "sandbox" text COLLATE "C" NOT NULL,
  "terms" text COLLATE "C" NOT NULL,
  "signature" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX receipts_number ON receipts ("project", "number");
CREATE INDEX receipts_item_number ON receipts ("project", "item", "number");

CREATE TABLE submissions (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "of" text COLLATE "C" NOT NULL,
  "phase" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "run" text COLLATE "C" NOT NULL,
  "path" text COLLATE "C" NOT NULL,
  "sha256" text COLLATE "C" NOT NULL,
  "size" bigint NOT NULL,
  "commit" text COLLATE "C" NOT NULL,
  "tree" text COLLATE "C" NOT NULL,
  "branch" text COLLATE "C" NOT NULL,
  "base" text COLLATE "C" NOT NULL,
  "summary" bytea NOT NULL,
  "details" bytea NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "reasons" bytea NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX submissions_number ON submissions ("project", "number");
CREATE INDEX submissions_item_number ON submissions ("project", "item", "number");
CREATE INDEX submissions_of_status_number ON submissions ("project", "of", "status", "number");

CREATE TABLE changesets (
  "project" text COLLATE "C" NOT NULL,
  "submission" text COLLATE "C" NOT NULL,
  "base_commit" text COLLATE "C" NOT NULL,
  "source" text COLLATE "C" NOT NULL,
  "diff" bytea NOT NULL,
  "files" bigint NOT NULL,
  "additions" bigint NOT NULL,
  "deletions" bigint NOT NULL,
  "paths" text COLLATE "C" NOT NULL,
  "gates" bytea NOT NULL,
  "risk_level" text COLLATE "C" NOT NULL,
  "risk_score" bigint NOT NULL,
  "risk" bytea NOT NULL,
  "remarks" bytea NOT NULL,
  PRIMARY KEY ("project", "submission")
);

CREATE TABLE verdicts (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "submission" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "run" text COLLATE "C" NOT NULL,
  "decision" text COLLATE "C" NOT NULL,
  "subject" text COLLATE "C" NOT NULL,
  "reason" bytea NOT NULL,
  "fixes" bytea NOT NULL,
  "independence" text COLLATE "C" NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX verdicts_number ON verdicts ("project", "number");
CREATE INDEX verdicts_item_number ON verdicts ("project", "item", "number");
CREATE INDEX verdicts_submission_number ON verdicts ("project", "submission", "number");

CREATE TABLE state (
  "project" text COLLATE "C" NOT NULL,
  "scope" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "value" bytea NOT NULL,
  "version" bigint NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  "category" text COLLATE "C" NOT NULL,
  "description" bytea NOT NULL,
  PRIMARY KEY ("project", "scope", "name")
);

CREATE TABLE profiles (
  "project" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "title" bytea NOT NULL,
  "instructions" bytea NOT NULL,
  "allowed_tools" text COLLATE "C" NOT NULL,
  "denied_tools" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "name")
);

CREATE TABLE replies (
  "project" text COLLATE "C" NOT NULL,
  "holder" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "request" bytea NOT NULL,
  "answer" bytea NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "holder", "name")
);

CREATE TABLE tokens (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "sha256" text COLLATE "C" NOT NULL,
  "surfaces" text COLLATE "C" NOT NULL,
  "scopes" text COLLATE "C" NOT NULL,
  "tools" text COLLATE "C" NOT NULL,
  "addresses" text COLLATE "C" NOT NULL,
  "calls_a_minute" bigint NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "expires_at" text COLLATE "C" NOT NULL,
  "revoked_at" text COLLATE "C" NOT NULL,
  "calls_a_month" bigint NOT NULL,
  "tool_limits" text COLLATE "C" NOT NULL,
  "kind" text COLLATE "C" NOT NULL,
  "maker" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE UNIQUE INDEX tokens_sha256 ON tokens ("project", "sha256");
CREATE INDEX tokens_name ON tokens ("project", "name");

CREATE TABLE aliases (
  "project" text COLLATE "C" NOT NULL,
  "scope" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "scope", "name")
);
CREATE INDEX aliases_name ON aliases ("project", "name");
CREATE INDEX aliases_item ON aliases ("project", "item");

CREATE TABLE attributes (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "value" bytea NOT NULL,
  PRIMARY KEY ("project", "item", "name")
);

CREATE TABLE thoughts (
  "project" text COLLATE "C" NOT NULL,
  "record" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "version" bigint NOT NULL,
  "type" text COLLATE "C" NOT NULL,
  "task" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "sequence" bigint NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "content" text COLLATE "C" NOT NULL,
  "previous" text COLLATE "C" NOT NULL,
  "hash" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "record")
);
CREATE UNIQUE INDEX thoughts_task_sequence ON thoughts ("project", "task", "sequence");
CREATE INDEX thoughts_number ON thoughts ("project", "number");
CREATE INDEX thoughts_session_number ON thoughts ("project", "session", "number");

CREATE TABLE seals (
  "project" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "root" text COLLATE "C" NOT NULL,
  "size" bigint NOT NULL,
  "checkpoint" text COLLATE "C" NOT NULL,
  "sealed_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "session")
);
CREATE INDEX seals_number ON seals ("project", "number");

CREATE TABLE transitions (
  "project" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "origin" text COLLATE "C" NOT NULL,
  "goal" text COLLATE "C" NOT NULL,
  "reason" bytea NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "attempt" bigint NOT NULL,
  "mark" bigint NOT NULL,
  "at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "item", "number")
);

CREATE TABLE runs (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "profile" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "error" bytea NOT NULL,
  "cost_micros" bigint NOT NULL,
  "duration_ms" bigint NOT NULL,
  "turns" bigint NOT NULL,
  "input_tokens" bigint NOT NULL,
  "cached_tokens" bigint NOT NULL,
  "output_tokens" bigint NOT NULL,
  "events" bigint NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX runs_number ON runs ("project", "number");
CREATE INDEX runs_item_number ON runs ("project", "item", "number");

CREATE TABLE run_events (
  "project" text COLLATE "C" NOT NULL,
  "run" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "type" text COLLATE "C" NOT NULL,
  "subtype" text COLLATE "C" NOT NULL,
  "payload" bytea NOT NULL,
  "is_cut" bigint NOT NULL,
  "time" text COLLATE "C" NOT NULL,
  "line" bigint NOT NULL,
  PRIMARY KEY ("project", "run", "number")
);
CREATE INDEX run_events_item_run_number ON run_events ("project", "item", "run", "number");

CREATE TABLE library (
  "project" text COLLATE "C" NOT NULL,
  "shelf" text COLLATE "C" NOT NULL,
  "path" text COLLATE "C" NOT NULL,
  "sha256" bytea NOT NULL,
  "size" bigint NOT NULL,
  "markup" text COLLATE "C" NOT NULL,
  "chunks" bigint NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "shelf", "path")
);

CREATE TABLE passages (
  "project" text COLLATE "C" NOT NULL,
  "shelf" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "path" text COLLATE "C" NOT NULL,
  "position" bigint NOT NULL,
  "headings" bytea NOT NULL,
  "text" bytea NOT NULL,
  "first_line" bigint NOT NULL,
  "last_line" bigint NOT NULL,
  PRIMARY KEY ("project", "shelf", "id")
);
CREATE INDEX passages_shelf_path_position ON passages ("project", "shelf", "path", "position");

CREATE TABLE erasures (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "place" text COLLATE "C" NOT NULL,
  "sought" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "texts" bigint NOT NULL,
  "looked_for" bigint NOT NULL,
  "tries" bigint NOT NULL,
  "cleaned" text COLLATE "C" NOT NULL,
  "beyond" text COLLATE "C" NOT NULL,
  "left" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "begun_at" text COLLATE "C" NOT NULL,
  "ended_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX erasures_number ON erasures ("project", "number");
