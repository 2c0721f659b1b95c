-- Meters: how often something was used. No state: the ledger says nothing of them, no replay makes
-- them, and a project that moves to another database begins to count anew.

CREATE TABLE meters (
  project TEXT NOT NULL,
  subject TEXT NOT NULL,
  measure TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (project, subject, measure)
) STRICT, WITHOUT ROWID;

ALTER TABLE tokens ADD COLUMN calls_a_month INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN tool_limits TEXT NOT NULL DEFAULT '[]';
