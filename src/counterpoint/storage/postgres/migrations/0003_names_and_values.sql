-- Other names of items, values kept with them, and what a session and a remembered value are about.

CREATE TABLE aliases (
  project text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, scope, name)
);

CREATE TABLE attributes (
  project text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, item, name)
);

ALTER TABLE sessions ADD COLUMN item text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN details text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN purpose text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN writer text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE state ADD COLUMN category text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE state ADD COLUMN description text COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX aliases_name ON aliases (project, name);
CREATE INDEX aliases_item ON aliases (project, item);
CREATE INDEX sessions_item ON sessions (project, item);
CREATE INDEX records_session ON records (project, session, kind, number);
