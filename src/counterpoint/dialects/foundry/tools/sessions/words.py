"""The types of arguments of unattended runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from counterpoint.dialects.arguments import INTEGER, TEXT
from counterpoint.dialects.foundry.nouns import autonomy

SessionId = Annotated[str, Field(max_length=80, description="Run that calls"), TEXT]
Policy = Annotated[autonomy.GatePolicy | None, Field(description="Of gates")]
Posture = Annotated[autonomy.Posture | None, Field(description="Profile of limits")]
Force = Annotated[bool, Field(description="In spite of it")]
ReasonCode = Annotated[
    str, Field(max_length=100, description=", ".join(autonomy.REASON_CODES)), TEXT
]
ReasonDetail = Annotated[str, Field(max_length=20_000, description="Why"), TEXT]
Number = Annotated[int | None, Field(description="Limit"), INTEGER]
Percent = Annotated[int | None, Field(ge=0, le=100, description="Of the context"), INTEGER]
Flag = Annotated[bool | None, Field(description="Stop there")]
Bypass = Annotated[bool, Field(description="In spite of a run")]
BypassReason = Annotated[str, Field(max_length=2_000, description="Why"), TEXT]

RUN: Final[Mapping[str, Any]] = {"session_id": SessionId}
"""What every action of a tool takes that changes specs, beside its own arguments: the run that the call is a part of."""
LOCK: Final[Mapping[str, Any]] = {
    **RUN,
    "bypass_autonomy_lock": Bypass,
    "bypass_reason": BypassReason,
}
"""The same, with what lets a maintainer pass the lock of a run."""
