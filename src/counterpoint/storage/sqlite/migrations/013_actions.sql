CREATE TABLE actions (
  "project" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "step" TEXT NOT NULL,
  "tool" TEXT NOT NULL,
  "call" TEXT NOT NULL,
  "host" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "client" TEXT NOT NULL,
  "session" TEXT NOT NULL,
  "outcome" TEXT NOT NULL,
  "code" TEXT NOT NULL,
  "arguments" TEXT NOT NULL,
  "answer" TEXT NOT NULL,
  "duration" INTEGER NOT NULL,
  "at" TEXT NOT NULL,
  PRIMARY KEY ("project", "number", "step")
) STRICT;
CREATE INDEX actions_host_step_number ON actions ("project", "host", "step", "number");
CREATE INDEX actions_outcome_number ON actions ("project", "outcome", "number");
