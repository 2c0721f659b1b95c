CREATE TABLE execution_process_logs (
    execution_id      BLOB PRIMARY KEY,
    logs              TEXT NOT NULL,      -- JSONL format (one LogMsg per line)
    byte_size         INTEGER NOT NULL,
    inserted_at       TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    FOREIGN KEY (execution_id) REFERENCES execution_processes(id) ON DELETE CASCADE
);
CREATE TABLE execution_processes (
    id                BLOB PRIMARY KEY,
    task_attempt_id   BLOB NOT NULL,
    status            TEXT NOT NULL DEFAULT 'running'
                         CHECK (status IN ('running','completed','failed','killed')),
    exit_code         INTEGER,
    started_at        TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    completed_at      TEXT,
    created_at        TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    updated_at        TEXT NOT NULL DEFAULT (datetime('now', 'subsec')), run_reason TEXT NOT NULL DEFAULT 'setupscript'
    CHECK (run_reason IN ('setupscript',
                                'cleanupscript',   -- new value 🎉
                                'codingagent',
                                'devserver')), executor_action TEXT NOT NULL DEFAULT '', executor_action_type TEXT
  GENERATED ALWAYS AS (json_extract(executor_action, '$.typ.type')) VIRTUAL,
    FOREIGN KEY (task_attempt_id) REFERENCES task_attempts(id) ON DELETE CASCADE
);
CREATE TABLE executor_sessions (
    id                    BLOB PRIMARY KEY,
    task_attempt_id       BLOB NOT NULL,
    execution_process_id  BLOB NOT NULL,
    session_id            TEXT,  -- External session ID from Claude/Amp
    prompt                TEXT,  -- The prompt sent to the executor
    created_at            TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    updated_at            TEXT NOT NULL DEFAULT (datetime('now', 'subsec')), summary TEXT,
    FOREIGN KEY (task_attempt_id) REFERENCES task_attempts(id) ON DELETE CASCADE,
    FOREIGN KEY (execution_process_id) REFERENCES execution_processes(id) ON DELETE CASCADE
);
CREATE TABLE images (
    id                    BLOB PRIMARY KEY,
    file_path             TEXT NOT NULL,  -- relative path within cache/images/
    original_name         TEXT NOT NULL,
    mime_type             TEXT,
    size_bytes            INTEGER,
    hash                  TEXT NOT NULL UNIQUE,  -- SHA256 for deduplication
    created_at            TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    updated_at            TEXT NOT NULL DEFAULT (datetime('now', 'subsec'))
);
CREATE TABLE merges (
    id              BLOB PRIMARY KEY,
    task_attempt_id BLOB NOT NULL,
    merge_type      TEXT NOT NULL CHECK (merge_type IN ('direct', 'pr')),
    
    -- Direct merge fields (NULL for PR merges)
    merge_commit    TEXT,
    
    -- PR merge fields (NULL for direct merges)
    pr_number       INTEGER,
    pr_url          TEXT,
    pr_status       TEXT CHECK (pr_status IN ('open', 'merged', 'closed')),
    pr_merged_at    TEXT,
    pr_merge_commit_sha TEXT,
    
    created_at      TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    target_branch_name TEXT NOT NULL,

    -- Data integrity constraints
    CHECK (
        (merge_type = 'direct' AND merge_commit IS NOT NULL 
         AND pr_number IS NULL AND pr_url IS NULL) 
        OR 
        (merge_type = 'pr' AND pr_number IS NOT NULL AND pr_url IS NOT NULL 
         AND pr_status IS NOT NULL AND merge_commit IS NULL)
    ),
    
    FOREIGN KEY (task_attempt_id) REFERENCES task_attempts(id) ON DELETE CASCADE
);
CREATE TABLE projects (
    id            BLOB PRIMARY KEY,
    name          TEXT NOT NULL,
    git_repo_path TEXT NOT NULL DEFAULT '' UNIQUE,
    setup_script  TEXT DEFAULT '',
    created_at    TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    updated_at    TEXT NOT NULL DEFAULT (datetime('now', 'subsec'))
, dev_script TEXT DEFAULT '', cleanup_script TEXT, copy_files TEXT);
INSERT INTO "projects" VALUES(X'A4BD3933D0F849BAB16CACE35900004B','demo','demo',NULL,'2026-11-23 14:14:40.205','2026-11-23 14:14:40.205',NULL,NULL,NULL);
CREATE TABLE "task_attempts" (
    id            BLOB PRIMARY KEY,
    task_id       BLOB NOT NULL,
    profile      TEXT,
    created_at    TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    updated_at    TEXT NOT NULL DEFAULT (datetime('now', 'subsec')), base_branch TEXT NOT NULL DEFAULT 'main', worktree_deleted BOOLEAN NOT NULL DEFAULT FALSE, setup_completed_at DATETIME, container_ref TEXT, branch TEXT,
    FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE
);
CREATE TABLE task_images (
    id                    BLOB PRIMARY KEY,
    task_id               BLOB NOT NULL,
    image_id              BLOB NOT NULL,
    created_at            TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE,
    FOREIGN KEY (image_id) REFERENCES images(id) ON DELETE CASCADE,
    UNIQUE(task_id, image_id)  -- Prevent duplicate associations
);
CREATE TABLE task_templates (
    id            BLOB PRIMARY KEY,
    project_id    BLOB,  -- NULL for global templates
    title         TEXT NOT NULL,
    description   TEXT,
    template_name TEXT NOT NULL,  -- Display name for the template
    created_at    TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    updated_at    TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
INSERT INTO "task_templates" VALUES(X'B5B085553AD8EAB6C243AA46513929D4',NULL,'Analyze codebase for potential bugs and issues','Perform a comprehensive analysis of the project codebase to identify potential bugs, code smells, and areas of improvement.

## Analysis Checklist:

### 1. Static Code Analysis
- [ ] Run linting tools to identify syntax and style issues
- [ ] Check for unused variables, imports, and dead code
- [ ] Identify potential type errors or mismatches
- [ ] Look for deprecated API usage

### 2. Common Bug Patterns
- [ ] Check for null/undefined reference errors
- [ ] Identify potential race conditions
- [ ] Look for improper error handling
- [ ] Check for resource leaks (memory, file handles, connections)
- [ ] Identify potential security vulnerabilities (XSS, SQL injection, etc.)

### 3. Code Quality Issues
- [ ] Identify overly complex functions (high cyclomatic complexity)
- [ ] Look for code duplication
- [ ] Check for missing or inadequate input validation
- [ ] Identify hardcoded values that should be configurable

### 4. Testing Gaps
- [ ] Identify untested code paths
- [ ] Check for missing edge case tests
- [ ] Look for inadequate error scenario testing

### 5. Performance Concerns
- [ ] Identify potential performance bottlenecks
- [ ] Check for inefficient algorithms or data structures
- [ ] Look for unnecessary database queries or API calls

## Deliverables:
1. Prioritized list of identified issues
2. Recommendations for fixes
3. Estimated effort for addressing each issue','Bug Analysis','2026-11-23 14:14:34.206','2026-11-23 14:14:34.206');
INSERT INTO "task_templates" VALUES(X'AF5BDCDAC7C75A973DCCC16B7F62C97A',NULL,'Add unit tests for [component/function]','Write unit tests to improve code coverage and ensure reliability.

## Unit Testing Checklist

### 1. Identify What to Test
- [ ] Run coverage report to find untested functions
- [ ] List the specific functions/methods to test
- [ ] Note current coverage percentage

### 2. Write Tests
- [ ] Test the happy path (expected behavior)
- [ ] Test edge cases (empty inputs, boundaries)
- [ ] Test error cases (invalid inputs, exceptions)
- [ ] Mock external dependencies
- [ ] Use descriptive test names

### 3. Test Quality
- [ ] Each test focuses on one behavior
- [ ] Tests can run independently
- [ ] No hardcoded values that might change
- [ ] Clear assertions that verify the behavior

## Examples to Cover:
- Normal inputs → Expected outputs
- Empty/null inputs → Proper handling
- Invalid inputs → Error cases
- Boundary values → Edge case behavior

## Goal
Achieve at least 80% coverage for the target component

## Deliverables
1. New test file(s) with comprehensive unit tests
2. Updated coverage report
3. All tests passing','Add Unit Tests','2026-11-23 14:14:34.206','2026-11-23 14:14:34.206');
INSERT INTO "task_templates" VALUES(X'B8C8088DC0A7170B494B16468894A9A6',NULL,'Refactor [component/module] for better maintainability','Improve code structure and maintainability without changing functionality.

## Refactoring Checklist

### 1. Identify Refactoring Targets
- [ ] Run code analysis tools (linters, complexity analyzers)
- [ ] Identify code smells (long methods, duplicate code, large classes)
- [ ] Check for outdated patterns or deprecated approaches
- [ ] Review areas with frequent bugs or changes

### 2. Plan the Refactoring
- [ ] Define clear goals (what to improve and why)
- [ ] Ensure tests exist for current functionality
- [ ] Create a backup branch
- [ ] Break down into small, safe steps

### 3. Common Refactoring Actions
- [ ] Extract methods from long functions
- [ ] Remove duplicate code (DRY principle)
- [ ] Rename variables/functions for clarity
- [ ] Simplify complex conditionals
- [ ] Extract constants from magic numbers/strings
- [ ] Group related functionality into modules
- [ ] Remove dead code

### 4. Maintain Functionality
- [ ] Run tests after each change
- [ ] Keep changes small and incremental
- [ ] Commit frequently with clear messages
- [ ] Verify no behavior has changed

### 5. Code Quality Improvements
- [ ] Apply consistent formatting
- [ ] Update to modern syntax/features
- [ ] Improve error handling
- [ ] Add type annotations (if applicable)

## Success Criteria
- All tests still pass
- Code is more readable and maintainable
- No new bugs introduced
- Performance not degraded

## Deliverables
1. Refactored code with improved structure
2. All tests passing
3. Brief summary of changes made','Code Refactoring','2026-11-23 14:14:34.206','2026-11-23 14:14:34.206');
CREATE TABLE tasks (
    id          BLOB PRIMARY KEY,
    project_id  BLOB NOT NULL,
    title       TEXT NOT NULL,
    description TEXT,
    status      TEXT NOT NULL DEFAULT 'todo'
                   CHECK (status IN ('todo','inprogress','done','cancelled','inreview')),
    created_at  TEXT NOT NULL DEFAULT (datetime('now', 'subsec')),
    updated_at  TEXT NOT NULL DEFAULT (datetime('now', 'subsec')), parent_task_attempt BLOB REFERENCES task_attempts(id),
    FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
INSERT INTO "tasks" VALUES(X'7932090AB6114F069D0964D83BF7014F',X'A4BD3933D0F849BAB16CACE35900004B','Draw the hull','Lines of the ship','done','2026-11-23 14:15:09.742','2026-11-23 14:15:09.742',NULL);
INSERT INTO "tasks" VALUES(X'774FFBBDB93042679FEAEEF579A428AC',X'A4BD3933D0F849BAB16CACE35900004B','Build it',NULL,'todo','2026-11-23 14:15:09.971','2026-11-23 14:15:09.971',NULL);
INSERT INTO "tasks" VALUES(X'2447308CE7D347708EFE8BFF1B6F5185',X'A4BD3933D0F849BAB16CACE35900004B','Given up','','cancelled','2026-11-23 14:15:10.002','2026-11-23 14:15:10.002',NULL);
CREATE INDEX idx_execution_processes_task_attempt_id ON execution_processes(task_attempt_id);
CREATE INDEX idx_execution_processes_status ON execution_processes(status);
CREATE INDEX idx_executor_sessions_task_attempt_id ON executor_sessions(task_attempt_id);
CREATE INDEX idx_executor_sessions_execution_process_id ON executor_sessions(execution_process_id);
CREATE INDEX idx_executor_sessions_session_id ON executor_sessions(session_id);
CREATE INDEX idx_task_templates_project_id ON task_templates(project_id);
CREATE UNIQUE INDEX idx_task_templates_unique_name_project 
ON task_templates(project_id, template_name) 
WHERE project_id IS NOT NULL;
CREATE UNIQUE INDEX idx_task_templates_unique_name_global 
ON task_templates(template_name) 
WHERE project_id IS NULL;
CREATE INDEX idx_tasks_parent_task_attempt ON tasks(parent_task_attempt);
CREATE INDEX idx_execution_processes_type
        ON execution_processes(run_reason);
CREATE INDEX idx_execution_process_logs_inserted_at ON execution_process_logs(inserted_at);
CREATE INDEX idx_execution_processes_task_attempt_type_created
ON execution_processes (task_attempt_id, executor_action_type, created_at DESC);
CREATE INDEX idx_images_hash ON images(hash);
CREATE INDEX idx_task_images_task_id ON task_images(task_id);
CREATE INDEX idx_task_images_image_id ON task_images(image_id);
CREATE INDEX idx_merges_task_attempt_id ON merges(task_attempt_id);
CREATE INDEX idx_merges_open_pr ON merges(task_attempt_id, pr_status) 
WHERE merge_type = 'pr' AND pr_status = 'open';
