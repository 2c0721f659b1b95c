"""The tool `configure_project`, for the client of a person who sets a project up."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field
from typing_extensions import TypedDict

from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import PAGE, RESERVE, clip, size_of
from counterpoint.dialects.symphony.nouns.policy import GateCommand, Policy, PolicyEdit
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.words import Line, Lines, Text
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

_THRESHOLDS: Final = {
    "lowLines": "low_lines",
    "highLines": "high_lines",
    "lowFiles": "low_files",
    "highFiles": "high_files",
}
_SHOWN: Final = 1_500


class GateSetting(TypedDict):
    """A command that is run on every change."""

    command: Annotated[Line, Field(description="Command to run")]
    label: Annotated[Line, Field(description="Human-readable name")]
    required: Annotated[bool, Field(description="Whether it must pass")]


@tool(reads=False, open_world=True)
def configure_project(
    call: Call,
    gates: Annotated[
        Annotated[tuple[GateSetting, ...], Field(max_length=50)] | None,
        Field(description="Commands the server runs on every change"),
    ] = None,
    sensitive_paths: Annotated[Lines | None, Field(description="Globs of sensitive files")] = None,
    risk_thresholds: Annotated[
        dict[str, int] | None, Field(description="lowLines, highLines, lowFiles, highFiles")
    ] = None,
    worker_instructions: Annotated[Text | None, Field(description="For workers")] = None,
    judge_instructions: Annotated[Text | None, Field(description="For judges")] = None,
) -> Json:
    """Configure the project; other settings stay."""
    instructions = {"worker": worker_instructions, "judge": judge_instructions}
    policy = call.core.use(Policies).edit(
        PolicyEdit(
            gates=None if gates is None else tuple(GateCommand(**gate) for gate in gates),
            sensitive_paths=sensitive_paths,
            thresholds=None if risk_thresholds is None else _parse(risk_thresholds),
            instructions={role: text for role, text in instructions.items() if text is not None},
        )
    )
    return _present(policy)


def _parse(thresholds: dict[str, int]) -> dict[str, int]:
    unknown = sorted(thresholds.keys() - _THRESHOLDS.keys())
    if unknown:
        raise InvalidInput(
            f"risk_thresholds: there is no {', '.join(name[:60] for name in unknown)}",
            hint=f"There are: {', '.join(_THRESHOLDS)}.",
        )
    return {_THRESHOLDS[name]: value for name, value in thresholds.items()}


def _present(policy: Policy) -> Json:
    answer = policy_json(policy)
    for name in ("worker_instructions", "judge_instructions"):
        answer[name] = clip(str(answer[name]), _SHOWN)
    if size_of(answer) > PAGE - RESERVE:
        return {
            **answer,
            "gates": len(policy.gates),
            "sensitive_paths": len(policy.sensitive_paths),
        }
    return answer


def policy_json(policy: Policy) -> dict[str, Json]:
    """Return what the project is configured with, whole, under the names of the parameters."""
    names = {core: parameter for parameter, core in _THRESHOLDS.items()}
    return {
        "gates": [
            {"command": gate.command, "label": gate.label, "required": gate.required}
            for gate in policy.gates
        ],
        "sensitive_paths": list(policy.sensitive_paths),
        "risk_thresholds": {names[name]: value for name, value in policy.thresholds.items()},
        "worker_instructions": policy.instructions.get("worker", ""),
        "judge_instructions": policy.instructions.get("judge", ""),
    }
