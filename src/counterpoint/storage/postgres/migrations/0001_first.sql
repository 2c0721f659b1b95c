-- The first shape of the store on PostgreSQL: the same nouns, texts and ledger as in a file.
--
-- Rules: (1) every table begins with the project; nothing is found without it. (2) The columns of a
-- noun's table are the noun's fields in their order. (3) A prose column holds the SHA-256 of its
-- text, or nothing; the text stands in `texts` and may be taken away from there (a redaction).
-- (4) `entries` only grows, and only by the next sequence. (5) Texts compare byte by byte, so that
-- keys come in the same order from every store. (6) An applied file is never edited.

CREATE TABLE projects (
  project text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  prefix text COLLATE "C" NOT NULL,
  public_key text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project)
);

CREATE TABLE sessions (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  profile text COLLATE "C" NOT NULL,
  client text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  continues text COLLATE "C" NOT NULL,
  started_at text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE TABLE items (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  lifecycle text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  parent text COLLATE "C" NOT NULL,
  root text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  priority bigint NOT NULL,
  blockers bigint NOT NULL,
  held bigint NOT NULL,
  assignee text COLLATE "C" NOT NULL,
  profile text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  closed_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE TABLE labels (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, item, name)
);

CREATE TABLE dependencies (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  needs text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, item, needs)
);

CREATE TABLE areas (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  pattern text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, item, pattern)
);

CREATE TABLE criteria (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  met bigint NOT NULL,
  PRIMARY KEY (project, item, position)
);

CREATE TABLE gates (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  holds text COLLATE "C" NOT NULL,
  argv text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  proof text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, item, name)
);

CREATE TABLE claims (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  token bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  claimed_at text COLLATE "C" NOT NULL,
  leased_until text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, item)
);

CREATE TABLE start_points (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  token bigint NOT NULL,
  method text COLLATE "C" NOT NULL,
  "commit" text COLLATE "C" NOT NULL,
  branch text COLLATE "C" NOT NULL,
  files text COLLATE "C" NOT NULL,
  taken_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, item, token)
);

CREATE TABLE outcomes (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  token bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  summary text COLLATE "C" NOT NULL,
  achievements text COLLATE "C" NOT NULL,
  limitations text COLLATE "C" NOT NULL,
  next_steps text COLLATE "C" NOT NULL,
  evidence text COLLATE "C" NOT NULL,
  remarks text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, item, token)
);

CREATE TABLE handoffs (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  summary text COLLATE "C" NOT NULL,
  next_steps text COLLATE "C" NOT NULL,
  blockers text COLLATE "C" NOT NULL,
  context text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE TABLE records (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  tags text COLLATE "C" NOT NULL,
  files text COLLATE "C" NOT NULL,
  details text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  resolution text COLLATE "C" NOT NULL,
  resolved_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  resolved_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE TABLE receipts (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  item text COLLATE "C" NOT NULL,
  gate text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  argv text COLLATE "C" NOT NULL,
  folder text COLLATE "C" NOT NULL,
  command_sha256 text COLLATE "C" NOT NULL,
  exit_code bigint NOT NULL,
  timed_out bigint NOT NULL,
  output text COLLATE "C" NOT NULL,
  output_sha256 text COLLATE "C" NOT NULL,
  output_bytes bigint NOT NULL,
  method text COLLATE "C" NOT NULL,
  "commit" text COLLATE "C" NOT NULL,
  files text COLLATE "C" NOT NULL,
  started_at text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C" NOT NULL,
  signature text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE TABLE submissions (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  item text COLLATE "C" NOT NULL,
  of text COLLATE "C" NOT NULL,
  phase text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  "commit" text COLLATE "C" NOT NULL,
  tree text COLLATE "C" NOT NULL,
  branch text COLLATE "C" NOT NULL,
  base text COLLATE "C" NOT NULL,
  summary text COLLATE "C" NOT NULL,
  details text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  reasons text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE TABLE changesets (
  project text COLLATE "C" NOT NULL,
  submission text COLLATE "C" NOT NULL,
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
  PRIMARY KEY (project, submission)
);

CREATE TABLE verdicts (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  item text COLLATE "C" NOT NULL,
  submission text COLLATE "C" NOT NULL,
  session text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  decision text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  fixes text COLLATE "C" NOT NULL,
  independence text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE TABLE state (
  project text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  agent text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, scope, name)
);

CREATE TABLE profiles (
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  instructions text COLLATE "C" NOT NULL,
  allowed_tools text COLLATE "C" NOT NULL,
  denied_tools text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, name)
);

CREATE TABLE replies (
  project text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  request text COLLATE "C" NOT NULL,
  answer text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, agent, name)
);

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
  project text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, sha256)
);

-- The ledger: entries that only grow, where each ledger ends, and the tree's inner hashes.
-- Level 0 of the tree is the column `leaf`; `nodes` has every fourth level above it. Who writes to a
-- project locks its row of `heads` first.

CREATE TABLE entries (
  project text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  data bytea NOT NULL,
  leaf bytea NOT NULL,
  subject text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, sequence)
);

CREATE INDEX entries_subject ON entries (project, subject, sequence);
CREATE INDEX entries_action ON entries (project, action, sequence);

CREATE TABLE heads (
  project text COLLATE "C" NOT NULL PRIMARY KEY,
  size bigint NOT NULL,
  leaf text COLLATE "C" NOT NULL,
  time text COLLATE "C" NOT NULL,
  frontier bytea NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE nodes (
  project text COLLATE "C" NOT NULL,
  level bigint NOT NULL,
  position bigint NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (project, level, position)
);

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

-- The search: English stems without stop words, so that a word that is said alone is found too.

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

CREATE INDEX documents_words ON documents USING gin (words);
