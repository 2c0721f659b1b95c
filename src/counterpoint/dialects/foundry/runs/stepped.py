"""What is added to answers about steps, and never kept.

Proofs are put into an answer when it is told, and into nothing that is kept: neither the report that it came for nor an
idempotency key has them. A refusal that what was written has to outlive comes as an answer, and is raised once that has
landed. Each refusal says what a supervisor is to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.runs.rows import RunSelector
from counterpoint.dialects.foundry.runs.rules.deciding import PROOF, STEP, refusal_in, step_of
from counterpoint.dialects.foundry.runs.rules.signals import (
    EVIDENCE,
    Place,
    Standing,
    loop_signal,
    recommended_actions,
)
from counterpoint.dialects.foundry.runs.sessions import Watching
from counterpoint.dialects.foundry.runs.stepping import Replaying, Stepping
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import CounterpointError
from counterpoint.protocol.surface import Run


def stepped(call: Call, arguments: Mapping[str, Json], run: Run) -> Json:
    """Return what a call about a step is answered; its refusals with what a supervisor is to do."""
    try:
        answer = run()
        data = object_of(object_of(answer).get("data"))
        refusal = refusal_in(data)
        if refusal is not None:
            raise refusal
    except CounterpointError as refusal:
        _signal(call, arguments, refusal)
        raise
    if (data.get("status"), data.get("pause_reason")) == ("paused", "user"):
        call.core.use(Stepping).obey(str(data["spec_id"]), str(data["session_id"]))
    return _with_proof(call, answer, data)


def _with_proof(call: Call, answer: Json, data: dict[str, Json]) -> Json:
    step = step_of(data)
    if not step:
        return answer
    proof = call.core.use(Replaying).proof(str(step["step_id"]))
    with_proof = {**data, STEP: {**step, PROOF: proof or None}}
    return {**object_of(answer), "data": with_proof}


def _signal(call: Call, arguments: Mapping[str, Json], refusal: CounterpointError) -> None:
    """Add to a refusal what a supervisor is to do, and count one for evidence that is none."""
    code = code_of(refusal)
    session = str(refusal.facts.get("session_id") or arguments.get("session_id") or "")
    faults = 0
    if code == EVIDENCE:
        selector = RunSelector(session=session, spec=str(arguments.get("spec_id") or ""))
        faults = call.core.use(Replaying).count_fault(selector)
    standing = Standing(error_code=code, evidence_faults=faults)
    target = Place(
        session=session,
        spec=_spec(call, session) or str(arguments.get("spec_id") or ""),
        phase=str(refusal.facts.get("phase_id") or ""),
    )
    fields: dict[str, Json] = {
        "loop_signal": loop_signal(standing),
        "recommended_actions": cast("Json", recommended_actions(standing, target)),
    }
    refusal.facts = {**refusal.facts, **fields}


def _spec(call: Call, session: str) -> str:
    """Return the spec of a run; empty where that cannot be asked."""
    if session:
        with suppress(CounterpointError):
            return call.core.use(Watching).get(RunSelector(session=session)).spec
    return ""
