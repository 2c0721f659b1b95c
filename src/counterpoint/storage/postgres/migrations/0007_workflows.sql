-- Counting what lies below a phase, and finding which tasks hold others, without reading the items.

CREATE INDEX items_statuses ON items (project, parent, kind, status);
CREATE INDEX items_nesting ON items (project, root, kind, parent);
