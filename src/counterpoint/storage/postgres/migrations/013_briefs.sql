CREATE TABLE briefs (
  "project" text COLLATE "C" NOT NULL,
  "id" text COLLATE "C" NOT NULL,
  "number" bigint NOT NULL,
  "slug" text COLLATE "C" NOT NULL,
  "title" bytea NOT NULL,
  "description" bytea NOT NULL,
  "content_type" text COLLATE "C" NOT NULL,
  "service" text COLLATE "C" NOT NULL,
  "keywords" text COLLATE "C" NOT NULL,
  "category" text COLLATE "C" NOT NULL,
  "difficulty" text COLLATE "C" NOT NULL,
  "target_word_count" bigint NOT NULL,
  "variables" bytea NOT NULL,
  "priority" bigint NOT NULL,
  "scheduled_for" text COLLATE "C" NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "reason" bytea NOT NULL,
  "item" text COLLATE "C" NOT NULL,
  "agent" text COLLATE "C" NOT NULL,
  "version" bigint NOT NULL,
  "created_at" text COLLATE "C" NOT NULL,
  "updated_at" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("project", "id")
);
CREATE UNIQUE INDEX briefs_slug ON briefs ("project", "slug");
CREATE INDEX briefs_number ON briefs ("project", "number");
CREATE INDEX briefs_status_number ON briefs ("project", "status", "number");
CREATE INDEX briefs_item_number ON briefs ("project", "item", "number");
