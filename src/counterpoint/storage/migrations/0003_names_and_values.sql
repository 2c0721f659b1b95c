-- Other names of items, values kept with them, and what a session and a remembered value are about.

CREATE TABLE aliases (
  project TEXT NOT NULL,
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  item TEXT NOT NULL,
  PRIMARY KEY (project, scope, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE attributes (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (project, item, name)
) STRICT, WITHOUT ROWID;

ALTER TABLE sessions ADD COLUMN item TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN details TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN writer TEXT NOT NULL DEFAULT '';
ALTER TABLE state ADD COLUMN category TEXT NOT NULL DEFAULT '';
ALTER TABLE state ADD COLUMN description TEXT NOT NULL DEFAULT '';

CREATE INDEX aliases_name ON aliases (project, name);
CREATE INDEX aliases_item ON aliases (project, item);
CREATE INDEX sessions_item ON sessions (project, item);
CREATE INDEX records_session ON records (project, session, kind, number);
