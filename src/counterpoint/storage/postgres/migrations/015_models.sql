CREATE TABLE model_uses (
  "project" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "provider" text COLLATE "C" NOT NULL,
  "model" text COLLATE "C" NOT NULL,
  "purpose" text COLLATE "C" NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "fault" text COLLATE "C" NOT NULL,
  "stop" text COLLATE "C" NOT NULL,
  "input_tokens" bigint NOT NULL,
  "cached_tokens" bigint NOT NULL,
  "output_tokens" bigint NOT NULL,
  "cost_micros" bigint NOT NULL,
  "duration_ms" bigint NOT NULL,
  "attempts" bigint NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "number")
);
CREATE INDEX model_uses_item_number ON model_uses ("project", "item", "number");
CREATE INDEX model_uses_session_number ON model_uses ("project", "session", "number");
CREATE INDEX model_uses_purpose_number ON model_uses ("project", "purpose", "number");
CREATE TABLE model_days (
  "project" text COLLATE "C" NOT NULL,
  "day" text COLLATE "C" NOT NULL,
  "provider" text COLLATE "C" NOT NULL,
  "model" text COLLATE "C" NOT NULL,
  "purpose" text COLLATE "C" NOT NULL,
  "requests" bigint NOT NULL,
  "kept" bigint NOT NULL,
  "failures" bigint NOT NULL,
  "input_tokens" bigint NOT NULL,
  "cached_tokens" bigint NOT NULL,
  "output_tokens" bigint NOT NULL,
  "cost_micros" bigint NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "day", "provider", "model", "purpose")
);
CREATE TABLE model_answers (
  "project" text COLLATE "C" NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  "provider" text COLLATE "C" NOT NULL,
  "model" text COLLATE "C" NOT NULL,
  "text" bytea NOT NULL,
  "stop" text COLLATE "C" NOT NULL,
  "input_tokens" bigint NOT NULL,
  "cached_tokens" bigint NOT NULL,
  "output_tokens" bigint NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "expires_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "name")
);
CREATE INDEX model_answers_expires_at ON model_answers ("project", "expires_at");
