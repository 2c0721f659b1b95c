CREATE TABLE briefs (
  "project" TEXT NOT NULL,
  "id" TEXT NOT NULL,
  "number" INTEGER NOT NULL,
  "slug" TEXT NOT NULL,
  "title" BLOB NOT NULL,
  "description" BLOB NOT NULL,
  "content_type" TEXT NOT NULL,
  "service" TEXT NOT NULL,
  "keywords" TEXT NOT NULL,
  "category" TEXT NOT NULL,
  "difficulty" TEXT NOT NULL,
  "target_word_count" INTEGER NOT NULL,
  "variables" BLOB NOT NULL,
  "priority" INTEGER NOT NULL,
  "scheduled_for" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "reason" BLOB NOT NULL,
  "item" TEXT NOT NULL,
  "agent" TEXT NOT NULL,
  "version" INTEGER NOT NULL,
  "created_at" TEXT NOT NULL,
  "updated_at" TEXT NOT NULL,
  PRIMARY KEY ("project", "id")
) STRICT;
CREATE UNIQUE INDEX briefs_slug ON briefs ("project", "slug");
CREATE INDEX briefs_number ON briefs ("project", "number");
CREATE INDEX briefs_status_number ON briefs ("project", "status", "number");
CREATE INDEX briefs_item_number ON briefs ("project", "item", "number");
