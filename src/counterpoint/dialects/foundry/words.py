"""The words of foundry: the types of arguments that its tools share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from counterpoint.dialects import arguments
from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXT, one_line
from counterpoint.dialects.foundry.models import specs
from counterpoint.dialects.foundry.nodes.rules.shape import NODE_ID_LIMIT, SPEC_ID_LIMIT

LONGEST: Final = 20_000
"""Characters that a text may have."""

SpecId = Annotated[str, Field(min_length=1, max_length=SPEC_ID_LIMIT, description="Spec id"), TEXT]
_Node = Annotated[str, Field(min_length=1, max_length=NODE_ID_LIMIT), TEXT]
TaskId = Annotated[_Node, Field(description="Node id: task-1-2")]
PhaseId = Annotated[_Node, Field(description="Phase id: phase-1")]
NodeId = Annotated[_Node, Field(description="Node id")]
Parent = Annotated[_Node, Field(description="Node it stands below: phase-1")]
Title = Annotated[str, Field(min_length=1, max_length=500, description="Title"), TEXT]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST, description="Text"), TEXT]
Description = Annotated[str, Field(max_length=LONGEST, description="Description"), TEXT]
Reason = Annotated[str, Field(min_length=1, max_length=LONGEST, description="Why"), TEXT]
Name = Annotated[str, Field(min_length=1, max_length=200, description="Name"), TEXT]
FilePath = Annotated[
    str, Field(min_length=1, max_length=2_000, description="Path in the worktree"), TEXT
]
Workspace = Annotated[
    str, Field(min_length=1, max_length=2_000, description="Project folder"), TEXT
]
WORKSPACE: Final[Mapping[str, Any]] = {"workspace": Workspace}
PATH: Final[Mapping[str, Any]] = {"path": Workspace}
"""How tools let a caller name the folder of the project: the one or the other."""
Hours = Annotated[float, Field(ge=0, le=100_000, description="Hours"), NUMBER]
Limit = Annotated[int, Field(ge=1, le=100, description="Page size"), INTEGER]
LongLimit = Annotated[int, Field(ge=1, le=1_000, description="Page size"), INTEGER]
Cursor = Annotated[arguments.Cursor, Field(description="From meta.pagination")]
DryRun = Annotated[bool, Field(description="Only preview")]
Force = Annotated[bool, Field(description="Despite unfinished tasks")]
Status = Annotated[specs.Status, Field(description="Status")]
Folder = Annotated[specs.Folder, Field(description="Folder")]
Complexity = Annotated[Literal["low", "medium", "high"], Field(description="Complexity")]

__all__ = [
    "LONGEST",
    "PATH",
    "WORKSPACE",
    "Complexity",
    "Cursor",
    "Description",
    "DryRun",
    "FilePath",
    "Folder",
    "Force",
    "Hours",
    "Limit",
    "LongLimit",
    "Name",
    "NodeId",
    "Parent",
    "PhaseId",
    "Reason",
    "SpecId",
    "Status",
    "TaskId",
    "Text",
    "Title",
    "Workspace",
    "one_line",
]
