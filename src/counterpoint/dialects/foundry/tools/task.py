"""The tools `task` and `verification`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from counterpoint.core.model.journal import Receipt
from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.tasks.moving import Verifying
from counterpoint.dialects.foundry.tools.runs import CONFIG, LIFECYCLE, WAIVING
from counterpoint.dialects.foundry.tools.shown import LOCK, RUN
from counterpoint.dialects.foundry.tools.steps import STEPS
from counterpoint.dialects.foundry.tools.task_reading import BATCHES, READING
from counterpoint.dialects.foundry.tools.task_writing import LINKING, MOVING, SHAPING
from counterpoint.dialects.foundry.words import WORKSPACE, DryRun, NodeId, SpecId, Workspace
from counterpoint.dialects.paging import clip, fitting
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action, of_actions
from counterpoint.protocol.parameters import Progress

task = of_actions(
    "task",
    "Work on the tasks of a spec.",
    (*READING, *MOVING, *BATCHES, *SHAPING, *LINKING, *LIFECYCLE, *STEPS, *CONFIG, *WAIVING),
    beside={**WORKSPACE, **LOCK},
    aliases={"path": "workspace"},
)


VerifyId = Annotated[NodeId, Field(description="verify-1-1")]
Result = Annotated[Literal["PASSED", "FAILED", "PARTIAL"], Field(description="What was found")]
Folder = Annotated[Workspace, Field(description="Folder to run in")]
Line = Annotated[str, Field(max_length=1_000), TEXT]
Said = Annotated[str, Field(max_length=4_000), TEXT]
Output = Annotated[str, Field(max_length=10_000), TEXT]
_OUTPUT: Final = 6_000
"""Bytes of the output that are answered, its end."""


@action(reads=False, idempotent=False)
def add(
    call: Call,
    spec_id: SpecId,
    verify_id: VerifyId,
    result: Result,
    command: Annotated[
        Line, Field(description="What was run; execute: only if the node has none")
    ] = "",
    output: Annotated[Output, Field(description="What it printed")] = "",
    issues: Annotated[Said, Field(description="What is wrong")] = "",
    notes: Annotated[Said, Field(description="Other remarks")] = "",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Record what you found."""
    texts = {"command": command, "output": output, "issues": issues, "notes": notes}
    verified = call.core.use(Verifying).add(spec_id, verify_id, result, texts, dry_run=dry_run)
    return present(
        {"spec_id": verified.spec, "verify_id": verified.id, "result": result, "dry_run": dry_run}
    )


@action(
    reads=False,
    destructive=True,
    idempotent=False,
    open_world=True,
    aliases={"workspace": "path"},
)
def execute(
    call: Call,
    progress: Progress,
    spec_id: SpecId,
    verify_id: VerifyId,
    command: Annotated[Line, Field(description="Only if the node has none")] = "",
    path: Folder = "",
    step_id: Annotated[Line, Field(description="Of a run, for its receipt")] = "",
    *,
    record: Annotated[bool, Field(description="Keep the result with the node")] = False,
) -> Json:
    """Run its command here, without a shell; signs a receipt."""
    verified = call.core.use(Verifying).execute(
        spec_id, verify_id, watching(progress), command=command, folder=path, record=record
    )
    receipt = verified.receipt
    return present(
        {
            "spec_id": verified.spec,
            "verify_id": verified.id,
            "result": verified.result,
            "recorded": verified.recorded,
            "command": clip(verified.command, 500) or None,
            "output": _end(receipt.output) if receipt else "",
            "exit_code": receipt.exit_code if receipt else None,
            "receipt_id": receipt.id if receipt else None,
            "receipt": _receipt(receipt, verified.command_hash, step_id) if receipt else None,
        },
        warnings=receipt.remarks if receipt else (),
    )


def _end(text: str) -> str:
    """Return the end of an output that fits: what went wrong mostly stands there."""
    return text[len(text) - fitting(text[::-1], _OUTPUT) :]


def _receipt(receipt: Receipt, command_hash: str, step: str) -> Json:
    """Return what the report of a step has as `verification_receipt`."""
    return {
        "command_hash": command_hash,
        "exit_code": receipt.exit_code,
        "output_digest": str(receipt.output_sha256),
        "issued_at": receipt.ended_at,
        "step_id": step or None,
    }


verification = of_actions(
    "verification",
    "Verify the work of a spec.",
    (add, execute),
    beside={"path": Folder, **RUN},
    aliases={"workspace": "path"},
)
