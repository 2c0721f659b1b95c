"""Dependencies between nodes: made and taken away."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.nouns.tasks import Edges, Linked
from counterpoint.dialects.foundry.tools.tasks.shown import previewed
from counterpoint.dialects.foundry.verbs.tasks.edges import Linking
from counterpoint.dialects.foundry.words import DryRun, NodeId, SpecId, TaskId
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action

DependencyType = Annotated[
    Literal["blocks", "blocked_by", "depends"],
    Field(description="What task_id does to target_id; depends is soft"),
]
Target = Annotated[NodeId, Field(description="The other node")]
_SHOWN: Final = 100
"""How many ids of each sort are told."""


@action(reads=False, plain=True)
def add_dependency(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    target_id: Target,
    dependency_type: DependencyType = "blocks",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Let it block `target_id`, or as the type says."""
    linked = call.core.use(Linking).add(
        spec_id, task_id, target_id, dependency_type, dry_run=dry_run
    )
    is_soft = dependency_type != "depends" and not _is_hard(linked, dependency_type)
    warnings = ["Kept as `depends`: only hard research stops others."] if is_soft else []
    return present(_linked(linked, dependency_type, "add", dry_run=dry_run), warnings=warnings)


@action(reads=False, plain=True)
def remove_dependency(
    call: Call,
    spec_id: SpecId,
    task_id: TaskId,
    target_id: Target,
    dependency_type: DependencyType = "blocks",
    *,
    dry_run: DryRun = False,
) -> Json:
    """Take a dependency away."""
    gone = call.core.use(Linking).remove(
        spec_id, task_id, target_id, dependency_type, dry_run=dry_run
    )
    return present(_linked(gone, dependency_type, "remove", dry_run=dry_run))


def _is_hard(linked: Linked, sort: str) -> bool:
    edges = linked.source_edges
    return linked.target in (edges.blocks if sort == "blocks" else edges.blocked_by)


def _linked(linked: Linked, sort: str, act: str, *, dry_run: bool) -> dict[str, Json]:
    return {
        "spec_id": linked.spec,
        "source_task": linked.source,
        "target_task": linked.target,
        "dependency_type": sort,
        "action": act,
        "dry_run": dry_run,
        "source_dependencies": _edges(linked.source_edges),
        "target_dependencies": _edges(linked.target_edges),
        **previewed(dry_run=dry_run),
    }


def _edges(edges: Edges) -> Json:
    return {
        "blocks": list(edges.blocks[:_SHOWN]),
        "blocked_by": list(edges.blocked_by[:_SHOWN]),
        "depends": list(edges.depends[:_SHOWN]),
    }


LINKING: Final = (add_dependency, remove_dependency)
"""The actions, in the order of the list."""
