CREATE TABLE spec_sessions (
  "project" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "spec" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "pause_reason" text COLLATE "C" NOT NULL,
  "last_pause" text COLLATE "C" NOT NULL,
  "failure_reason" text COLLATE "C" NOT NULL,
  "phase" text COLLATE "C" NOT NULL,
  "posture" text COLLATE "C" NOT NULL,
  "policy" text COLLATE "C" NOT NULL,
  "idempotency" text COLLATE "C" NOT NULL,
  "limits" bytea NOT NULL,
  "is_locking" bigint NOT NULL,
  "tasks_completed" bigint NOT NULL,
  "consecutive_errors" bigint NOT NULL,
  "retries" bytea NOT NULL,
  "evidence_faults" bigint NOT NULL,
  "acknowledged" text COLLATE "C" NOT NULL,
  "context_pct" bigint NOT NULL,
  "context_source" text COLLATE "C" NOT NULL,
  "context_at" text COLLATE "C" NOT NULL,
  "context_steps" bigint NOT NULL,
  "context_tokens" bigint NOT NULL,
  "structure" text COLLATE "C" NOT NULL,
  "place" bigint NOT NULL,
  "heartbeat_at" text COLLATE "C" NOT NULL,
  "paused_at" text COLLATE "C" NOT NULL,
  "reason_code" text COLLATE "C" NOT NULL,
  "reason_detail" bytea NOT NULL,
  "version" bigint NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "session")
);
CREATE INDEX spec_sessions_created_at ON spec_sessions ("project", "created_at");
CREATE INDEX spec_sessions_spec_created_at ON spec_sessions ("project", "spec", "created_at");
CREATE INDEX spec_sessions_spec ON spec_sessions ("project", "spec") WHERE "status" = 'running' OR "status" = 'paused' OR "status" = 'failed';
CREATE INDEX spec_sessions_status_created_at ON spec_sessions ("project", "status", "created_at") WHERE "status" = 'running' OR "status" = 'paused' OR "status" = 'failed';
CREATE TABLE session_steps (
  "project" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "type" text COLLATE "C" NOT NULL,
  "task" text COLLATE "C" NOT NULL,
  "phase" text COLLATE "C" NOT NULL,
  "attempt" text COLLATE "C" NOT NULL,
  "reason" text COLLATE "C" NOT NULL,
  "proof" text COLLATE "C" NOT NULL,
  "command" bytea NOT NULL,
  "issued_at" text COLLATE "C" NOT NULL,
  "renewed_at" text COLLATE "C" NOT NULL,
  "consumed_at" text COLLATE "C" NOT NULL,
  "outcome" text COLLATE "C" NOT NULL,
  "note" bytea NOT NULL,
  "files" text COLLATE "C" NOT NULL,
  "receipt" text COLLATE "C" NOT NULL,
  "report" bytea NOT NULL,
  "answer" bytea NOT NULL,
  PRIMARY KEY ("project", "session", "number")
);
CREATE UNIQUE INDEX session_steps_id ON session_steps ("project", "id");
CREATE INDEX session_steps_session_proof ON session_steps ("project", "session", "proof");
CREATE TABLE gate_evidence (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "step" text COLLATE "C" NOT NULL,
  "phase" text COLLATE "C" NOT NULL,
  "verdict" text COLLATE "C" NOT NULL,
  "findings" bytea NOT NULL,
  "reviewer" text COLLATE "C" NOT NULL,
  "issued_at" text COLLATE "C" NOT NULL,
  "integrity" text COLLATE "C" NOT NULL,
  "reported_at" text COLLATE "C" NOT NULL,
  "answered_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE INDEX gate_evidence_session_phase_issued_at ON gate_evidence ("project", "session", "phase", "issued_at");
CREATE INDEX gate_evidence_step ON gate_evidence ("project", "step");
