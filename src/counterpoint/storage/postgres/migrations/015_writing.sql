CREATE TABLE writing_orders (
  "project" text COLLATE "C" NOT NULL,
  "brief" text COLLATE "C" NOT NULL,
  "batch" text COLLATE "C" NOT NULL,
  "task" text COLLATE "C" NOT NULL,
  "mode" text COLLATE "C" NOT NULL,
  "provider" text COLLATE "C" NOT NULL,
  "settings" bytea NOT NULL,
  "round" bigint NOT NULL,
  "failures" bigint NOT NULL,
  "holder" text COLLATE "C" NOT NULL,
  "request" text COLLATE "C" NOT NULL,
  "asked" bytea NOT NULL,
  "runner" text COLLATE "C" NOT NULL,
  "begun_at" text COLLATE "C" NOT NULL,
  "fault" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "version" bigint NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "brief")
);
CREATE INDEX writing_orders_batch_brief ON writing_orders ("project", "batch", "brief");
CREATE INDEX writing_orders_request ON writing_orders ("project", "request");
CREATE TABLE written_texts (
  "project" text COLLATE "C" NOT NULL,
  "brief" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "round" bigint NOT NULL,
  "stage" text COLLATE "C" NOT NULL,
  "provider" text COLLATE "C" NOT NULL,
  "model" text COLLATE "C" NOT NULL,
  "text" bytea NOT NULL,
  "stop" text COLLATE "C" NOT NULL,
  "input_tokens" bigint NOT NULL,
  "output_tokens" bigint NOT NULL,
  "cost_micros" bigint NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "brief", "number")
);
