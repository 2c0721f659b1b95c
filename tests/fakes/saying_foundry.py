"""Says every text that the tools of foundry take."""

from __future__ import annotations

from typing import Any

from builders import Workshop, commit
from fakes.saying import Writer, t


def foundry(workshop: Workshop, w: Writer) -> None:
    for name in ("plan", "review"):
        commit(workshop.root, f"specs/.plans/{name}.md", "# It")
    spec = w.does(
        "authoring",
        action="spec-create",
        name=t("specXname"),
        mission=t("specXmission"),
        plan_path=".plans/plan.md",
        plan_review_path=".plans/review.md",
    )["spec_id"]

    # Whoever changes what a task asks for does not do it.
    bob = workshop.agent("bob", surface="foundry")

    def does(tool: str, action: str, **asked: Any) -> dict[str, Any]:
        return w.does(tool, action=action, spec_id=spec, **asked)

    def works(action: str, **asked: Any) -> dict[str, Any]:
        return w.does("task", bob, action=action, spec_id=spec, **asked)

    does("authoring", "spec-update-frontmatter", key="objective", value=t("frontXvalue"))
    does(
        "authoring",
        "assumption-add",
        text=t("assumeXtext"),
        assumption_type="technical",
        author=t("assumeXauthor"),
    )
    for action in ("constraint-add", "question-add", "success-criterion-add"):
        does("authoring", action, text=t(f"{action[:5]}Xtext"))
    does(
        "authoring", "risk-add", description=t("riskXdescription"), mitigation=t("riskXmitigation")
    )
    does(
        "authoring",
        "revision-add",
        version="1.1",
        changes=t("revisionXchanges"),
        author=t("revisionXauthor"),
    )
    task = {
        "type": "task",
        "title": t("bulkXtitle"),
        "description": t("bulkXdescription"),
        "acceptance_criteria": [t("bulkXacceptance_criteria")],
        "task_category": "implementation",
        "file_path": "a.py",
    }
    does(
        "authoring",
        "phase-add-bulk",
        phase={"title": t("phaseXtitle"), "description": "d", "purpose": "p"},
        tasks=[
            task,
            {
                **task,
                "title": "B",
                "description": "b",
                "acceptance_criteria": ["b"],
                "file_path": "b.py",
            },
        ],
    )
    does(
        "authoring",
        "phase-update-metadata",
        phase_id="phase-1",
        description=t("wordXdescription"),
        purpose=t("wordXpurpose"),
    )
    made = does(
        "task",
        "add",
        parent="phase-1",
        title=t("addXtitle"),
        description=t("addXdescription"),
        task_type="research",
        query=t("addXquery"),
    )
    does(
        "task",
        "add-requirement",
        task_id="task-1-1",
        requirement_type="technical",
        text=t("needXtext"),
    )
    does(
        "task",
        "update-metadata",
        task_id="task-1-2",
        description=t("metaXdescription"),
        acceptance_criteria=[t("metaXacceptance_criteria")],
        status_note=t("metaXstatus_note"),
        custom_metadata={"own": t("metaXcustom")},
    )
    works("start", task_id="task-1-1", note=t("startXnote"))
    works("complete", task_id="task-1-1", completion_note=t("completeXcompletion_note"))
    works("block", task_id="task-1-2", reason=t("blockXreason"), ticket=t("blockXticket"))
    works("unblock", task_id="task-1-2", resolution=t("unblockXresolution"))
    works("update-status", task_id="task-1-2", status="in_progress", note=t("statusXnote"))
    failed = {
        "task_id": "task-1-2",
        "success": False,
        "completion_note": t("batchXcompletion_note"),
    }
    works("complete-batch", completions=[failed])
    does(
        "verification",
        "add",
        verify_id="verify-1-1",
        result="PARTIAL",
        command=t("verifyXcommand"),
        output=t("verifyXoutput"),
        issues=t("verifyXissues"),
        notes=t("verifyXnotes"),
    )
    does(
        "journal",
        "add",
        title=t("journalXtitle"),
        content=t("journalXcontent"),
        task_id=made["task_id"],
    )
    w.names.add(spec)
