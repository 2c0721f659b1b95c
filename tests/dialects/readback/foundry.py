"""Every parameter of the foundry tools is read back by another tool, whole, on a server started anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from readback import FULL, LINE, Act, Back, Table, Write

SPEC = {"spec_id": "$spec"}
OBJECT = {"deep": [1, None, {"a": "\u4e16"}]}
MODELS = "needs a provider of models, of which a server as it is installed has none"
READS: dict[str, str] = {
    "health check": "include_details",
    "spec list": "status include_progress",
    "spec analyze": "directory",
    "spec analyze-deps": "bottleneck_threshold",
    "spec diff": "target",
    "task progress": "node_id include_phases",
    "task list": "status_filter include_completed",
    "task query": "status parent",
    "task hierarchy": "max_depth include_metadata",
    "task prepare-batch": "max_tasks token_budget",
    "authoring spec-template": "template_action template_name",
    "authoring assumption-list": "assumption_type",
    "provider status": "provider_id",
    "research thread-list": "status",
    "research thread-get": "thread_id",
    "research deep-research-status": "research_id",
    "research deep-research-report": "research_id",
    "research deep-research-list": "completed_only",
    "research node-status": "research_node_id",
    "research node-findings": "research_node_id",
    "journal list": "task_id entry_type",
    "environment verify-env": "check_python check_git check_node required_packages",
    "environment verify-toolchain": "include_optional",
    "environment get-config": "sections key",
    "error list": "tool_name error_code error_type fingerprint provider_id since until",
    "error get": "error_id",
    "error patterns": "min_count",
    "server tools": "category tag include_deprecated",
    "server schema": "tool_name",
}
"""What narrows the answers of actions that only read."""
ASKED: dict[str, str] = {
    "plan review": "plan_path ai_provider",
    "review spec": "ai_provider ai_tools ai_timeout consultation_cache",
    "review fidelity": "phase_id ai_provider ai_tools ai_timeout consultation_cache",
    "review fidelity-gate": "step_id ai_provider ai_tools ai_timeout consultation_cache",
    "review parse-feedback": "review_path ai_provider ai_timeout consultation_cache",
    "provider execute": "provider_id prompt model",
    "research chat": "prompt thread_id provider_id",
    "research consensus": "prompt providers strategy",
    "research thinkdeep": "topic investigation_id query provider_id",
    "research ideate": "topic ideation_id ideate_action cluster_ids provider_id",
    "research deep-research": "query deep_research_action research_id max_iterations"
    " max_sub_queries provider_id",
    "research thread-delete": "thread_id",
    "research deep-research-delete": "research_id",
    "research node-execute": "research_node_id prompt provider_id",
    "research extract": "urls",
}
"""What is for a model, or about what a model said."""
STEPS = "is of a step of a run, and told by the next one: the tests of steps read it back"
NOTHING: dict[tuple[str, str], str] = {
    **{(call, name): "reads" for call, names in READS.items() for name in names.split()},
    **{(call, name): MODELS for call, names in ASKED.items() for name in names.split()},
    **{
        ("*", name): "names what is worked on"
        for name in ("spec_id", "task_id", "phase_id", "verify_id", "session_id")
    },
    ("*", "workspace"): "names the folder that is worked in",
    ("*", "path"): "names the folder that is worked in",
    ("*", "dry_run"): "writes nothing",
    ("*", "bypass_autonomy_lock"): "lets a call pass, which is read back by its reason",
    ("*", "bypass_reason"): "is taken of a maintainer alone; the tests of the lock read it back",
    ("spec fix", "auto_fix"): "chooses whether anything is changed",
    ("spec validate-fix", "auto_fix"): "chooses whether anything is changed",
    ("task remove", "cascade"): "takes away",
    ("task reset-batch", "threshold_hours"): "chooses tasks",
    ("task reset-batch", "task_ids"): "chooses tasks, which are pending again then",
    ("authoring spec-rollback", "version"): "brings back what was read before",
    ("authoring phase-remove", "force"): "takes away",
    ("lifecycle complete", "force"): "lets a call pass",
    ("task session start", "force"): "lets a call pass",
    ("task session resume", "force"): "lets a call pass",
    ("task session rebase", "force"): "lets a call pass",
    **{
        ("task session resume", name): "is for a gate that a person judged"
        for name in ("acknowledge_gate_review", "acknowledged_gate_attempt_id")
    },
    **{
        (f"task session-step {call}", name): STEPS
        for call, names in {
            "next": "last_step_result context_usage_pct heartbeat",
            "report": "last_step_result context_usage_pct",
            "heartbeat": "context_usage_pct",
        }.items()
        for name in names.split()
    },
    **{
        ("task session reset", name): "is for a run that failed; as that of an end"
        for name in ("reason_code", "reason_detail")
    },
    ("task session-config", "auto_mode"): "begins or stops a run, as those commands do",
    **{
        ("task gate-waiver", name): "is for a maintainer alone; the tests of waivers read it back"
        for name in ("reason_code", "reason_detail")
    },
    ("task remove-dependency", "target_id"): "takes away",
    ("task remove-dependency", "dependency_type"): "takes away",
    ("authoring spec-find-replace", "find"): "is what is not there any more",
    ("verification execute", "step_id"): "is of a step of a run",
    ("verification execute", "command"): "runs once a person allows it",
    ("verification execute", "record"): "runs once a person allows it",
    ("environment init", "create_subdirs"): "makes folders, which `environment detect` counts",
    ("environment setup", "permissions_preset"): "writes a file of the client",
    ("environment setup", "create_toml"): "writes a file of the project",
    ("error cleanup", "retention_days"): "takes away",
    ("error cleanup", "max_errors"): "takes away",
}


def document(*path: str, **more: Any) -> Back:
    """Return where something stands in the document of the spec, which is text of JSON in pages."""
    asked = {"action": "get", **SPEC}
    return Back(tool="spec", arguments=asked, path=("data", "spec", *path), **more)


def info(node: str, *path: str, **more: Any) -> Back:
    """Return where something stands in a node."""
    return document("hierarchy", node, *path, **more)


def metadata(node: str, *path: str, **more: Any) -> Back:
    """Return where something stands in the metadata of a node."""
    # Those of the root stand at the top.
    where = () if node == "spec-root" else ("hierarchy", node)
    return document(*where, "metadata", *path, **more)


def noted(title: str, *path: str, **more: Any) -> Back:
    """Return where something stands in the journal."""
    return document("journal", f"title={title}", *path, **more)


def listed(action: str, *path: str, **more: Any) -> Back:
    """Return where something stands in a list of the spec."""
    asked = {"action": action, **SPEC}
    return Back(tool="authoring", arguments=asked, path=("data", *path), **more)


def run(*path: str, **more: Any) -> Back:
    """Return where something stands in the run."""
    asked = {"action": "session", "command": "status", "session_id": "$run"}
    return Back(tool="task", arguments=asked, path=("data", *path), **more)


def author(action: str, back: dict[str, Back], **arguments: Any) -> Write:
    """Return a call that changes the spec."""
    return Write(tool="authoring", arguments={"action": action, **SPEC, **arguments}, back=back)


def work(action: str, back: dict[str, Back], by: str = "", **arguments: Any) -> Write:
    """Return a call about a task; by: another agent, where who planned a task may not do it."""
    return Write(tool="task", arguments={"action": action, **SPEC, **arguments}, back=back, by=by)


def write_plan(folder: Path, _names: dict[str, Any]) -> None:
    """Write the files that a spec is made from."""
    (folder / "specs").mkdir()
    for name in ("plan.md", "review.md"):
        (folder / "specs" / name).write_text("# Plan\n")


TASK = {
    "title": LINE,
    "description": FULL,
    "acceptance_criteria": ["It stands", "It \u4e16 holds"],
    "task_category": "refactoring",
    "file_path": "src/a \u4e16.py",
    "estimated_hours": 2.5,
    "complexity": "high",
    "type": "task",
}
BULK = {
    "phase": {
        "title": LINE,
        "description": FULL,
        "purpose": FULL,
        "metadata_defaults": {"task_category": "research", "estimated_hours": 3},
    },
    "tasks": [
        {
            "title": "T",
            "description": "D\n\u4e16",
            **{key: TASK[key] for key in TASK if key not in ("title", "description")},
        },
        {"title": "U", "type": "task", "description": "u", "acceptance_criteria": ["u"]},
        {"title": "V", "type": "task", "description": "v", "acceptance_criteria": ["v"]},
        {"title": "R", "type": "research", "description": "r"},
    ],
    "link_previous": False,
}
TABLE = Table(
    dialect="foundry",
    nothing=NOTHING,
    steps=(
        Act(do=write_plan),
        Write(
            tool="authoring",
            arguments={
                "action": "spec-create",
                "name": LINE,
                "plan_path": "plan.md",
                "plan_review_path": "review.md",
                "template": "empty",
                "category": "decision",
                "mission": FULL,
            },
            keep={"spec": "data.spec_id"},
            back={
                "name": info("spec-root", "title"),
                **{
                    name: metadata("spec-root", name)
                    for name in ("plan_path", "plan_review_path", "template", "category", "mission")
                },
            },
        ),
        author(
            "phase-add-bulk",
            {
                "phase.title": info("phase-1", "title"),
                "phase.description": metadata("phase-1", "description"),
                "phase.purpose": metadata("phase-1", "purpose"),
                "phase.metadata_defaults.estimated_hours": metadata("task-1-2", "estimated_hours"),
                **{
                    f"tasks.0.{name}": metadata("task-1-1", name)
                    for name in BULK["tasks"][0]
                    if name not in ("title", "type")
                },
                "tasks.0.title": info("task-1-1", "title"),
                "tasks.0.type": info("task-1-1", "type"),
                "position": info("spec-root", "children", "1", value="phase-1"),
                "link_previous": info("phase-1", "dependencies", "blocked_by", value=[]),
                "metadata_defaults.task_category": metadata("task-1-2", "task_category"),
            },
            **BULK,
            position=0,
            metadata_defaults={"task_category": "research"},
        ),
        author(
            "phase-add",
            {
                "title": info("phase-2", "title"),
                "description": metadata("phase-2", "description"),
                "purpose": metadata("phase-2", "purpose"),
                "position": info("spec-root", "children", "0", value="phase-2"),
            },
            title=LINE,
            description=FULL,
            purpose=FULL,
            position=0,
            link_previous=False,
        ),
        author("phase-add", {}, title="Third", link_previous=False),
        author("phase-add", {}, title="Fourth"),
        author(
            "phase-move",
            {
                "position": info("spec-root", "children", "2", value="phase-4"),
                "link_previous": info(
                    "phase-4", "dependencies", "blocked_by", "0", value="phase-1"
                ),
            },
            phase_id="phase-4",
            position=3,
            link_previous=True,
        ),
        author(
            "phase-add",
            {"link_previous": info("phase-5", "dependencies", "blocked_by", "0", value="phase-3")},
            title="Fifth",
            link_previous=True,
        ),
        author(
            "phase-update-metadata",
            {
                "description": metadata("phase-3", "description"),
                "purpose": metadata("phase-3", "purpose"),
            },
            phase_id="phase-3",
            description=FULL,
            purpose=FULL,
        ),
        author(
            "spec-update-frontmatter",
            {
                "key": metadata("spec-root", "objectives", "0", value="one\n\u4e16"),
                "value": metadata("spec-root", "objectives"),
            },
            key="objectives",
            value=["one\n\u4e16", "z" * 500],
        ),
        author(
            "revision-add",
            {
                "version": metadata("spec-root", "revision_history", "0", "version"),
                "changes": metadata("spec-root", "revision_history", "0", "changelog"),
                "author": metadata("spec-root", "revision_history", "0", "author"),
            },
            version="1.1",
            changes=FULL,
            author=LINE,
        ),
        author(
            "assumption-add",
            {
                "text": metadata("spec-root", "assumptions", "0", "text"),
                "assumption_type": listed("assumption-list", "assumptions", "0", "type"),
                "author": listed("assumption-list", "assumptions", "0", "author"),
            },
            text=FULL,
            assumption_type="constraint",
            author=LINE,
        ),
        author("constraint-add", {"text": metadata("spec-root", "constraints", "0")}, text=FULL),
        author("question-add", {"text": metadata("spec-root", "open_questions", "0")}, text=FULL),
        author(
            "success-criterion-add",
            {"text": metadata("spec-root", "success_criteria", "0")},
            text=FULL,
        ),
        author(
            "risk-add",
            {
                name: metadata("spec-root", "risks", "0", name)
                for name in ("description", "likelihood", "impact", "mitigation")
            },
            description=FULL,
            likelihood="high",
            impact="low",
            mitigation=FULL,
        ),
        work(
            "add",
            {
                "parent": info("task-1-4", "parent"),
                "title": info("task-1-4", "title"),
                "task_type": info("task-1-4", "type"),
                "description": metadata("task-1-4", "description"),
                "file_path": metadata("task-1-4", "file_path"),
                "estimated_hours": metadata("task-1-4", "estimated_hours"),
                "position": info("phase-1", "children", "0", value="task-1-4"),
            },
            parent="phase-1",
            title=LINE,
            task_type="task",
            description=FULL,
            file_path="src/b.py",
            estimated_hours=1.5,
            position=0,
        ),
        work(
            "add",
            {
                "research_type": metadata("research-1-2", "research_type"),
                "blocking_mode": metadata("research-1-2", "blocking_mode"),
                "query": metadata("research-1-2", "query"),
            },
            parent="phase-1",
            title="Ask",
            task_type="research",
            research_type="deep-research",
            blocking_mode="hard",
            query=FULL,
        ),
        work(
            "update-estimate",
            {
                "estimated_hours": metadata("task-1-3", "estimated_hours"),
                "complexity": metadata("task-1-3", "complexity"),
            },
            task_id="task-1-3",
            estimated_hours=7.25,
            complexity="medium",
        ),
        work(
            "update-metadata",
            {
                "title": info("task-1-3", "title"),
                **{
                    name: metadata("task-1-3", name)
                    for name in (
                        "description",
                        "file_path",
                        "acceptance_criteria",
                        "task_category",
                        "actual_hours",
                        "status_note",
                    )
                },
                "custom_metadata.deep": metadata("task-1-3", "deep"),
            },
            task_id="task-1-3",
            title=LINE,
            description=FULL,
            file_path="src/c.py",
            acceptance_criteria=["One \u4e16", "Two"],
            task_category="investigation",
            actual_hours=3.5,
            status_note=FULL,
            custom_metadata=OBJECT,
        ),
        work(
            "update-metadata",
            {
                "verification_type": metadata("verify-1-1", "verification_type"),
                "command": metadata("verify-1-1", "command"),
            },
            task_id="verify-1-1",
            verification_type="run-tests",
            command="echo 'it \u4e16 holds'",
        ),
        work("add", {}, parent="phase-1", title="Batch"),
        work(
            "metadata-batch",
            {
                "status_filter": metadata("task-1-5", "category", value="ops"),
                "parent_filter": metadata("task-1-5", "category", value="ops"),
                "pattern": metadata("task-1-5", "category", value="ops"),
                **{
                    name: metadata("task-1-5", name)
                    for name in (
                        "description",
                        "file_path",
                        "estimated_hours",
                        "category",
                        "owners",
                        "labels",
                    )
                },
                "custom_metadata.deep": metadata("task-1-5", "deep"),
            },
            status_filter="pending",
            parent_filter="phase-1",
            pattern="task-1-5",
            description="D \u4e16\n",
            file_path="src/d.py",
            estimated_hours=4.5,
            category="ops",
            labels={"team": "\u4e16"},
            owners=["ada", "bob"],
            custom_metadata=OBJECT,
        ),
        work(
            "add-requirement",
            {
                "requirement_type": metadata("task-1-2", "requirements", "0", "type"),
                "text": metadata("task-1-2", "requirements", "0", "text"),
            },
            task_id="task-1-2",
            requirement_type="technical",
            text=FULL,
        ),
        work(
            "add-dependency",
            {
                "target_id": info("task-1-1", "dependencies", "blocks", "0"),
                "dependency_type": info(
                    "task-1-2", "dependencies", "blocked_by", "0", value="task-1-1"
                ),
            },
            task_id="task-1-1",
            target_id="task-1-2",
            dependency_type="blocks",
        ),
        work(
            "move",
            {
                "parent": info("task-1-3", "parent"),
                "position": info("phase-2", "children", "0", value="task-1-3"),
            },
            task_id="task-1-3",
            parent="phase-2",
            position=1,
        ),
        author(
            "spec-find-replace",
            {
                name: info("task-1-2", "title", value="Found")
                for name in ("replace", "scope", "use_regex", "case_sensitive")
            },
            find="^U$",
            replace="Found",
            scope="titles",
            use_regex=True,
            case_sensitive=True,
        ),
        Write(
            tool="journal",
            arguments={
                "action": "add",
                **SPEC,
                "title": LINE,
                "content": FULL,
                "entry_type": "deviation",
                "task_id": "task-1-4",
            },
            back={
                name: document("journal", "entry_type=deviation", name)
                for name in ("title", "content", "entry_type", "task_id")
            },
        ),
        work(
            "start",
            {"note": noted("Task started: T", "content")},
            task_id="task-1-1",
            note=FULL,
        ),
        work(
            "complete",
            {"completion_note": noted("Task completed: T", "content")},
            task_id="task-1-1",
            completion_note=FULL,
        ),
        work(
            "update-status",
            {
                "status": info("task-1-5", "status"),
                "note": noted("Task started: Batch", "content"),
            },
            by="bob",
            task_id="task-1-5",
            status="in_progress",
            note=FULL,
        ),
        work(
            "block",
            {
                "reason": metadata("task-1-2", "blocker_description"),
                "blocker_type": metadata("task-1-2", "blocker_type"),
                "ticket": metadata("task-1-2", "blocker_ticket"),
            },
            task_id="task-1-2",
            reason=FULL,
            blocker_type="resource",
            ticket=LINE,
        ),
        work("block", {}, task_id="task-1-3", reason="R"),
        work(
            "unblock",
            {"resolution": metadata("task-1-3", "resolved_blockers", "0", "resolution")},
            task_id="task-1-3",
            resolution=FULL,
        ),
        work(
            "start-batch",
            {"task_ids": info("task-1-3", "status", value="completed")},
            by="bob",
            task_ids=["task-1-3"],
        ),
        work(
            "complete-batch",
            {
                "completions.0.completion_note": document(
                    "journal", "content=N\n\u4e16", "content"
                ),
                "completions.0.success": info("task-1-3", "status", value="completed"),
            },
            by="bob",
            completions=[{"task_id": "task-1-3", "success": True, "completion_note": "N\n\u4e16"}],
        ),
        Write(
            tool="verification",
            arguments={
                "action": "add",
                **SPEC,
                "verify_id": "verify-1-1",
                "result": "PARTIAL",
                "command": "make check",
                "output": FULL,
                "issues": FULL,
                "notes": FULL,
            },
            back={
                "result": metadata("verify-1-1", "last_result"),
                **{
                    name: info("verify-1-1", "metadata", "verification_history", "-1", name)
                    for name in ("command", "output", "issues", "notes")
                },
            },
        ),
        Write(
            tool="research",
            arguments={
                "action": "node-record",
                **SPEC,
                "research_node_id": "research-1-1",
                "result": "completed",
                "summary": "It \u4e16 holds.\n" * 500,
                "key_insights": ["one", "two \u4e16"],
                "recommendations": ["three"],
                "sources": ["https://example.org/\u4e16"],
                "confidence": "high",
            },
            back={
                "research_node_id": Back(
                    tool="research",
                    arguments={
                        "action": "node-findings",
                        **SPEC,
                        "research_node_id": "research-1-1",
                    },
                    path=("data", "research_node_id"),
                ),
                "result": Back(
                    tool="research",
                    arguments={"action": "node-status", **SPEC, "research_node_id": "research-1-1"},
                    path=("data", "status"),
                ),
                **{
                    name: metadata("research-1-1", "findings", name)
                    for name in (
                        "summary",
                        "key_insights",
                        "recommendations",
                        "sources",
                        "confidence",
                    )
                },
            },
        ),
        Write(
            tool="plan",
            arguments={"action": "create", "name": "Our plan"},
            keep={"plan": "data.plan_slug"},
            back={
                "name": Back(
                    tool="plan",
                    arguments={"action": "list"},
                    path=("data", "plans", "0", "name"),
                    value="$plan",
                )
            },
        ),
        Write(
            tool="task",
            arguments={
                "action": "session",
                "command": "start",
                **SPEC,
                "gate_policy": "lenient",
                "max_tasks_per_session": 77,
                "stop_on_phase_completion": True,
            },
            keep={"run": "data.session_id"},
            back={
                "gate_policy": run("gate_policy"),
                "max_tasks_per_session": run("limits", "max_tasks_per_session"),
                "stop_on_phase_completion": run("stop_conditions", "stop_on_phase_completion"),
            },
        ),
        Write(
            tool="task",
            arguments={
                "action": "session",
                "command": "end",
                "session_id": "$run",
                "reason_code": "testing",
                "reason_detail": "It \u4e16 ended\n" * 181 + "It ended!",
            },
            back={
                "reason_code": Back(
                    tool="task",
                    arguments={"action": "session-events", "session_id": "$run"},
                    path=("data", "events", "action=end", "details", "reason_code"),
                ),
                "reason_detail": noted("Session ended", "content"),
            },
        ),
        Write(
            tool="lifecycle",
            arguments={"action": "move", **SPEC, "to_folder": "active"},
            back={
                "to_folder": Back(
                    tool="lifecycle", arguments={"action": "state", **SPEC}, path=("data", "folder")
                )
            },
        ),
    ),
)
