"""Everything that agents write in foundry: a story in which every action takes every text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from builders import commit
from counterpoint.dialects.registry import surface
from fakes.marking import NOTHING, WORD, texts_of

if TYPE_CHECKING:
    from fakes.errands import Office

_SILENT: Final = ("workspace", "path", "cursor", "session_id", "step_id", "bypass_reason")
"""What no call says of itself."""
_NAMING: Final = (
    *("spec_id", "task_id", "task_ids[]", "phase_id", "verify_id", "target_id", "parent"),
    *("parent_filter", "pattern", "plan_path", "plan_review_path", "template", "find"),
    *("reason_code", "acknowledged_gate_attempt_id", "step_id", "research_node_id"),
)
_SAID: Final = {
    ("task update-metadata", ".bypass_reason"),
    *(("task add", ".parent"), ("task start", ".task_id"), ("task complete", ".spec_id")),
    ("authoring spec-find-replace", ".find"),
}
"""What is said all the same: with the call that passes the lock of a run, and with calls that are refused."""
REFERENCES: Final = {
    (part.name, path)
    for tool in surface("foundry").tools
    for part in tool.parts
    if not part.reads
    for path in texts_of(part.parameters.schema)
    if path.removeprefix(".") in {*_NAMING, *_SILENT} and (part.name, path) not in _SAID
} | {("authoring spec-rollback", ".version")}
"""What takes no text of anybody's but names something that is there, or is looked for."""
NAMES: Final = {
    *((f"task {action}", ".file_path") for action in ("add", "update-metadata", "metadata-batch")),
    *(("authoring spec-create", ".name"), ("plan create", ".name")),
    ("authoring spec-update-frontmatter", ".key"),
}
"""What stays in clear: paths, keys, and names that ids and files are made of."""


def foundry(office: Office) -> None:
    """Make a spec, work on it, verify, keep its journal, move it and go back."""
    (office.folder / "foundry-mcp.toml").write_text('[autonomy_posture]\nprofile = "supervised"\n')
    ada, bob = office.join("--agent", "ada"), office.join("--agent", "bob")
    for name in ("plan", "review"):
        commit(office.folder, f"docs/{name}.md", "# It\n")
    plan = {
        "plan_path": str(office.folder / "docs/plan.md"),
        "plan_review_path": str(office.folder / "docs/review.md"),
    }

    def does(call: str, client: Any = ada, **given: Any) -> Any:
        taken = office.scribe.schemas[call]["properties"]
        silent = {name: NOTHING for name in _SILENT if name in taken}
        return office.scribe.does(client, call, **silent | given)["data"]

    spec, other = (
        does("authoring spec-create", template=NOTHING, **plan)["spec_id"] for _ in range(2)
    )
    _headed(office, does, spec)
    _phased(office, does, spec)
    _shaped(office, does, spec)
    # The gates of a run outlive it: whoever worked there does not open them.
    _run(does, other)
    _refused(office, ada, spec)
    _worked(office, does, bob, spec)
    _ended(office, does, spec)


def _headed(office: Office, does: Any, spec: str) -> None:
    """Say what stands at the head of a spec."""
    here = {"spec_id": spec}
    does("authoring spec-update-frontmatter", key=WORD, **here)
    does("authoring assumption-add", assumption_type=WORD, author=WORD, **here)
    for name in ("constraint-add", "question-add", "success-criterion-add"):
        does(f"authoring {name}", **here)
    does("authoring risk-add", likelihood="low", **here)
    does("authoring revision-add", version=WORD, author=WORD, **here)
    does("journal add", task_id=NOTHING, entry_type="decision", **here)


def _phased(office: Office, does: Any, spec: str) -> None:
    """Plan phases with tasks."""
    here = {"spec_id": spec}
    words = iter(office.scribe.words("authoring phase-add-bulk", ".phase{}", 4))
    phase = {"title": next(words), "description": next(words), "purpose": next(words)}
    phase["metadata_defaults"] = {"estimated_hours": 1}
    said = iter(office.scribe.words("authoring phase-add-bulk", ".tasks[]{}", 4))
    task = {
        "title": next(said),
        "description": next(said),
        "acceptance_criteria": [next(said)],
        "task_category": "decision",
    }
    check = {"title": "V", "type": "verify", "command": f"echo {next(said)}"}
    plain = [{"title": name, "description": name} for name in ("A", "B", "C")]
    office.scribe.words("authoring phase-add-bulk", ".metadata_defaults{}", 0)
    tasks = [task, *plain, check]
    does("authoring phase-add-bulk", phase=phase, tasks=tasks, metadata_defaults=NOTHING, **here)
    does("authoring phase-add", **here)
    does("authoring phase-add", **here)
    does("authoring phase-update-metadata", phase_id="phase-1", **here)
    does("authoring phase-move", phase_id="phase-3", position=2, **here)
    does("authoring phase-remove", phase_id="phase-3", force=True, **here)


def _shaped(office: Office, does: Any, spec: str) -> None:
    """Change what tasks ask for, and how they hang together."""
    here = {"spec_id": spec}
    one, two = here | {"task_id": "task-1-1"}, here | {"task_id": "task-1-2"}
    below = {"parent": "phase-2", "file_path": WORD}
    made = does("task add", task_type="research", research_type="chat", **below, **here)
    (command,) = office.scribe.words("task update-metadata", ".command", 1)
    own = {
        name: dict(
            zip("ab", office.scribe.words(f"task {name}", ".custom_metadata{}", 2), strict=True)
        )
        for name in ("update-metadata", "metadata-batch")
    }
    edit = {"file_path": WORD, "command": command}
    does("task update-metadata", custom_metadata=own["update-metadata"], **edit, **two)
    (label,) = office.scribe.words("task metadata-batch", ".labels{}", 1)
    batch = {"parent_filter": "phase-1", "pattern": "^C$", "labels": {"where": label}}
    batch |= {"file_path": WORD, "category": WORD, "owners": [WORD]}
    does("task metadata-batch", custom_metadata=own["metadata-batch"], **batch, **here)
    does("task add-requirement", requirement_type="technical", **one)
    does("task update-estimate", estimated_hours=2, **one)
    for act in ("add", "remove"):
        does(f"task {act}-dependency", target_id="task-1-3", **two)
    does("task move", parent="phase-1", position=2, **here, task_id=made["task_id"])
    does("task remove", cascade=True, **here, task_id=made["task_id"])
    below["parent"] = "phase-1"
    made = does("task add", task_type="research", research_type="chat", **below, **here)
    found = {"result": "completed", "research_node_id": made["task_id"]}
    does("research node-record", **found, **here)
    does("task fix-verification-types", **here)
    does("authoring spec-find-replace", find="C", case_sensitive=True, **here)


def _run(does: Any, spec: str) -> None:
    """Begin an unattended run, pass its lock, and end it."""
    here = {"spec_id": spec}
    does("authoring phase-add", **here)
    does("task session start", **here)
    edit: dict[str, Any] = {"task_id": "verify-1-1", "actual_hours": 1}
    edit |= dict.fromkeys(("title", "description", "file_path", "acceptance_criteria"), NOTHING)
    edit |= dict.fromkeys(("status_note", "command", "custom_metadata"), NOTHING)
    does("task update-metadata", bypass_autonomy_lock=True, bypass_reason=None, **edit, **here)
    does("task session pause", **here)
    does("task session resume", acknowledged_gate_attempt_id=NOTHING, **here)
    does("task session pause", **here)
    does("task session rebase", **here)
    does("task session-config", auto_mode=False, **here)
    does("task session end", reason_code="testing", **here)
    does("task session-config", **here)


def _refused(office: Office, ada: Any, spec: str) -> None:
    """Say what is refused: it must not stay with the errors either."""

    def refused(call: str, **given: Any) -> None:
        taken = office.scribe.schemas[call]["properties"]
        silent = {name: NOTHING for name in _SILENT if name in taken}
        office.scribe.refused(ada, call, **silent | given)

    here = {"spec_id": spec}
    refused("task session reset", session_id="ses_none", reason_code="testing")
    gate = {"phase_id": "phase-2", "session_id": "ses_none"}
    refused("task gate-waiver", reason_code="testing", **gate, **here)
    refused("review fidelity-gate", step_id="step_1", **gate, **here)
    for step in ("next", "report", "replay", "heartbeat"):
        refused(f"task session-step {step}", session_id="ses_none", **here)
    refused("journal add", spec_id="none", task_id=NOTHING)
    refused("task add", parent=WORD, file_path=WORD, **here)
    refused("task start", task_id=WORD, **here)
    refused("task complete", spec_id=WORD, task_id="task-1-1")
    # Nobody can be asked here: what was to be asked begins nothing.
    for act in ("chat", "consensus", "thinkdeep", "ideate", "thread-delete"):
        refused(f"research {act}")
    for act in ("deep-research", "deep-research-delete"):
        refused(f"research {act}")
    refused("review spec", **here)
    refused("review fidelity", phase_id=NOTHING, task_id=NOTHING, **here)
    refused("review parse-feedback", **here)
    refused("plan review", plan_path="docs/plan.md")
    refused("provider execute")
    refused("research node-execute", research_node_id="research-1-1", **here)
    refused("authoring spec-update-frontmatter", key="status", value=WORD, **here)
    refused("authoring spec-find-replace", find=WORD, **here)
    # What is told of it has the command of the node.
    refused("verification execute", verify_id="verify-1-1", **here)


def _worked(office: Office, does: Any, bob: Any, spec: str) -> None:
    """Do the tasks, and verify."""
    here = {"spec_id": spec}
    one, two = here | {"task_id": "task-1-1"}, here | {"task_id": "task-1-2"}
    does("lifecycle activate", **here)
    does("task start", bob, **one)
    does("task complete", bob, **one)
    does("task block", bob, **two)
    does("task unblock", bob, **two)
    does("task update-status", bob, status="in_progress", **two)
    does("task reset-batch", bob, task_ids=["task-1-2"], **here)
    does("task start-batch", bob, task_ids=["task-1-2"], **here)
    notes = office.scribe.words("task complete-batch", ".completions[]{}", 2)
    done = [
        {"task_id": "task-1-2", "success": False, "completion_note": notes[0]},
        {"task_id": "task-1-3", "success": True, "completion_note": notes[1]},
    ]
    does("task complete-batch", bob, completions=done, **here)
    does("journal add", bob, entry_type="note", **one)
    does("verification add", bob, verify_id="verify-1-1", result="PARTIAL", **here)
    execute = {"step_id": NOTHING, **here}
    does("verification execute", bob, verify_id="verify-1-1", command=NOTHING, **execute)
    free = does("task add", parent="phase-1", task_type="verify", file_path=NOTHING, query=NOTHING,
                **here)["task_id"]  # fmt: skip
    (said,) = office.scribe.words("verification execute", ".command", 1)
    words = f"echo {said}"
    does("verification execute", bob, verify_id=free, command=words, record=True, **execute)


def _ended(office: Office, does: Any, spec: str) -> None:
    """Mend it, go back, move it from folder to folder, and set the project up."""
    here = {"spec_id": spec}
    does("spec fix", **here)
    does("spec validate-fix", **here)
    does("spec recalculate-actual-hours", **here)
    does("lifecycle complete", force=True, **here)
    does("lifecycle archive", **here)
    does("lifecycle move", to_folder="active", **here)
    does("authoring spec-rollback", version="2999-01-01T00:00:00Z", **here)
    does("environment init")
    does("environment setup")
    does("plan create")
    does("error cleanup")
