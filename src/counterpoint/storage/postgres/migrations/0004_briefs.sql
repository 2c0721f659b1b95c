-- Briefs: what somebody wants to have written, and how far it has come.

CREATE TABLE briefs (
  project text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  slug text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  service text COLLATE "C" NOT NULL,
  keywords text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  difficulty text COLLATE "C" NOT NULL,
  target_word_count bigint NOT NULL,
  variables text COLLATE "C" NOT NULL,
  priority bigint NOT NULL,
  scheduled_for text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  item text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (project, id)
);

CREATE UNIQUE INDEX briefs_slug ON briefs (project, slug);
CREATE INDEX briefs_number ON briefs (project, number);
CREATE INDEX briefs_status ON briefs (project, status, number);
CREATE INDEX briefs_item ON briefs (project, item, number);
