CREATE TABLE spec_sessions (
  "project" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "spec" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "pause_reason" TEXT NOT NULL,
  "last_pause" TEXT NOT NULL,
  "failure_reason" TEXT NOT NULL,
  "phase" TEXT NOT NULL,
  "posture" TEXT NOT NULL,
  "policy" TEXT NOT NULL,
  "idempotency" TEXT NOT NULL,
  "limits" BLOB NOT NULL,
  "is_locking" INTEGER NOT NULL,
  "tasks_completed" INTEGER NOT NULL,
  "consecutive_errors" INTEGER NOT NULL,
  "retries" BLOB NOT NULL,
  "evidence_faults" INTEGER NOT NULL,
  "acknowledged" TEXT NOT NULL,
  "context_pct" INTEGER NOT NULL,
  "context_source" TEXT NOT NULL,
  "context_at" TEXT NOT NULL,
  "context_steps" INTEGER NOT NULL,
  "context_tokens" INTEGER NOT NULL,
  "structure" TEXT NOT NULL,
  "place" INTEGER NOT NULL,
  "heartbeat_at" TEXT NOT NULL,
  "paused_at" TEXT NOT NULL,
  "reason_code" TEXT NOT NULL,
  "reason_detail" BLOB NOT NULL,
  "version" INTEGER NOT NULL,
  "created_at" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "session")
) STRICT;
CREATE INDEX spec_sessions_created_at ON spec_sessions ("project", "created_at");
CREATE INDEX spec_sessions_spec_created_at ON spec_sessions ("project", "spec", "created_at");
CREATE INDEX spec_sessions_spec ON spec_sessions ("project", "spec") WHERE "status" = 'running' OR "status" = 'paused' OR "status" = 'failed';
CREATE INDEX spec_sessions_status_created_at ON spec_sessions ("project", "status", "created_at") WHERE "status" = 'running' OR "status" = 'paused' OR "status" = 'failed';
CREATE TABLE session_steps (
  "project" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "id" TEXT NOT NULL,
  "type" TEXT NOT NULL,
  "task" TEXT NOT NULL,
  "phase" TEXT NOT NULL,
  "attempt" TEXT NOT NULL,
  "reason" TEXT NOT NULL,
  "proof" TEXT NOT NULL,
  "command" BLOB NOT NULL,
  "issued_at" TEXT NOT NULL,
  "renewed_at" TEXT NOT NULL,
  "consumed_at" TEXT NOT NULL,
  "outcome" TEXT NOT NULL,
  "note" BLOB NOT NULL,
  "files" TEXT NOT NULL,
  "receipt" TEXT NOT NULL,
  "report" BLOB NOT NULL,
  "answer" BLOB NOT NULL,
  PRIMARY KEY ("project", "session", "number")
) STRICT;
CREATE UNIQUE INDEX session_steps_id ON session_steps ("project", "id");
CREATE INDEX session_steps_session_proof ON session_steps ("project", "session", "proof");
CREATE TABLE gate_evidence (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "step" TEXT NOT NULL,
  "phase" TEXT NOT NULL,
  "verdict" TEXT NOT NULL,
  "findings" BLOB NOT NULL,
  "reviewer" TEXT NOT NULL,
  "issued_at" TEXT NOT NULL,
  "integrity" TEXT NOT NULL,
  "reported_at" TEXT NOT NULL,
  "answered_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE INDEX gate_evidence_session_phase_issued_at ON gate_evidence ("project", "session", "phase", "issued_at");
CREATE INDEX gate_evidence_step ON gate_evidence ("project", "step");
