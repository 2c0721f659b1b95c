CREATE TABLE model_uses (
  "project" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "provider" TEXT NOT NULL,
  "model" TEXT NOT NULL,
  "purpose" TEXT NOT NULL,
  "item" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "fault" TEXT NOT NULL,
  "stop" TEXT NOT NULL,
  "input_tokens" INTEGER NOT NULL,
  "cached_tokens" INTEGER NOT NULL,
  "output_tokens" INTEGER NOT NULL,
  "cost_micros" INTEGER NOT NULL,
  "duration_ms" INTEGER NOT NULL,
  "attempts" INTEGER NOT NULL,
  "created_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "number")
) STRICT;
CREATE INDEX model_uses_item_number ON model_uses ("project", "item", "number");
CREATE INDEX model_uses_session_number ON model_uses ("project", "session", "number");
CREATE INDEX model_uses_purpose_number ON model_uses ("project", "purpose", "number");
CREATE TABLE model_days (
  "project" TEXT NOT NULL,
  "day" TEXT NOT NULL,
  "provider" TEXT NOT NULL,
  "model" TEXT NOT NULL,
  "purpose" TEXT NOT NULL,
  "requests" INTEGER NOT NULL,
  "kept" INTEGER NOT NULL,
  "failures" INTEGER NOT NULL,
  "input_tokens" INTEGER NOT NULL,
  "cached_tokens" INTEGER NOT NULL,
  "output_tokens" INTEGER NOT NULL,
  "cost_micros" INTEGER NOT NULL,
  "updated_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "day", "provider", "model", "purpose")
) STRICT, WITHOUT ROWID;
CREATE TABLE model_answers (
  "project" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "provider" TEXT NOT NULL,
  "model" TEXT NOT NULL,
  "text" BLOB NOT NULL,
  "stop" TEXT NOT NULL,
  "input_tokens" INTEGER NOT NULL,
  "cached_tokens" INTEGER NOT NULL,
  "output_tokens" INTEGER NOT NULL,
  "created_at" TEXT NOT NULL,
  "expires_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "name")
) STRICT;
CREATE INDEX model_answers_expires_at ON model_answers ("project", "expires_at");
