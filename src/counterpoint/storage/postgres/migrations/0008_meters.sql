-- Meters: how often something was used. No state: the ledger says nothing of them, no replay makes
-- them, and a project that moves to another database begins to count anew.

CREATE TABLE meters (
  project text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  measure text COLLATE "C" NOT NULL,
  used bigint NOT NULL,
  PRIMARY KEY (project, subject, measure)
);

ALTER TABLE tokens ADD COLUMN calls_a_month bigint NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN tool_limits text COLLATE "C" NOT NULL DEFAULT '[]';
