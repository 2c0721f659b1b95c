CREATE TABLE writing_orders (
  "project" TEXT NOT NULL,
  "brief" TEXT NOT NULL,
  "batch" TEXT NOT NULL,
  "task" TEXT NOT NULL,
  "mode" TEXT NOT NULL,
  "provider" TEXT NOT NULL,
  "settings" BLOB NOT NULL,
  "round" INTEGER NOT NULL,
  "failures" INTEGER NOT NULL,
  "holder" TEXT NOT NULL,
  "request" TEXT NOT NULL,
  "asked" BLOB NOT NULL,
  "runner" TEXT NOT NULL,
  "begun_at" TEXT NOT NULL,
  "fault" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "version" INTEGER NOT NULL,
  "created_at" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "brief")
) STRICT;
CREATE INDEX writing_orders_batch_brief ON writing_orders ("project", "batch", "brief");
CREATE INDEX writing_orders_request ON writing_orders ("project", "request");
CREATE TABLE written_texts (
  "project" TEXT NOT NULL,
  "brief" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "round" INTEGER NOT NULL,
  "stage" TEXT NOT NULL,
  "provider" TEXT NOT NULL,
  "model" TEXT NOT NULL,
  "text" BLOB NOT NULL,
  "stop" TEXT NOT NULL,
  "input_tokens" INTEGER NOT NULL,
  "output_tokens" INTEGER NOT NULL,
  "cost_micros" INTEGER NOT NULL,
  "agent" TEXT NOT NULL,
  "created_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "brief", "number")
) STRICT, WITHOUT ROWID;
