CREATE TABLE actions (
  "project" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "step" text COLLATE "C" NOT NULL,
  "tool" text COLLATE "C" NOT NULL,
  "call" text COLLATE "C" NOT NULL,
  "host" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "client" text COLLATE "C" NOT NULL,
  "session" text COLLATE "C" NOT NULL,
  "outcome" text COLLATE "C" NOT NULL,
  "code" text COLLATE "C" NOT NULL,
  "arguments" text COLLATE "C" NOT NULL,
  "answer" text COLLATE "C" NOT NULL,
  "duration" bigint NOT NULL,
  "at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "number", "step")
);
CREATE INDEX actions_host_step_number ON actions ("project", "host", "step", "number");
CREATE INDEX actions_outcome_number ON actions ("project", "outcome", "number");
